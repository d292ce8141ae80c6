//! Sets of ASCII characters that tokens are written in.

use std::ops::Range;

/// A set of ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alphabet(u128);

impl Alphabet {
    pub(crate) const DIGIT: Self = Self::of(b"0-9");
    pub(crate) const ALNUM: Self = Self::of(b"A-Za-z0-9");
    pub(crate) const WORD: Self = Self::of(b"A-Za-z0-9_");
    /// The alphabet of base64url, and of most tokens.
    pub(crate) const URL: Self = Self::of(b"A-Za-z0-9_-");
    pub(crate) const BASE64: Self = Self::of(b"A-Za-z0-9+/=");

    /// The characters of `spec`, where `a-z` is a range and a hyphen at the end stands for itself.
    pub(crate) const fn of(spec: &[u8]) -> Self {
        let mut set = 0;
        let mut at = 0;
        while at < spec.len() {
            let is_range = at + 2 < spec.len() && spec[at + 1] == b'-';
            let last = if is_range { spec[at + 2] } else { spec[at] };
            let mut byte = spec[at];
            while byte <= last {
                set |= 1 << byte;
                byte += 1;
            }
            at += if is_range { 3 } else { 1 };
        }
        Self(set)
    }

    pub(crate) const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// The number of bytes at the start of `bytes` that are in the set, `most` at most.
    pub(crate) fn run(self, bytes: &[u8], most: usize) -> usize {
        bytes.iter().take(most).take_while(|byte| self.has(**byte)).count()
    }

    /// The number of bytes at the end of `bytes` that are in the set, `most` at most.
    pub(crate) fn run_back(self, bytes: &[u8], most: usize) -> usize {
        bytes.iter().rev().take(most).take_while(|byte| self.has(**byte)).count()
    }
}

/// True if a token may begin at `at`: not in the middle of a word. A character written as an escape
/// (`\n`, `%3D`, `\u00e9`) is not part of the word that follows it.
pub(crate) fn starts_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    match before {
        [] => true,
        [.., last] if !Alphabet::WORD.has(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        _ => false,
    }
}

/// True if a token may end before `at`.
pub(crate) fn ends_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| !Alphabet::WORD.has(*byte))
}

/// The runs that were measured before, so that a text of nothing but prefixes is not measured
/// anew from each of them.
#[derive(Default)]
pub(crate) struct MeasuredRuns(Vec<(Alphabet, Range<usize>)>);

impl MeasuredRuns {
    /// The number of bytes from `at` that are in the alphabet.
    pub(crate) fn measure(&mut self, alphabet: Alphabet, bytes: &[u8], at: usize) -> usize {
        let known = self.0.iter_mut().find(|(known, _)| *known == alphabet);
        if let Some((_, run)) = &known
            && run.contains(&at)
        {
            return run.end - at;
        }
        let length = alphabet.run(&bytes[at..], usize::MAX);
        match known {
            Some((_, run)) => *run = at..at + length,
            None => self.0.push((alphabet, at..at + length)),
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_start(before: &str, expected: bool) {
        let text = format!("{before}token");
        assert_eq!(starts_word(text.as_bytes(), before.len()), expected, "{before:?}");
    }

    #[test]
    fn a_token_starts_where_no_word_goes_on() {
        for before in ["", " ", "\"", "=", "/", "-", "密", "é", r"\n", "%3D", r"\u00e9"] {
            check_start(before, true);
        }
        for before in ["a", "_", "9", "n", "3D", "u00e9", "%3", "%zz"] {
            check_start(before, false);
        }
    }

    #[test]
    fn a_range_and_a_final_hyphen() {
        let set = Alphabet::of(b"a-cX-");
        assert!([b'a', b'b', b'c', b'X', b'-'].iter().all(|byte| set.has(*byte)));
        assert!(![b'd', b'A', b'Y', 200].iter().any(|byte| set.has(*byte)));
        assert_eq!(set.run(b"abX-d", 10), 4);
        assert_eq!(set.run(b"aaaa", 3), 3);
        assert_eq!(set.run_back(b"dcba", 10), 3);
    }

    #[test]
    fn a_run_is_measured_once() {
        let mut runs = MeasuredRuns::default();
        assert_eq!(runs.measure(Alphabet::ALNUM, b"abcdef-", 0), 6);
        assert_eq!(runs.measure(Alphabet::ALNUM, b"abcdef-", 4), 2);
        assert_eq!(runs.measure(Alphabet::URL, b"abcdef-", 4), 3);
        assert_eq!(runs.measure(Alphabet::ALNUM, b"abcdef-", 6), 0);
    }
}
