//! Takes a text of ASCII apart into words and signs, eight bytes at once.

use std::ops::Range;

use crate::eight;
use crate::extract::{hash_short, hash_word};

/// What a text of ASCII consists of, spaces aside.
pub(super) enum Piece {
    Word { hash: u64, place: Range<usize>, has_digit: bool },
    Sign { at: usize, sign: u8 },
}

/// Takes a text that is ASCII throughout apart, in order.
#[derive(Clone)]
pub(super) struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Pieces<'t> {
    /// The pieces of a text that is ASCII throughout.
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'t str {
        self.text
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        let bytes = self.text.as_bytes();
        // Most words have a single space before them.
        if bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        let start = self.at;
        let sign = *bytes.get(start)?;
        let eight = eight::load(bytes, start);
        let length = eight::run(eight::alphanumerics_of_ascii(eight));
        if length == 0 {
            self.at += 1;
            return Some(Piece::Sign { at: start, sign });
        }
        if length < 8 && eight::get(eight, length) != b'\'' {
            self.at += length;
            let hash = hash_short(eight::first(eight::small(eight), length), length);
            let has_digit = eight::first(eight::digits(eight), length) != 0;
            return Some(Piece::Word { hash, place: start..self.at, has_digit });
        }
        self.at = end_of_word(bytes, start + length);
        let word = &self.text[start..self.at];
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        Some(Piece::Word { hash: hash_word(word), place: start..self.at, has_digit })
    }
}

/// Where a word of ASCII ends that goes on up to `at` at least.
fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let length = eight::run(eight::alphanumerics_of_ascii(eight::load(bytes, at)));
        at += length;
        match bytes.get(at..) {
            Some([b'\'', next, ..]) if next.is_ascii_alphabetic() => at += 1,
            _ if length < 8 => return at,
            _ => {}
        }
    }
}
