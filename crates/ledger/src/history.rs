//! The state of a file at an earlier message: a snapshot tells how things stood where it ends, not later.

use std::borrow::Cow;

use longhaul_conversation::Ordinal;

use crate::entries::{FileChange, FileEntry, FileState, FileStep};

/// Further back, steps of one file are told as one.
const MOST_STEPS: usize = 256;

impl FileEntry {
    /// Notes a change of the file's content or state.
    pub(crate) fn note_step(&mut self, at: Ordinal, change: Option<&FileChange>) {
        if self.steps.len() == MOST_STEPS {
            let second = self.steps.remove(1);
            let first = &mut self.steps[0];
            first.at = second.at;
            first.state = second.state;
            if let Some(change) = second.change {
                first.change.get_or_insert_default().add(&change, second.at);
            }
        }
        self.steps.push(FileStep { at, state: self.state.clone(), change: change.cloned() });
    }

    /// Takes the last change of its content back.
    pub(crate) fn undo_last_change(&mut self, at: Ordinal) {
        let Some(place) = self.steps.iter().rposition(|step| step.change.is_some()) else { return };
        self.steps.remove(place);
        self.change = None;
        self.state = FileState::Restored;
        self.last = at;
        for step in &self.steps {
            self.state = step.state.clone();
            match &step.change {
                Some(change) => self.change.get_or_insert_default().add(change, step.at),
                None if step.state == FileState::Restored => self.change = None,
                None => {}
            }
        }
        if self.change.is_none() {
            self.state = FileState::Restored;
            self.note_step(at, None);
        }
    }

    /// The entry as it was before a message; none if nothing had touched the file by then.
    pub fn before(&self, before: Ordinal) -> Option<Cow<'_, Self>> {
        if self.last < before {
            return Some(Cow::Borrowed(self));
        }
        if self.first >= before {
            return None;
        }
        let mut earlier = Self {
            state: FileState::Read,
            last: self.first,
            change: None,
            hash: None,
            steps: Vec::new(),
            path: self.path.clone(),
            first: self.first,
            existed: self.existed,
            read: self.read.clone(),
        };
        if let Some(read) = &mut earlier.read
            && read.last < before
        {
            earlier.last = earlier.last.max(read.last);
        }
        for step in self.steps.iter().take_while(|step| step.at < before) {
            earlier.state = step.state.clone();
            earlier.last = earlier.last.max(step.at);
            match &step.change {
                Some(change) => earlier.change.get_or_insert_default().add(change, step.at),
                None if step.state == FileState::Restored => earlier.change = None,
                None => {}
            }
        }
        if let Some(read) = &mut earlier.read {
            read.last = read.last.min(earlier.last);
        }
        Some(Cow::Owned(earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> FileEntry {
        FileEntry {
            path: "a.rs".into(),
            state: FileState::Read,
            first: Ordinal(1),
            last: Ordinal(1),
            existed: true,
            read: None,
            change: None,
            hash: None,
            steps: Vec::new(),
        }
    }

    #[test]
    fn old_steps_become_one() {
        let mut file = entry();
        let change = FileChange { edits: 1, added: 2, ..FileChange::default() };
        for at in 2..2 + 2 * MOST_STEPS as u32 {
            file.state = FileState::Modified;
            file.last = Ordinal(at);
            file.note_step(Ordinal(at), Some(&change));
        }
        assert_eq!(file.steps.len(), MOST_STEPS);
        let last = file.last;
        let earlier = file.before(last).expect("it was there");
        assert_eq!(earlier.change.as_ref().map(|change| change.edits), Some(2 * MOST_STEPS as u32 - 1));
        assert_eq!((earlier.last, earlier.state.clone()), (Ordinal(last.0 - 1), FileState::Modified));
        assert!(file.before(Ordinal(1)).is_none());
    }
}
