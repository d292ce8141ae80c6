//! Knows every anchor by a number, and what was seen of it.

use hashbrown::HashTable;
use longhaul_conversation::Ordinal;
use longhaul_text::hash_text;
use serde::{Deserialize, Serialize};

use super::anchors::AnchorKind;
use super::gather::Source;

/// An anchor, and the use that was made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// That of its text.
    #[serde(skip)]
    hash: u64,
    #[serde(skip)]
    counted: Round,
    /// The anchor itself.
    pub text: Box<str>,
    pub(crate) kind: AnchorKind,
    /// In how many messages the model wrote or passed it.
    pub(crate) used: u16,
    /// In how many results it stood.
    pub(crate) shown: u16,
    /// In how many messages a person typed it.
    pub(crate) typed: u16,
    /// True if the model wrote it in prose.
    pub(crate) in_prose: bool,
    /// The first message that had it.
    pub(crate) first: Ordinal,
    /// The last message that had it.
    pub(crate) last: Ordinal,
}

/// In which round an anchor was counted last. It says nothing about the anchor, so all are the same.
#[derive(Clone, Copy, Debug, Default)]
struct Round(u32);

impl PartialEq for Round {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// All anchors, by number. Written down as a list; the rest follows from it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Anchor>", into = "Vec<Anchor>")]
pub(crate) struct Names {
    anchors: Vec<Anchor>,
    /// The index of each anchor, found by the hash of its text.
    numbers: HashTable<u32>,
    round: u32,
}

impl Names {
    pub(crate) fn all(&self) -> &[Anchor] {
        &self.anchors
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.find_hashed(text, hash_text(text))
    }

    /// As [`Names::find`]; names whose hashes meet are told apart by their texts.
    fn find_hashed(&self, text: &str, hash: u64) -> Option<u32> {
        self.numbers.find(hash, |number| *self.anchors[*number as usize].text == *text).copied()
    }

    /// The number of an anchor, which is known from now on.
    pub(crate) fn number(&mut self, kind: AnchorKind, text: &str, at: Ordinal) -> u32 {
        let hash = hash_text(text);
        if let Some(number) = self.find_hashed(text, hash) {
            return number;
        }
        let number = self.anchors.len() as u32;
        self.anchors.push(Anchor {
            hash,
            counted: Round(0),
            text: text.into(),
            kind,
            used: 0,
            shown: 0,
            typed: 0,
            in_prose: false,
            first: at,
            last: at,
        });
        self.numbers.insert_unique(hash, number, |number| self.anchors[*number as usize].hash);
        number
    }

    /// Begins another message: each anchor counts once in it.
    pub(crate) fn begin_message(&mut self) {
        self.round += 1;
    }

    /// Takes note of an anchor in a line of the message; says whether it is the first line with it.
    pub(crate) fn note(&mut self, number: u32, source: Source, at: Ordinal) -> bool {
        let anchor = &mut self.anchors[number as usize];
        anchor.in_prose |= source == Source::Model;
        if std::mem::replace(&mut anchor.counted.0, self.round) == self.round {
            return false;
        }
        anchor.last = at;
        let count = match source {
            Source::User => &mut anchor.typed,
            Source::Model | Source::Thought | Source::Call => &mut anchor.used,
            Source::Output => &mut anchor.shown,
        };
        *count = count.saturating_add(1);
        true
    }

    /// Forgets the anchors that are not to be kept. Returns the new number of each, or nothing for those forgotten.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize, &Anchor) -> bool) -> Vec<Option<u32>> {
        let mut renumbered = Vec::with_capacity(self.anchors.len());
        let mut next = 0;
        for (place, anchor) in self.anchors.iter().enumerate() {
            let kept = keep(place, anchor);
            renumbered.push(kept.then_some(next));
            next += u32::from(kept);
        }
        let mut place = 0;
        self.anchors.retain(|_| {
            place += 1;
            renumbered[place - 1].is_some()
        });
        self.numbers = number_all(&self.anchors);
        renumbered
    }
}

/// The indices of all anchors by the hashes of their texts.
fn number_all(anchors: &[Anchor]) -> HashTable<u32> {
    let mut numbers = HashTable::with_capacity(anchors.len());
    for (anchor, number) in anchors.iter().zip(0..) {
        numbers.insert_unique(anchor.hash, number, |number| anchors[*number as usize].hash);
    }
    numbers
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.anchors == other.anchors
    }
}

impl From<Vec<Anchor>> for Names {
    fn from(mut anchors: Vec<Anchor>) -> Self {
        anchors.iter_mut().for_each(|anchor| anchor.hash = hash_text(&anchor.text));
        let numbers = number_all(&anchors);
        Self { anchors, numbers, round: 0 }
    }
}

impl From<Names> for Vec<Anchor> {
    fn from(names: Names) -> Self {
        names.anchors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Names {
        let mut names = Names::default();
        for text in texts {
            names.number(AnchorKind::Identifier, text, Ordinal(1));
        }
        names
    }

    #[test]
    fn the_same_text_has_the_same_number() {
        let mut names = names(&["one_name", "other_name", "one_name"]);
        assert_eq!(names.all().len(), 2);
        assert_eq!(names.find("other_name"), Some(1));
        assert_eq!(names.number(AnchorKind::Path, "other_name", Ordinal(9)), 1);
        assert_eq!(names.find("third_name"), None);
    }

    #[test]
    fn names_whose_hashes_meet_are_two() {
        let alike = ["frxcuzw_owqtquib", "nqpgsit_vsseonnt"];
        assert_eq!(hash_text(alike[0]), hash_text(alike[1]), "other texts are needed for this test");
        let names = names(&alike);
        assert_eq!(alike.map(|text| names.find(text)), [Some(0), Some(1)]);
        let read: Names = Vec::from(names).into();
        assert_eq!(alike.map(|text| read.find(text)), [Some(0), Some(1)]);
    }

    #[test]
    fn an_anchor_counts_once_in_a_message() {
        let mut names = names(&["one_name"]);
        names.begin_message();
        assert!(names.note(0, Source::Output, Ordinal(2)));
        assert!(!names.note(0, Source::Model, Ordinal(2)));
        names.begin_message();
        assert!(names.note(0, Source::Call, Ordinal(3)));
        let anchor = &names.all()[0];
        assert_eq!((anchor.shown, anchor.used, anchor.in_prose, anchor.last), (1, 1, true, Ordinal(3)));
    }

    #[test]
    fn what_is_kept_is_found_by_its_new_number() {
        let mut names = names(&["one_name", "other_name", "third_name"]);
        let renumbered = names.retain(|place, _| place != 1);
        assert_eq!(renumbered, [Some(0), None, Some(1)]);
        assert_eq!((names.find("third_name"), names.find("other_name")), (Some(1), None));
        assert_eq!(names.number(AnchorKind::Path, "new_name", Ordinal(1)), 2);
    }

    #[test]
    fn what_was_written_down_is_found_again() {
        let names = names(&["one_name", "other_name"]);
        let text = serde_json::to_string(&names).expect("anchors can be written");
        let read: Names = serde_json::from_str(&text).expect("anchors can be read");
        assert_eq!(read, names);
        assert_eq!(read.find("other_name"), Some(1));
    }
}
