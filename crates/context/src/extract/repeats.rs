//! Remembers what was found in whole lines: files are read again, and commands are run again.

use super::anchors::AnchorKind;
use super::table::mix;

/// The lines that were seen last, with what was found in them.
#[derive(Default)]
pub(crate) struct Repeats {
    /// A power of two of them; none at all where nothing is to be remembered.
    slots: Vec<Slot>,
    /// The lines themselves, one right behind the other: what is not the same is never taken for it.
    texts: String,
    finds: Vec<Find>,
    /// What was found in a line that is not remembered.
    once: Vec<Find>,
}

/// Where a line stands, and what was found in it.
#[derive(Clone, Copy, Default)]
struct Slot {
    text: u32,
    length: u32,
    find: u32,
    finds: u32,
}

/// An anchor as a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    pub(crate) hash: u64,
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) kind: AnchorKind,
}

const SLOTS: usize = 1 << 13;
/// When the lines have more bytes than this, all are forgotten. About as many have the lines of all slots.
const MOST_TEXT: usize = SLOTS * 128;
/// So they are when more than this was found in them.
const MOST_FINDS: usize = SLOTS * 8;
/// Longer lines are not remembered.
const LONGEST: usize = 1_000;

impl Repeats {
    /// One that remembers.
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], ..Self::default() }
    }

    /// What was found in a line when it was seen before, or else what `look` adds to the list.
    pub(crate) fn found_in(&mut self, line: &str, look: impl FnOnce(&mut Vec<Find>)) -> &[Find] {
        let place = self.place_of(line);
        if let Some(place) = place
            && self.is_at(line, place)
        {
            let Slot { find, finds, .. } = self.slots[place];
            return &self.finds[find as usize..(find + finds) as usize];
        }
        if self.texts.len() > MOST_TEXT || self.finds.len() > MOST_FINDS {
            self.forget();
        }
        let find = self.finds.len();
        look(&mut self.finds);
        if let Some(place) = place {
            self.remember(line, place, find);
        }
        &self.finds[find..]
    }

    /// What `look` adds to the list, of a line that is not to be remembered.
    pub(crate) fn found_once(&mut self, look: impl FnOnce(&mut Vec<Find>)) -> &[Find] {
        self.once.clear();
        look(&mut self.once);
        &self.once
    }

    /// The slot where a line would be remembered, or nothing if it never is.
    fn place_of(&self, line: &str) -> Option<usize> {
        let last = self.slots.len().checked_sub(1).filter(|_| line.len() <= LONGEST)?;
        sample(line.as_bytes()).map(|hash| hash as usize & last)
    }

    /// Whether a line is remembered in this slot.
    fn is_at(&self, line: &str, place: usize) -> bool {
        let Slot { text, length, .. } = self.slots[place];
        self.texts.as_bytes()[text as usize..(text + length) as usize] == *line.as_bytes()
    }

    /// Remembers a line in this slot, instead of another; what was found in it is the last of all, from `find` on.
    fn remember(&mut self, line: &str, place: usize, find: usize) {
        let (text, finds) = (self.texts.len(), self.finds.len() - find);
        self.texts.push_str(line);
        self.slots[place] =
            Slot { text: text as u32, length: line.len() as u32, find: find as u32, finds: finds as u32 };
    }

    fn forget(&mut self) {
        self.slots.fill(Slot::default());
        self.texts.clear();
        self.finds.clear();
    }
}

/// A hash of a line's length and of three pieces of it, unless it is too short to have them. Lines that are alike in all of
/// them only take each other's place.
fn sample(line: &[u8]) -> Option<u64> {
    let last = line.len().checked_sub(8)?;
    let piece = |at: usize| line[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    Some(mix(mix(mix(line.len() as u64, piece(0)), piece(last / 2)), piece(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(start: u32) -> Find {
        Find { hash: u64::from(start), start, length: 3, kind: AnchorKind::Identifier }
    }

    /// Checks what is known of a line that has something at `start`, as far as that is not known from before.
    #[track_caller]
    fn check(repeats: &mut Repeats, line: &str, start: u32, expected: u32) {
        assert_eq!(repeats.found_in(line, |finds| finds.push(find(start))), [find(expected)]);
    }

    #[test]
    fn a_line_that_comes_again_is_known() {
        let mut repeats = Repeats::new();
        check(&mut repeats, "let x = read_file(y)", 8, 8);
        check(&mut repeats, "let x = read_file(z)", 9, 9);
        check(&mut repeats, "let x = read_file(y)", 1, 8);
        check(&mut repeats, "let x = read_file(z)", 2, 9);
    }

    #[test]
    fn lines_that_are_sampled_alike_are_told_apart() {
        let mut repeats = Repeats::new();
        let [one, other] = ["b", "c"].map(|sign| format!("{}{sign}{}", "a".repeat(10), "a".repeat(90)));
        assert_eq!(sample(one.as_bytes()), sample(other.as_bytes()));
        check(&mut repeats, &one, 1, 1);
        check(&mut repeats, &other, 2, 2);
        check(&mut repeats, &one, 3, 3);
        check(&mut repeats, &one, 4, 3);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut repeats = Repeats::new();
        for nth in 0..20_000 {
            let line = format!("{nth:08} {}", "word ".repeat(nth % 40));
            check(&mut repeats, &line, 1, 1);
            assert!(repeats.texts.len() <= MOST_TEXT + LONGEST);
            repeats.found_in("few", |finds| finds.extend((0..20).map(find)));
            assert!(repeats.finds.len() <= MOST_FINDS + 21);
        }
    }

    #[test]
    fn some_lines_are_always_new() {
        for line in ["", "short", &"x".repeat(LONGEST + 1)] {
            let mut repeats = Repeats::new();
            check(&mut repeats, line, 1, 1);
            check(&mut repeats, line, 2, 2);
        }
        let mut nothing = Repeats::default();
        check(&mut nothing, "nothing is remembered", 1, 1);
        check(&mut nothing, "nothing is remembered", 2, 2);
    }
}
