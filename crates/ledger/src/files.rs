//! Keeps the state of each file.

use std::sync::LazyLock;

use longhaul_conversation::Ordinal;
use longhaul_text::AnyOf;

use super::effect::{FileEffect, FileOperation, hash_text};
use super::entries::{ErrorEntry, FileChange, FileEntry, FileRead, FileState, LineRange, WorkOutcome};
use super::outcome::ParsedResult;
use super::patch::read_patch;
use crate::excerpts::{cut, head, tail};
use crate::ledger::{Ledger, MAX_TEXT_CHARS};
use crate::paths;

impl Ledger {
    /// Records the result of a tool that works on files.
    pub(super) fn finish_files(
        &mut self,
        effects: &[FileEffect],
        tool: &str,
        answer: &ParsedResult<'_>,
        at: Ordinal,
    ) {
        match answer.outcome {
            WorkOutcome::Cancelled => return,
            WorkOutcome::Failed => return self.file_tool_failed(effects, tool, answer, at),
            _ => {}
        }
        let text = content(&answer.text);
        let is_alone = effects.len() == 1;
        for effect in effects {
            match &effect.act {
                FileOperation::Read { .. } if is_listing(text) => {}
                // An editor whose call tells nothing answers an edit with the difference it made.
                FileOperation::Read { .. } if is_difference(text) => self.difference(effect, text, at),
                FileOperation::Read { range } => {
                    let range = range.or_else(|| shown_range(text));
                    let hash = (range.is_none() && is_alone && !text.is_empty()).then(|| hash_text(text));
                    self.touch(&effect.path, at).read(range, hash, at);
                }
                _ => self.apply(effect, Some(head(text, 300)), at),
            }
            self.file_tool_worked(effect, at);
        }
    }

    fn difference(&mut self, effect: &FileEffect, text: &str, at: Ordinal) {
        let is_new =
            text.lines().find(|line| line.starts_with("@@")).is_some_and(|line| line.starts_with("@@ -0,0"));
        for shown in read_patch(text) {
            let act = match shown.act {
                FileOperation::Edit { change } if is_new => FileOperation::Write { change, hash: None },
                act => act,
            };
            self.apply(&FileEffect::new(effect.path.clone(), act), None, at);
        }
    }

    fn file_tool_failed(
        &mut self,
        effects: &[FileEffect],
        tool: &str,
        answer: &ParsedResult<'_>,
        at: Ordinal,
    ) {
        let Some(effect) = effects.iter().find(|effect| !matches!(effect.act, FileOperation::Read { .. }))
        else {
            return;
        };
        let text = answer.text.trim().trim_start_matches("<tool_use_error>");
        // The tool only asks for the file to be read before.
        if text.starts_with("File has not been read yet")
            || text.starts_with("File has been modified since read")
        {
            return;
        }
        let line = text.lines().map(str::trim).find(|line| line.len() > 8).unwrap_or_default();
        self.errors.push(ErrorEntry {
            name: None,
            message: cut(line.trim_end_matches("</tool_use_error>"), MAX_TEXT_CHARS),
            file: Some(self.key(&effect.path)),
            source: tool.to_string(),
            at,
            fixed: None,
        });
    }

    /// Marks failed tries as fixed by a change that works.
    fn file_tool_worked(&mut self, effect: &FileEffect, at: Ordinal) {
        if matches!(effect.act, FileOperation::Read { .. }) {
            return;
        }
        let key = self.key(&effect.path);
        let recent = self.errors.iter_mut().rev().take(64);
        for error in recent.filter(|error| error.fixed.is_none() && error.file.as_ref() == Some(&key)) {
            // What a command met is settled by the command alone.
            if error.name.is_none() && !error.source.contains(' ') {
                error.fixed = Some(at);
            }
        }
    }

