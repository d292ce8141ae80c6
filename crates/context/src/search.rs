//! Searches texts faster than the standard library does, as a long history is looked through for little that is in it.

use std::ops::Range;

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, MatchKind};

/// The lines of a text, as [`str::lines`] has them.
pub(crate) fn fast_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let last = (!text.ends_with('\n') && !text.is_empty()).then_some(text.len());
    ends.chain(last).map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        if end < text.len() { line.strip_suffix('\r').unwrap_or(line) } else { line }
    })
}

/// The lines of a text, the last one first.
pub(crate) fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = (!text.is_empty()).then(|| text.strip_suffix('\n').unwrap_or(text));
    std::iter::from_fn(move || {
        let before = rest?;
        let start = memchr::memrchr(b'\n', before.as_bytes());
        rest = start.map(|end| &before[..end]);
        let line = &before[start.map_or(0, |end| end + 1)..];
        let has_end = before.len() < text.len();
        Some(if has_end { line.strip_suffix('\r').unwrap_or(line) } else { line })
    })
}

/// The text without the space before it, as [`str::trim_start`] has it.
pub(crate) fn fast_trim_start(text: &str) -> &str {
    let text = text.trim_ascii_start();
    let is_trimmed = text.as_bytes().first().is_none_or(u8::is_ascii_graphic);
    if is_trimmed { text } else { text.trim_start() }
}

/// A text without white space around it, as [`str::trim`] has it.
pub(crate) fn fast_trim(text: &str) -> &str {
    let trimmed = text.trim_ascii();
    let is_bare = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
    if is_bare(trimmed.as_bytes().first()) && is_bare(trimmed.as_bytes().last()) {
        trimmed
    } else {
        text.trim()
    }
}

/// Where the last blank line of a text begins, as `text.rfind("\n\n")` has it.
pub(crate) fn last_blank_line(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_blank = |at: &usize| *at > 0 && bytes[at - 1] == b'\n';
    memchr::memrchr_iter(b'\n', bytes).find(is_blank).map(|at| at - 1)
}

/// Whether `text` begins with one of these words. Most texts differ from most words in the first byte.
pub(crate) fn begins_with_any(text: &str, words: &[&str]) -> bool {
    let Some(first) = text.as_bytes().first() else { return words.contains(&"") };
    words
        .iter()
        .any(|word| word.as_bytes().first().is_none_or(|byte| byte == first) && text.starts_with(word))
}

/// Looks for several words at once.
pub(crate) enum AnyOf {
    /// Many bytes at once, where the processor can.
    Packed(Box<Searcher>),
    /// One byte after the other.
    Plain(AhoCorasick),
}

impl AnyOf {
    /// A search for these words, none of which is empty.
    pub(crate) fn new(words: &[&str]) -> Self {
        let mut builder = packed::Config::new().builder();
        builder.extend(words);
        builder.build().map_or_else(|| Self::plain(words), |searcher| Self::Packed(Box::new(searcher)))
    }

    fn plain(words: &[&str]) -> Self {
        let mut builder = AhoCorasick::builder();
        let search = builder.match_kind(MatchKind::LeftmostFirst).build(words);
        Self::Plain(search.expect("a few short words can be looked for"))
    }

    /// Where the first of the words stands that `text` has.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Packed(search) => search.find(text).map(|found| found.range()),
            Self::Plain(search) => search.find(text).map(|found| found.range()),
        }
    }

    /// Where each of the words stands that `text` has.
    pub(crate) fn find_all(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.find(&text[from..])?;
            let found = from + found.start..from + found.end;
            from = found.end;
            Some(found)
        })
    }

    /// Whether `text` has any of the words.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// The lines of `text` that have any of the words.
    pub(crate) fn lines_in<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let bytes = text.as_bytes();
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = from + self.find(&text[from..])?.start;
            let start = memchr::memrchr(b'\n', &bytes[from..found]).map_or(from, |end| from + end + 1);
            let end = memchr::memchr(b'\n', &bytes[found..]).map_or(text.len(), |length| found + length);
            from = (end + 1).min(text.len());
            Some(&text[start..end])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_found_by_what_they_have(text in "([xyz]{0,2}|abc|defg|\n|é){0,12}") {
            let found: Vec<&str> = AnyOf::new(&["abc", "efg"]).lines_in(&text).collect();
            let has = |line: &&str| line.contains("abc") || line.contains("efg");
            prop_assert_eq!(found, text.split('\n').filter(has).collect::<Vec<_>>());
        }

        #[test]
        fn fast_trim_trims(text in "[a \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{3000}é\u{1c}]{0,8}") {
            prop_assert_eq!(fast_trim(&text), text.trim());
        }

        #[test]
        fn fast_lines_are_lines(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(fast_lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }

        #[test]
        fn last_lines_are_lines_from_the_end(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(last_lines(&text).collect::<Vec<_>>(), text.lines().rev().collect::<Vec<_>>());
        }

        #[test]
        fn the_last_blank_line_is_found(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(last_blank_line(&text), text.rfind("\n\n"));
        }

        #[test]
        fn fast_trimming_trims(text in "[ \t\u{b}\u{85}\u{3000}aé]{0,6}") {
            prop_assert_eq!(fast_trim_start(&text), text.trim_start());
        }

        #[test]
        fn beginnings_are_found(text in "[aé]{0,3}") {
            for words in [&["aé", "é"][..], &["aa"], &[""], &[]] {
                let expected = words.iter().any(|word| text.starts_with(word));
                prop_assert_eq!(begins_with_any(&text, words), expected);
            }
        }

        #[test]
        fn words_are_found_on_any_processor(text in "[abc]{0,80}") {
            let words = ["abca", "bcab", "ccc"];
            let place = |word: &&str| text.find(*word).map(|start| start..start + word.len());
            let expected = words.iter().filter_map(place).min_by_key(|place| place.start);
            prop_assert_eq!(&AnyOf::new(&words).find(&text), &expected);
            prop_assert_eq!(&AnyOf::plain(&words).find(&text), &expected);
            prop_assert_eq!(AnyOf::new(&words).is_in(&text), expected.is_some());
            prop_assert_eq!(AnyOf::new(&words).find_all(&text).next(), expected);
        }
    }
}
