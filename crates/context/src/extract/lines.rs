//! Cuts the text of a message into the lines that may be quoted from it.

use super::plain::{begins_with_words, is_plain};
use crate::eight;
use crate::search::{fast_lines, fast_trim, fast_trim_start};
use crate::sentences::{Unit, UnitKind};

/// Lines are joined until they have about so many characters.
const JOINED: usize = 60;
/// Lines of code or output are also joined until they have so many plain words, or names would stand without their context.
const SAYING: usize = 5;
/// However few its words are, a joined line of this length is long enough.
const JOINED_ENOUGH: usize = 140;
/// A sentence is cut behind so many characters.
const LONGEST: usize = 320;
/// A line of code or output is broken into pieces of about so many.
const PIECE: usize = 160;

/// Calls `found` with each sentence, list item or short block of prose that has these units, and with whether it
/// [`is_plain`].
pub(crate) fn prose_lines(units: &[Unit<'_>], found: &mut impl FnMut(&str, bool)) {
    let mut join = Joined::default();
    for Unit { text, kind, .. } in units {
        match kind {
            UnitKind::Code => {
                join.flush(&mut joined(found));
                let code = fast_lines(text).map(fast_trim).filter(|line| !line.starts_with("```"));
                code.for_each(|line| join.add(line, &mut joined(found)));
                join.flush(&mut joined(found));
            }
            UnitKind::Heading | UnitKind::Row => join.add(text, &mut joined(found)),
            // A sentence stands alone unless it is too short to say anything.
            _ if text.len() >= JOINED => {
                join.flush(&mut joined(found));
                // Most sentences need no further look, and what is not plain need not be asked again.
                let is_plain_text = is_plain(text);
                if is_plain_text && begins_with_words(text, SAYING) {
                    found(cut(text), true);
                } else {
                    join.add(text, &mut |line| found(line, is_plain_text && is_plain(line)));
                }
            }
            _ => join.add(text, &mut joined(found)),
        }
    }
    join.flush(&mut joined(found));
}

/// Calls `found` with lines that were joined.
fn joined(found: &mut impl FnMut(&str, bool)) -> impl FnMut(&str) {
    |line| found(line, is_plain(line))
}

/// Calls `found` with the lines of code or output, neighbours joined; numbers that a tool put before them are dropped.
pub(crate) fn output_lines(text: &str, found: &mut impl FnMut(&str)) {
    let mut join = Joined::default();
    for line in fast_lines(text) {
        let mut rest = fast_trim(strip_line_number(line));
        while rest.len() > PIECE {
            let piece = cut_at(rest, PIECE);
            join.add(fast_trim(piece), found);
            rest = rest[piece.len()..].trim_start();
        }
        join.add(rest, found);
    }
    join.flush(found);
}

/// Neighbouring lines on the way to becoming one.
#[derive(Default)]
struct Joined {
    text: String,
    counted: Counted,
}

impl Joined {
    /// Adds a line without white space around it.
    fn add(&mut self, line: &str, found: &mut impl FnMut(&str)) {
        if !line.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
            return;
        }
        let is_first = self.text.is_empty();
        if is_first
            && says_enough(line, &mut self.counted)
            && memchr::memchr2(b'\n', b'\t', line.as_bytes()).is_none()
        {
            self.counted = Counted::default();
            return found(cut(line));
        }
        self.push(line);
        if is_first && self.counted.length > 0 {
            // It has the same words, however wide the space between them was.
            self.counted.length = self.text.len();
        }
        if says_enough(&self.text, &mut self.counted) {
            self.flush(found);
        }
    }

    fn push(&mut self, line: &str) {
        if self.text.is_empty() {
            // There is room for all that will ever be joined, so that it grows but once.
            self.text.reserve(LONGEST);
        } else {
            self.text.push(' ');
        }
        if line.len() <= LONGEST && !has_wide_space(line) {
            return self.text.push_str(line);
        }
        if self.text.len() + line.len() <= LONGEST && line.is_ascii() {
            return push_narrow(&mut self.text, line);
        }
        for (nth, word) in line.split_whitespace().enumerate() {
            if nth > 0 {
                self.text.push(' ');
            }
            self.text.push_str(word);
            if self.text.len() > LONGEST {
                break;
            }
        }
    }

    fn flush(&mut self, found: &mut impl FnMut(&str)) {
        // A line without a letter never stands alone.
        if self.text.chars().any(char::is_alphabetic) {
            found(cut(&self.text));
        }
        self.text.clear();
        self.counted = Counted::default();
    }
}

/// How many plain words a text was found to have. What is joined to it by a space makes neither more nor fewer of them, so
/// that only what is new need be looked at.
#[derive(Default)]
struct Counted {
    /// Up to [`SAYING`].
    words: usize,
    /// How much of the text was looked at.
    length: usize,
}

