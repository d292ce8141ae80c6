//! Cuts code and output into lines of about the length of a sentence.

use longhaul_text::count_plain_words;
use memchr::{memchr2, memchr3};

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

/// Calls `found` with the lines of code or output, neighbours joined; numbers that a tool put before them are dropped.
pub(crate) fn output_lines(text: &str, found: &mut impl FnMut(&str)) {
    let mut join = Joined::default();
    for line in text.lines() {
        let mut rest = strip_line_number(line).trim();
        while rest.len() > PIECE {
            let piece = cut_at(rest, PIECE);
            join.add(piece.trim(), found);
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
}

impl Joined {
    /// Adds a line without white space around it.
    fn add(&mut self, line: &str, found: &mut impl FnMut(&str)) {
        if !line.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
            return;
        }
        if self.text.is_empty() && memchr2(b'\n', b'\t', line.as_bytes()).is_none() {
            if says_enough(line) {
                return found(cut(line));
            }
            // With fewer spaces it says no more.
            return self.push(line);
        }
        self.push(line);
        if says_enough(&self.text) {
            self.flush(found);
        }
    }

    fn push(&mut self, line: &str) {
        let is_even = !line.contains("  ") && memchr3(b'\t', b'\n', b'\r', line.as_bytes()).is_none();
        if is_even && line.len() <= LONGEST {
            return self.push_word(line);
        }
        for word in line.split_whitespace() {
            self.push_word(word);
            if self.text.len() > LONGEST {
                break;
            }
        }
    }

    fn push_word(&mut self, word: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    fn flush(&mut self, found: &mut impl FnMut(&str)) {
        // A line without a letter never stands alone.
        if self.text.chars().any(char::is_alphabetic) {
            found(cut(&self.text));
        }
        self.text.clear();
    }
}

/// Returns true if a line can be quoted without the one behind it.
fn says_enough(text: &str) -> bool {
    text.len() >= JOINED && (text.len() >= JOINED_ENOUGH || count_plain_words(text, SAYING) >= SAYING)
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
    // Most lines begin with neither.
    if !matches!(line.as_bytes(), [byte, ..] if !byte.is_ascii() || byte.is_ascii_digit() || *byte <= b' ') {
        return line;
    }
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
    use proptest::prelude::*;

    use super::*;

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

    proptest! {
        #[test]
        fn any_text_gives_lines(text in "(\\PC|\n){0,400}") {
            let mut check = |line: &str| assert!(line.len() <= LONGEST && line.chars().any(char::is_alphabetic));
            output_lines(&text, &mut check);
        }
    }
}
