//! Remembers what was found in whole lines: files are read again, and commands are run again.

use super::anchors::AnchorKind;
use crate::eight::load;

/// The lines that were seen last, with what was found in them.
#[derive(Default)]
pub(crate) struct Repeats {
    /// A power of two of them; none at all where nothing is to be remembered.
    slots: Vec<Slot>,
    /// The lines themselves, one right behind the other: what is not the same is never taken for it.
    texts: String,
    finds: Vec<Find>,
}

/// Where a line and what was found in it stand.
#[derive(Clone, Copy, Default)]
struct Slot {
    text: u32,
    find: u32,
    length: u16,
    finds: u16,
}

/// An anchor as a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    pub(crate) hash: u64,
    pub(crate) start: u16,
    pub(crate) length: u16,
    pub(crate) kind: AnchorKind,
}

/// Where a line is remembered, if it is.
#[derive(Clone, Copy)]
pub(crate) struct Place(usize);

const SLOTS: usize = 1 << 13;
/// When the lines have so many bytes, all are forgotten. As many have the lines of all slots.
const MOST_TEXT: usize = SLOTS * 128;
/// Longer lines are not remembered.
const LONGEST: usize = 1_000;

impl Repeats {
    /// One that remembers.
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot::default(); SLOTS], ..Self::default() }
    }

    /// Where a line would be remembered, or nothing if it never is.
    pub(crate) fn place_of(&self, line: &str) -> Option<Place> {
        let last = self.slots.len().checked_sub(1).filter(|_| (8..=LONGEST).contains(&line.len()))?;
        Some(Place(sample(line.as_bytes()) as usize & last))
    }

    /// What was found in a line, if it is remembered in its place.
    pub(crate) fn found_in(&self, line: &str, place: Place) -> Option<&[Find]> {
        let slot = &self.slots[place.0];
        let text = slot.text as usize..slot.text as usize + usize::from(slot.length);
        let find = slot.find as usize..slot.find as usize + usize::from(slot.finds);
        (self.texts.as_bytes()[text] == *line.as_bytes()).then(|| &self.finds[find])
    }

    /// Remembers a line in its place, instead of another.
    pub(crate) fn remember(&mut self, line: &str, place: Place, finds: impl Iterator<Item = Find>) {
        if self.texts.len() + line.len() > MOST_TEXT {
            self.slots.fill(Slot::default());
            self.texts.clear();
            self.finds.clear();
        }
        let (text, find) = (self.texts.len(), self.finds.len());
        self.texts.push_str(line);
        self.finds.extend(finds);
        self.slots[place.0] = Slot {
            text: text as u32,
            find: find as u32,
            length: line.len() as u16,
            finds: (self.finds.len() - find) as u16,
        };
    }
}

/// A hash of a line's length and of four pieces of it: lines that are alike in all of them only take each other's place.
fn sample(line: &[u8]) -> u64 {
    let last = line.len().saturating_sub(8);
    let pieces = [0, last / 3, last * 2 / 3, last].map(|at| load(line, at));
    let mixed = pieces.iter().fold(line.len() as u64, |hash, piece| {
        (hash ^ piece).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(start: u16) -> Find {
        Find { hash: u64::from(start), start, length: 3, kind: AnchorKind::Identifier }
    }

    /// Shows a line, in which something stands at `start`; says what was remembered of it.
    fn show(repeats: &mut Repeats, line: &str, start: u16) -> Option<Vec<Find>> {
        let place = repeats.place_of(line)?;
        let known = repeats.found_in(line, place).map(<[Find]>::to_vec);
        if known.is_none() {
            repeats.remember(line, place, [find(start)].into_iter());
        }
        known
    }

    #[test]
    fn a_line_that_comes_again_is_known() {
        let mut repeats = Repeats::new();
        assert_eq!(show(&mut repeats, "let x = read_file(y)", 8), None);
        assert_eq!(show(&mut repeats, "let x = read_file(z)", 9), None);
        assert_eq!(show(&mut repeats, "let x = read_file(y)", 0), Some(vec![find(8)]));
        assert_eq!(show(&mut repeats, "let x = read_file(z)", 0), Some(vec![find(9)]));
    }

    #[test]
    fn lines_that_are_sampled_alike_are_told_apart() {
        let mut repeats = Repeats::new();
        let [one, other] = ["b", "c"].map(|sign| format!("{}{sign}{}", "a".repeat(10), "a".repeat(90)));
        assert_eq!(sample(one.as_bytes()), sample(other.as_bytes()));
        assert_eq!(show(&mut repeats, &one, 1), None);
        assert_eq!(show(&mut repeats, &other, 2), None);
        assert_eq!(show(&mut repeats, &one, 3), None);
        assert_eq!(show(&mut repeats, &one, 0), Some(vec![find(3)]));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut repeats = Repeats::new();
        for nth in 0..20_000 {
            let line = format!("{nth} {}", "word ".repeat(nth % 40));
            show(&mut repeats, &line, 1);
            assert!(repeats.texts.len() <= MOST_TEXT && repeats.finds.len() <= MOST_TEXT / 8);
        }
        assert_eq!(show(&mut repeats, &"x".repeat(LONGEST + 1), 1), None);
        assert_eq!(show(&mut repeats, &"x".repeat(LONGEST + 1), 1), None);
        assert_eq!(show(&mut Repeats::default(), "nothing is remembered", 1), None);
    }
}
