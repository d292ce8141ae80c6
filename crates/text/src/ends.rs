//! The beginning and the end of a text, measured in UTF-16 units and never cut within a character.

use crate::characters::count_units;

/// The beginning and the end of a text.
pub struct Ends<'a> {
    /// Its beginning.
    pub head: &'a str,
    /// Its end.
    pub tail: &'a str,
    /// The UTF-16 units between them.
    pub omitted: usize,
}

/// A fifth of `max` from the beginning and the rest from the end, never within a character.
pub fn ends(text: &str, max: usize) -> Ends<'_> {
    let head = start_of(text, max / 5);
    let tail = end_of(&text[head.len()..], max - max / 5);
    Ends { head, tail, omitted: utf16_len(text) - utf16_len(head) - utf16_len(tail) }
}

/// The longest beginning of at most `max` UTF-16 units.
pub fn start_of(text: &str, max: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.len_utf16();
        taken > max
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The longest end of at most `max` UTF-16 units.
pub fn end_of(text: &str, max: usize) -> &str {
    let mut taken = 0;
    let before = text.char_indices().rev().find(|(_, c)| {
        taken += c.len_utf16();
        taken > max
    });
    &text[before.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// The number of UTF-16 units of a text.
pub fn utf16_len(text: &str) -> usize {
    count_units(text).all
}