impl Counted {
    /// The words of a text that begins with what was counted before.
    fn words_in(&mut self, text: &str) -> usize {
        self.words += count_plain_words(&text[self.length..], SAYING - self.words);
        self.length = text.len();
        self.words
    }
}

/// Adds a line of ASCII with a single space wherever it has white space.
fn push_narrow(text: &mut String, line: &str) {
    // Behind the last word there is an end as if there were space.
    let ends = line.bytes().enumerate().filter(|(_, byte)| matches!(byte, b' ' | b'\t'..=b'\r'));
    let mut start = 0;
    for end in ends.map(|(end, _)| end).chain([line.len()]) {
        if end > start {
            if start > 0 {
                text.push(' ');
            }
            text.push_str(&line[start..end]);
        }
        start = end + 1;
    }
}

/// Whether a line has white space other than single spaces.
fn has_wide_space(line: &str) -> bool {
    let is_wide =
        |one: u8, next: u8| (one == b' ') & (next == b' ') | (one == b'\t') | (one == b'\n') | (one == b'\r');
    let mut rest = line.as_bytes();
    // Sixteen at once, each beside the one behind it.
    while let (Some(ones), Some(nexts)) =
        (rest.first_chunk::<16>(), rest.get(1..).and_then(<[u8]>::first_chunk::<16>))
    {
        let wide: [u8; 16] = std::array::from_fn(|place| u8::from(is_wide(ones[place], nexts[place])));
        if u128::from_ne_bytes(wide) != 0 {
            return true;
        }
        rest = &rest[16..];
    }
    rest.array_windows().any(|[one, next]| is_wide(*one, *next))
}

/// Whether a line can be quoted without the one behind it.
fn says_enough(text: &str, counted: &mut Counted) -> bool {
    text.len() >= JOINED && (text.len() >= JOINED_ENOUGH || counted.words_in(text) >= SAYING)
}

