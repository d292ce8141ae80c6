//! Cuts the text of a message into the lines that may be quoted from it.

use crate::sentences::{UnitKind, split_units};

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

/// Calls `found` with each sentence, list item or short block of prose.
pub(crate) fn prose_lines(text: &str, found: &mut impl FnMut(&str)) {
    let mut join = Joined::default();
    for unit in split_units(text) {
        match unit.kind {
            UnitKind::Code => {
                join.flush(found);
                let code = unit.text.lines().filter(|line| !line.trim_start().starts_with("```"));
                code.for_each(|line| join.add(line, found));
                join.flush(found);
            }
            UnitKind::Heading | UnitKind::Row => join.add(unit.text, found),
            _ => {
                // A sentence stands alone unless it is too short to say anything.
                if unit.text.len() >= JOINED {
                    join.flush(found);
                }
                join.add(unit.text, found);
            }
        }
    }
    join.flush(found);
}

/// Calls `found` with the lines of code or output, neighbours joined; numbers that a tool put before them are dropped.
pub(crate) fn output_lines(text: &str, found: &mut impl FnMut(&str)) {
    let mut join = Joined::default();
    for line in text.lines() {
        let mut rest = strip_line_number(line).trim();
        while rest.len() > PIECE {
            let piece = cut_at(rest, PIECE);
            join.add(piece, found);
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
    /// How many plain words the text has.
    words: usize,
}

impl Joined {
    fn add(&mut self, line: &str, found: &mut impl FnMut(&str)) {
        let line = line.trim();
        if !line.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
            return;
        }
        let words = count_plain_words(line, SAYING.saturating_sub(self.words));
        if self.text.is_empty() && says_enough(line, words) && !line.contains(['\n', '\t']) {
            return found(cut(line));
        }
        self.words += words;
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        if line.len() <= LONGEST && !has_wide_space(line) {
            self.text.push_str(line);
        } else {
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
        if says_enough(&self.text, self.words) {
            self.flush(found);
        }
    }

    fn flush(&mut self, found: &mut impl FnMut(&str)) {
        // A line without a letter never stands alone.
        if self.text.chars().any(char::is_alphabetic) {
            found(cut(&self.text));
        }
        self.text.clear();
        self.words = 0;
    }
}

/// Whether a line has white space other than single spaces.
fn has_wide_space(line: &str) -> bool {
    line.bytes().any(|byte| matches!(byte, b'\t' | b'\n' | b'\r')) || line.contains("  ")
}

/// Whether a line can be quoted without the one behind it.
fn says_enough(text: &str, words: usize) -> bool {
    text.len() >= JOINED && (text.len() >= JOINED_ENOUGH || words >= SAYING)
}

/// How many plain words a text has: letters only, and no piece of a name such as `os.path` or `max_size`.
///
/// The counting ends at `most`: few are many enough.
pub(crate) fn count_plain_words(text: &str, most: usize) -> usize {
    let bytes = text.as_bytes();
    let is_joint =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'\\' | b':');
    let mut count = 0;
    let mut at = 0;
    while at < bytes.len() && count < most {
        if !bytes[at].is_ascii_alphabetic() {
            at += 1;
            continue;
        }
        let start = at;
        let mut is_camel = false;
        while at < bytes.len() && bytes[at].is_ascii_alphabetic() {
            is_camel |= at > start && bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
            at += 1;
        }
        let is_name = start > 0 && is_joint(bytes[start - 1])
            || bytes.get(at).is_some_and(|byte| is_joint(*byte))
                && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
            || bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_');
        count += usize::from(!is_camel && !is_name && at - start >= 2);
    }
    count
}

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
    let rest = line.trim_start();
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
        prose_lines(text, &mut |line| seen.push(line.to_string()));
        assert_eq!(
            seen,
            ["The upload fails because the server is busy and nobody waits for it.", "It must retry. Yes."]
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_lines(text in "(\\PC|\n){0,400}") {
            let mut check = |line: &str| assert!(line.len() <= LONGEST && line.chars().any(char::is_alphabetic));
            output_lines(&text, &mut check);
            prose_lines(&text, &mut |line| assert!(line.len() <= LONGEST + 8));
        }
    }
}