    /// Applies one effect; `told` is the beginning of what the tool said of it.
    pub(super) fn apply(&mut self, effect: &FileEffect, told: Option<&str>, at: Ordinal) {
        match &effect.act {
            FileOperation::Read { range } => self.touch(&effect.path, at).read(*range, None, at),
            FileOperation::Write { change, hash } => {
                let file = self.touch(&effect.path, at);
                match told.map(says_new) {
                    Some(Some(true)) if file.first == at => file.existed = false,
                    Some(Some(false)) => file.existed = true,
                    _ => {}
                }
                file.write(change, hash.clone(), at);
            }
            FileOperation::Create { change, hash } => {
                self.touch(&effect.path, at).write(change, hash.clone(), at);
            }
            FileOperation::Append { change } => {
                let file = self.touch(&effect.path, at);
                // Something is put behind a file that is there, or an empty file is made.
                file.existed |= change.added > 0 && file.state == FileState::Read && file.change.is_none();
                file.write(change, None, at);
            }
            FileOperation::Edit { change } => {
                let file = self.touch(&effect.path, at);
                file.existed |= file.change.is_none() && file.state != FileState::Deleted;
                file.write(change, None, at);
            }
            FileOperation::Delete => self.delete(&effect.path, at),
            FileOperation::Move { to } => self.rename(&effect.path, to, at),
            FileOperation::Restore => {
                let key = self.key(&effect.path);
                if let Some(file) = self.files.get_mut(&key).filter(|file| file.state.is_change()) {
                    file.state = FileState::Restored;
                    file.change = None;
                    file.last = at;
                    file.note_step(at, None);
                }
            }
        }
    }

    fn delete(&mut self, path: &str, at: Ordinal) {
        let key = self.key(path);
        let below = format!("{key}/");
        let mut found = false;
        for (_, file) in
            self.files.range_mut(below.clone()..).take_while(|(path, _)| path.starts_with(&below))
        {
            file.state = FileState::Deleted;
            file.last = at;
            file.note_step(at, None);
            found = true;
        }
        // A folder of which files are known is told by them.
        if !found || self.files.contains_key(&key) {
            let file = self.touch(path, at);
            file.existed |= file.first == at;
            file.state = FileState::Deleted;
            file.note_step(at, None);
        }
    }

    fn rename(&mut self, from: &str, to: &str, at: Ordinal) {
        let to_key = self.key(to);
        let file = self.touch(from, at);
        file.existed |= file.first == at;
        let mut moved = file.clone();
        file.state = FileState::Moved { to: to_key.clone() };
        file.note_step(at, None);
        moved.path = to.to_string();
        moved.last = at;
        if !moved.state.is_change() {
            moved.state = FileState::Modified;
        }
        // Under its new name it is there only from now on.
        moved.steps.clear();
        let change = moved.change.clone();
        moved.note_step(at, change.as_ref());
        self.files.insert(to_key, moved);
    }

    /// The entry of a file, made if need be.
    fn touch(&mut self, path: &str, at: Ordinal) -> &mut FileEntry {
        let key = self.key(path);
        let file = self.files.entry(key).or_insert_with(|| FileEntry {
            path: path.to_string(),
            state: FileState::Read,
            first: at,
            last: at,
            existed: false,
            read: None,
            change: None,
            hash: None,
            steps: Vec::new(),
        });
        file.last = file.last.max(at);
        file
    }

    pub(super) fn key(&self, path: &str) -> String {
        paths::comparable(self.root.as_deref(), path)
    }
}

impl FileEntry {
    fn read(&mut self, range: Option<LineRange>, hash: Option<String>, at: Ordinal) {
        let first = FileRead { whole: false, ranges: Vec::new(), times: 0, last: at };
        self.read.get_or_insert(first).add(range, at);
        self.existed |= self.change.is_none();
        if hash.is_some() {
            self.hash = hash;
        }
        if matches!(self.state, FileState::Deleted | FileState::Moved { .. }) {
            // It is there again, whoever put it there.
            self.state = FileState::Read;
            self.note_step(at, None);
        }
    }