/// How many plain words a text has: letters only, and no piece of a name such as `os.path` or `max_size`.
///
/// The counting ends at `most`: few are many enough.
pub(crate) fn count_plain_words(text: &str, most: usize) -> usize {
    let bytes = text.as_bytes();
    let class_at = |at: usize| bytes.get(at).map_or(0, |byte| CLASS[*byte as usize]);
    let (mut count, mut at) = (0, 0);
    while count < most && at < bytes.len() {
        let eight = eight::load(bytes, at);
        let letters = eight::letters(eight);
        let start = at + eight::gap(letters);
        if start > at {
            at = start;
            continue;
        }
        let mut length = eight::run(letters);
        let has_hump = if length < 8 {
            eight::first(eight::humps(eight, letters), length) != 0
        } else {
            length += bytes[at + 8..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            has_hump(&bytes[at..at + length])
        };
        at += length;
        let before = start.checked_sub(1).map_or(0, class_at);
        let behind = class_at(at);
        let is_name = before & JOINT != 0
            || behind & NAMING != 0
            || behind & JOINT != 0 && class_at(at + 1) & (LETTER | DIGIT) != 0;
        count += usize::from(length >= 2 && !is_name && !has_hump);
        // What stands behind a word is no letter.
        at += 1;
    }
    count
}

/// Whether a capital stands behind a small letter.
fn has_hump(letters: &[u8]) -> bool {
    letters.array_windows().any(|[one, other]| one.is_ascii_lowercase() && other.is_ascii_uppercase())
}

const LETTER: u8 = 1;
const DIGIT: u8 = 4;
/// What joins the pieces of a name.
const JOINT: u8 = 8;
/// What makes a name of the letters before it.
const NAMING: u8 = 16;

static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER | JOINT,
            b'0'..=b'9' => DIGIT | JOINT | NAMING,
            b'_' => JOINT | NAMING,
            b'.' | b'/' | b'\\' | b':' => JOINT,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// The beginning of a line that may stay.
fn cut(line: &str) -> &str {
    cut_at(line, LONGEST)
}

/// The beginning of a line, of at most `most` bytes, up to a word's end.
fn cut_at(line: &str, most: usize) -> &str {
    if line.len() <= most {
        return line;
    }
    let end = line.floor_char_boundary(most);
    let end = line[..end]
        .rfind([' ', ','])
        .map(|place| place + usize::from(line.as_bytes()[place] == b','))
        .filter(|space| *space > most / 2)
        .unwrap_or(end);
    &line[..end]
}

/// A line without the number that a reading tool put before it: `   12→text`, `12: text`, `12<tab>text`, `12| text`.
pub(crate) fn strip_line_number(line: &str) -> &str {
    // Most lines begin with neither.
    if !matches!(line.as_bytes(), [byte, ..] if !byte.is_ascii() || byte.is_ascii_digit() || *byte <= b' ') {
        return line;
    }
    let rest = fast_trim_start(line);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 6 {
        return line;
    }
    let behind = &rest[digits..];
    for separator in ["→", "\t", ": ", ":\t", "| ", "|"] {
        if let Some(text) = behind.strip_prefix(separator) {
            return text;
        }
    }
    if behind == ":" || behind.is_empty() && rest.len() < line.len() { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentences::split_units;
    use proptest::prelude::*;

    #[track_caller]
    fn check_output(text: &str, expected: &[&str]) {
        let mut seen: Vec<String> = Vec::new();
        output_lines(text, &mut |line| seen.push(line.to_string()));
        assert_eq!(seen, expected);
    }

    #[test]
    fn short_lines_are_joined_and_numbers_dropped() {
        check_output("    1→fn main() {\n    2→    run();\n    3→}", &["fn main() { run();"]);
        check_output("---\n===\n}", &[]);
        let long = "x".repeat(170);
        check_output(
            &format!("short\n{long}\nend"),
            &[&format!("short {}", &long[..160]), &format!("{} end", &long[160..])],
        );
    }

    #[test]
    fn lines_of_names_are_joined_until_they_have_words() {
        check_output(
            "import { useState, useMemo, useRef, useCallback, useEffect } from a\n// Remembers what was open before",
            &[
                "import { useState, useMemo, useRef, useCallback, useEffect } from a // Remembers what was open before",
            ],
        );
    }

    #[test]
    fn plain_words_are_no_pieces_of_names() {
        for (text, expected) in [
            ("the cache is full.", 4),
            ("os.path max_size readFile a/b x", 0),
            ("see src/main.rs: it fails", 3),
            ("return err2 or nil", 3),
            ("日本語", 0),
            ("", 0),
        ] {
            assert_eq!(count_plain_words(text, 9), expected, "{text}");
            assert_eq!(count_plain_words(text, 2), expected.min(2), "{text}");
        }
    }

    #[test]
    fn line_numbers_of_every_tool_are_known() {
        for (line, expected) in [
            ("   12→let x", "let x"),
            ("12\tlet x", "let x"),
            ("12: let x", "let x"),
            ("12:\tlet x", "let x"),
            ("12| let x", "let x"),
            ("12 apples", "12 apples"),
            ("2026-01-02 log", "2026-01-02 log"),
        ] {
            assert_eq!(strip_line_number(line), expected);
        }
    }

    #[test]
    fn sentences_stand_alone() {
        let mut seen: Vec<String> = Vec::new();
        let text = "The upload fails because the server is busy and nobody waits for it. It must retry. Yes.";
        prose_lines(&split_units(text), &mut |line, _| seen.push(line.to_string()));
        assert_eq!(
            seen,
            ["The upload fails because the server is busy and nobody waits for it.", "It must retry. Yes."]
        );
    }

    /// Counts plain words one byte after the other.
    fn count_slowly(text: &str) -> usize {
        let bytes = text.as_bytes();
        let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_sign = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
        let starts = (0..bytes.len()).filter(|at| is_letter(*at) && (*at == 0 || !is_letter(at - 1)));
        let is_plain = |start: &usize| {
            let end = (*start..).find(|at| !is_letter(*at)).expect("a text ends");
            let joined = *start > 0 && (is_digit(start - 1) || is_sign(start - 1, b"_./\\:"));
            let goes_on = is_digit(end) || is_sign(end, b"_");
            let leads_on = is_sign(end, b"./\\:") && (is_letter(end + 1) || is_digit(end + 1));
            end - start >= 2 && !joined && !goes_on && !leads_on && !has_hump(&bytes[*start..end])
        };
        starts.filter(is_plain).count()
    }

    proptest! {
        #[test]
        fn plain_words_are_counted_as_if_one_by_one(text in "([a-z]{0,11}|[aB]{0,18}|[ .:_/1é]){0,12}", most in 0usize..6) {
            prop_assert_eq!(count_plain_words(&text, most), count_slowly(&text).min(most));
        }

        #[test]
        fn what_is_joined_has_the_words_of_both(one in "[aB .:_/1é]{0,30}", other in "[aB .:_/1é]{0,30}") {
            let mut counted = Counted::default();
            let parts = [&one, &other].map(|text| count_slowly(text)).iter().sum::<usize>();
            let joined = format!("{one} {other}");
            counted.words_in(&one);
            prop_assert_eq!(counted.words_in(&joined), parts.min(SAYING));
            prop_assert_eq!(count_slowly(&joined), parts);
        }

        #[test]
        fn narrow_lines_have_the_same_words(line in "[a \t\r\u{b}\u{c}]{0,50}") {
            let line = line.trim();
            let mut narrow = String::new();
            push_narrow(&mut narrow, line);
            prop_assert_eq!(narrow, line.split_whitespace().collect::<Vec<_>>().join(" "));
        }

        #[test]
        fn any_text_gives_lines(text in "(\\PC|\n){0,400}") {
            let mut check = |line: &str| assert!(line.len() <= LONGEST && line.chars().any(char::is_alphabetic));
            output_lines(&text, &mut check);
            prose_lines(&split_units(&text), &mut |line, _| assert!(line.len() <= LONGEST + 8));
        }
    }
}
