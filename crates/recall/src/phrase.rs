//! Phrases: words in quotation marks, which must stand in a text as they are, with any white space between them.

use std::ops::Range;

use crate::letters::{is_cjk, is_word, length_of_prefix};

/// The most space between two words of a phrase.
const LONGEST_GAP: usize = 64;

/// The words of a phrase, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase(Vec<String>);

impl Phrase {
    /// A phrase; none if there is nothing in it.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// The first place of the phrase in a text.
    pub(crate) fn find_in(&self, text: &str) -> Option<Range<usize>> {
        let first = self.0.first()?.chars().next()?;
        text.char_indices().find_map(|(at, letter)| {
            let starts = letter == first || letter.to_lowercase().next() == Some(first);
            let is_free = !is_word(letter) || !text[..at].chars().next_back().is_some_and(is_word);
            let end = if starts && (is_free || is_cjk(letter)) { self.end_at(text, at) } else { None };
            end.map(|end| at..end)
        })
    }

    fn end_at(&self, text: &str, start: usize) -> Option<usize> {
        let mut end = start;
        for (place, word) in self.0.iter().enumerate() {
            let rest = &text[end..];
            let gap = if place == 0 { 0 } else { rest.len() - rest.trim_start().len() };
            if place > 0 && (gap == 0 || gap > LONGEST_GAP) {
                return None;
            }
            end += gap + length_of_prefix(&rest[gap..], word)?;
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phrase: &str, text: &str, expected: Option<&str>) {
        let phrase = Phrase::new(phrase).expect("a phrase");
        assert_eq!(phrase.find_in(text).map(|range| &text[range]), expected);
    }

    #[test]
    fn phrases_take_any_space_and_any_case() {
        check("permission denied", "a Permission\n   DENIED (publickey)", Some("Permission\n   DENIED"));
        check("permission denied", "permission was denied", None);
        check("permission denied", "permissiondenied", None);
        check("a b c", "a a b c", Some("a b c"));
        check("ring", "string ring", Some("ring"));
        check("定を", "設定を", Some("定を"));
        check("über", "Über", Some("Über"));
    }
}