    fn write(&mut self, change: &FileChange, hash: Option<String>, at: Ordinal) {
        self.change.get_or_insert_default().add(change, at);
        self.hash = hash;
        self.state = if self.existed { FileState::Modified } else { FileState::Created };
        self.note_step(at, Some(change));
    }

    /// Takes in what is known of the same file under another spelling.
    pub(super) fn merge(&mut self, other: FileEntry) {
        let other_is_newer = other.last >= self.last;
        self.first = self.first.min(other.first);
        self.existed |= other.existed;
        self.steps.extend(other.steps);
        self.steps.sort_by_key(|step| step.at);
        if let Some(read) = other.read {
            match &mut self.read {
                Some(known) => {
                    let times = known.times.saturating_add(read.times);
                    let last = known.last.max(read.last);
                    let ranges =
                        if read.whole { vec![None] } else { read.ranges.into_iter().map(Some).collect() };
                    ranges.into_iter().for_each(|range| known.add(range, last));
                    known.times = times;
                }
                None => self.read = Some(read),
            }
        }
        if let Some(change) = other.change {
            let last = change
                .last
                .unwrap_or(other.last)
                .max(self.change.as_ref().and_then(|own| own.last).unwrap_or(self.first));
            self.change.get_or_insert_default().add(&change, last);
        }
        if other_is_newer {
            self.state = if self.state.is_change() && other.state == FileState::Read {
                self.state.clone()
            } else {
                other.state
            };
            self.hash = other.hash;
            self.last = other.last;
        }
        if self.existed && self.state == FileState::Created {
            self.state = FileState::Modified;
        }
    }
}

/// True if a tool says that a file it wrote is new, false if it says that it is not.
fn says_new(told: &str) -> Option<bool> {
    let has = |words: &[&str]| words.iter().any(|word| told.contains(word));
    if has(&["verwrote", "verwritten", "has been updated", "xisting file"]) {
        Some(false)
    } else if has(&["reated", "new file", "New file"]) {
        Some(true)
    } else {
        None
    }
}

/// A result without what hosts put around a file's content.
fn content(text: &str) -> &str {
    let end = tail(text, 4000);
    let reminder = end.rfind("\n\n<system-reminder>");
    let text = reminder.map_or(text, |at| &text[..text.len() - end.len() + at]);
    let is_preamble = text.starts_with("Here's the result of running `cat -n`");
    if is_preamble { text.split_once('\n').map_or("", |(_, content)| content) } else { text }
}

fn is_listing(text: &str) -> bool {
    text.starts_with("Here's the files and directories")
        || text.starts_with("<system-reminder>Warning: the file exists but")
}

fn is_difference(text: &str) -> bool {
    text.starts_with("--- ") && head(text, 2000).contains("\n+++ ") && head(text, 2000).contains("\n@@ ")
}

/// Words of tools that show only a part of a file.
static PARTS: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&[
        "more lines above",
        "truncated",
        "lines omitted",
        "lines not shown",
        "more lines below",
        "more lines)",
        "more lines not",
    ])
});

/// The lines that an answer shows, where it numbers them and says that there are more.
fn shown_range(text: &str) -> Option<LineRange> {
    let start = head(text, 1200);
    let end = tail(text, 1200);
    let first = start.lines().take(6).find_map(line_number);
    let last = end.lines().rev().take(8).find_map(line_number);
    let is_part = PARTS.is_in(start) || PARTS.is_in(end);
    match (first, last) {
        (Some(first), Some(last)) if (first > 1 || is_part) && first <= last => {
            Some(LineRange { first, last: Some(last) })
        }
        (None, None) if is_part => Some(LineRange { first: 1, last: None }),
        _ => None,
    }
}

/// The number that stands before a line: `  12→`, `12:`, `12 | `, `12<tab>`.
fn line_number(line: &str) -> Option<u32> {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let rest = &line[end..];
    let is_numbered = rest.starts_with(['→', '\t', ':']) || rest.starts_with(" |");
    is_numbered.then(|| line[..end].parse().ok()).flatten()
}
