//! Looks for any of several words at once.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Returns true if `text` starts with one of these words.
pub fn starts_with_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.starts_with(word))
}

/// A search for any of several words.
pub struct AnyOf(AhoCorasick);

impl AnyOf {
    /// A search for these words, none of which is empty.
    pub fn new(words: &[&str]) -> Self {
        let mut search = AhoCorasick::builder();
        // The packed search that stands before the automaton finds nearly everything; a larger one takes longer to build.
        search.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::ContiguousNFA));
        Self(search.build(words).expect("a few short words can be searched for"))
    }

    /// The ranges of all matches in `text` that do not overlap.
    pub fn find_all(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        self.0.find_iter(text).map(|found| found.range())
    }

    /// Returns true if `text` contains any of the words.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The lines of `text` that contain any of the words.
    pub fn lines_in<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut end_of_last = 0;
        self.find_all(text).filter_map(move |found| {
            if found.start < end_of_last {
                return None;
            }
            let start = text[..found.start].rfind('\n').map_or(0, |end| end + 1);
            let end = text[found.start..].find('\n').map_or(text.len(), |length| found.start + length);
            end_of_last = end;
            Some(&text[start..end])
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_found_by_their_words(text in "([xyz]{0,2}|abc|defg|\n|é){0,12}") {
            let found: Vec<&str> = AnyOf::new(&["abc", "efg"]).lines_in(&text).collect();
            let has = |line: &&str| line.contains("abc") || line.contains("efg");
            prop_assert_eq!(found, text.split('\n').filter(has).collect::<Vec<_>>());
        }
    }
}
