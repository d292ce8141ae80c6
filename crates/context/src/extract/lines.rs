//! Cuts the text of a message into the lines that may be quoted from it.

use crate::sentences::{UnitKind, split_units};

/// Lines are joined until they have about so many characters.
const JOINED: usize = 60;
/// A line is cut behind so many characters.
const LONGEST: usize = 320;

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
        join.add(strip_line_number(line), found);
    }
    join.flush(found);
}

/// Neighbouring lines on the way to becoming one.
#[derive(Default)]
struct Joined {
    text: String,
}

impl Joined {
    fn add(&mut self, line: &str, found: &mut impl FnMut(&str)) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if self.text.is_empty() && line.len() >= JOINED {
            return found(cut(line));
        }
        if !self.text.is_empty() {
            self.text.push(' ');
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
        if self.text.len() >= JOINED {
            self.flush(found);
        }
    }

    fn flush(&mut self, found: &mut impl FnMut(&str)) {
        // A line without a letter never stands alone.
        if self.text.chars().any(char::is_alphabetic) {
            found(cut(&self.text));
        }
        self.text.clear();
    }
}

/// The beginning of a line, up to a word's end.
fn cut(line: &str) -> &str {
    if line.len() <= LONGEST {
        return line;
    }
    let end = line.floor_char_boundary(LONGEST);
    let end = line[..end].rfind(' ').filter(|space| *space > LONGEST / 2).unwrap_or(end);
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
    for separator in ["→", "\t", ": ", "| ", "|"] {
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
        check_output("    1→fn main() {\n    2→    run();\n    3→}", &["fn main() { run(); }"]);
        check_output("---\n===\n}", &[]);
        let long = "x".repeat(70);
        check_output(&format!("short\n{long}\nend"), &[&format!("short {long}"), "end"]);
    }

    #[test]
    fn line_numbers_of_every_tool_are_known() {
        for (line, expected) in [
            ("   12→let x", "let x"),
            ("12\tlet x", "let x"),
            ("12: let x", "let x"),
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
