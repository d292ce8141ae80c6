//! Excerpts: a few lines around a match.

use std::ops::Range;

use crate::locate::TermMatch;

/// The context lines before and after the window.
const CONTEXT: usize = 2;

/// The approximate longest excerpt, in bytes.
const LONGEST: usize = 1200;

/// The bytes of a long line shown before and after the match.
const LONGEST_LINE: usize = 300;

/// A few lines around a match, verbatim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines; the first and the last are complete unless they are very long.
    pub text: String,
    /// The matches: byte ranges, ascending and disjoint.
    pub matches: Vec<Range<usize>>,
    /// The line number of the first line, from 1.
    pub first_line: usize,
    /// True if there is more text before it.
    pub is_cut_before: bool,
    /// True if there is more text after it.
    pub is_cut_after: bool,
}

impl Excerpt {
    /// The matched texts.
    pub fn matched(&self) -> impl Iterator<Item = &str> {
        self.matches.iter().filter_map(|range| self.text.get(range.clone()))
    }

    /// The lines around a window of a text, with the matches in them, which come in the order of their starts.
    pub(crate) fn around(text: &str, window: Range<usize>, found: &[TermMatch]) -> Self {
        let range = widen(text, window);
        let inside =
            found.iter().filter(|found| range.start <= found.range.start && found.range.end <= range.end);
        let matches =
            merge(inside.map(|found| found.range.start - range.start..found.range.end - range.start));
        Self { matches, ..Self::of(text, range) }
    }

    /// The first `most` bytes of a text.
    pub(crate) fn beginning(text: &str, most: usize) -> Self {
        Self::of(text, 0..text.floor_char_boundary(most))
    }

    fn of(text: &str, range: Range<usize>) -> Self {
        Self {
            text: text[range.clone()].to_owned(),
            matches: Vec::new(),
            first_line: memchr::memchr_iter(b'\n', &text.as_bytes()[..range.start]).count() + 1,
            is_cut_before: range.start > 0,
            is_cut_after: range.end < text.len(),
        }
    }
}

/// Widens a window to complete lines with context.
fn widen(text: &str, window: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut start = line_start(bytes, window.start);
    let mut end = line_end(bytes, window.end);
    // Alternating sides, so that neither takes all the room.
    let (mut before, mut behind) = (CONTEXT, CONTEXT);
    while before + behind > 0 {
        if before > 0 {
            before -= 1;
            let wider = line_start(bytes, start.saturating_sub(1));
            if start > 0 && bytes[start - 1] == b'\n' && end - wider <= LONGEST {
                start = wider;
            } else {
                before = 0;
            }
        }
        if behind > 0 {
            behind -= 1;
            let wider = line_end(bytes, (end + 1).min(bytes.len()));
            if end < bytes.len() && bytes[end] == b'\n' && wider - start <= LONGEST {
                end = wider;
            } else {
                behind = 0;
            }
        }
    }
    text.ceil_char_boundary(start).min(window.start)..text.floor_char_boundary(end).max(window.end)
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    let least = at.saturating_sub(LONGEST_LINE);
    memchr::memrchr(b'\n', &bytes[least..at]).map_or(least, |newline| least + newline + 1)
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let most = (at + LONGEST_LINE).min(bytes.len());
    memchr::memchr(b'\n', &bytes[at..most]).map_or(most, |newline| at + newline)
}

/// Merges ascending ranges that touch.
fn merge(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}
