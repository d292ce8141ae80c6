//! Finds the next occurrence of any spelling, ignoring case, as fast as memory can be read.
//!
//! The vector search is case-sensitive, so the text goes through it in lower case, one chunk at a time. Only ASCII is
//! changed, which leaves every byte in its place.

use std::ops::Range;

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, Span};

/// The bytes of text lowercased at a time, so that they stay in the processor's cache.
const CHUNK: usize = 32 * 1024;

/// The occurrences of any spelling in a text.
pub(crate) struct SpellingScanner<'a> {
    text: &'a [u8],
    automaton: &'a AhoCorasick,
    searcher: Option<&'a Searcher>,
    /// The length of the longest spelling.
    longest: usize,
    /// The chunk in lower case, and its range in the text.
    lower: Vec<u8>,
    chunk: Range<usize>,
}

impl<'a> SpellingScanner<'a> {
    /// The automaton and the searcher, if the machine has one, look for the same spellings.
    pub(crate) fn new(
        text: &'a str,
        automaton: &'a AhoCorasick,
        searcher: Option<&'a Searcher>,
        longest: usize,
    ) -> Self {
        Self { text: text.as_bytes(), automaton, searcher, longest, lower: Vec::new(), chunk: 0..0 }
    }

    /// The next occurrence from `at` on.
    pub(crate) fn next(&mut self, mut at: usize) -> Option<Range<usize>> {
        let Some(searcher) = self.searcher else {
            let found = self.automaton.find(Input::new(self.text).range(at..));
            return found.map(|found| found.start()..found.end());
        };
        while at < self.text.len() {
            if !self.chunk.contains(&at) {
                self.load(at);
            }
            let span = Span::from(at - self.chunk.start..self.lower.len());
            if let Some(found) = searcher.find_in(&self.lower, span) {
                return Some(self.chunk.start + found.start()..self.chunk.start + found.end());
            }
            if self.chunk.end == self.text.len() {
                return None;
            }
            // A spelling may start in this chunk and end in the next.
            at = at.max(self.chunk.end + 1 - self.longest);
            self.load(at);
        }
        None
    }

    fn load(&mut self, start: usize) {
        self.chunk = start..(start + CHUNK).min(self.text.len());
        self.lower.clear();
        self.lower.extend_from_slice(&self.text[self.chunk.clone()]);
        self.lower.make_ascii_lowercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::packed;

    #[test]
    fn spellings_across_chunks_are_found_once() {
        let spellings = ["needle", "straw"];
        let automaton =
            AhoCorasick::builder().ascii_case_insensitive(true).build(spellings).expect("two spellings");
        let searcher = packed::Searcher::new(spellings);
        for shift in 0..16 {
            let text = format!("{}Needle{} STRAW", ".".repeat(CHUNK - 8 + shift), ".".repeat(2 * CHUNK - 4));
            for searcher in [searcher.as_ref(), None] {
                let mut candidates = SpellingScanner::new(&text, &automaton, searcher, 6);
                let mut found = Vec::new();
                let mut at = 0;
                while let Some(range) = candidates.next(at) {
                    at = range.end;
                    found.push(&text[range]);
                }
                assert_eq!(found, ["Needle", "STRAW"], "{shift}");
            }
        }
    }
}
