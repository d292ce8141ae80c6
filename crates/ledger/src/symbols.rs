//! Finds the functions and types that a piece of code names, by the words that introduce them.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::data::{DataError, DataFile, loaded};

/// Words of programming languages that stand before a name being defined: `data/definitions.txt`.
#[derive(Default)]
pub(crate) struct DefiningWords {
    /// Words directly before the name.
    defining: HashSet<&'static str>,
    /// Words that may stand before those.
    modifying: HashSet<&'static str>,
}

static WORDS: LazyLock<DefiningWords> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile =
    DataFile { name: "definitions.txt", text: include_str!("../data/definitions.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<DefiningWords, DataError> {
    let mut words = DefiningWords::default();
    for line in file.lines() {
        let line = line?;
        match line.key {
            "defines" => words.defining.insert(line.value),
            "modifies" => words.modifying.insert(line.value),
            _ => return Err(line.unknown_key()),
        };
    }
    Ok(words)
}

const MAX_SYMBOLS: usize = 6;
const MAX_LINES: usize = 400;

/// The names that a text defines, each once, in order, the first few.
pub(super) fn symbols_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().take(MAX_LINES) {
        if let Some(name) = symbol_in(line)
            && !found.iter().any(|known| known == name)
        {
            found.push(name.to_string());
            if found.len() == MAX_SYMBOLS {
                break;
            }
        }
    }
    found
}

/// The keys that lines set, each once, the first few: `"port": 80`, `port = 80`, `port: 80`.
pub(super) fn keys_in(lines: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for key in lines.iter().take(MAX_LINES).filter_map(|line| key_in(line)) {
        if !found.iter().any(|known| known == key) && found.len() < MAX_SYMBOLS {
            found.push(key.to_string());
        }
    }
    found
}

/// The key that one line sets.
fn key_in(line: &str) -> Option<&str> {
    const NO_KEYS: [&str; 7] = ["http", "https", "default", "else", "case", "return", "finally"];
    let rest = line.trim_start().trim_start_matches(['"', '\'', '-', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))?;
    let (key, behind) = (&rest[..end], rest[end..].trim_start_matches(['"', '\'']).trim_start());
    let sets = behind.starts_with([':', '='])
        && !["::", "==", "=>", "://"].iter().any(|sign| behind.starts_with(sign));
    let is_key =
        (2..=60).contains(&key.len()) && key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (sets && is_key && !NO_KEYS.contains(&key)).then_some(key)
}

/// The name that one line defines.
pub fn symbol_in(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        let end = rest.bytes().position(|byte| matches!(byte, b' ' | b'\t'))?;
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        if WORDS.modifying.contains(word) {
            continue;
        }
        if !WORDS.defining.contains(word.trim_end_matches('*')) {
            return None;
        }
        // `const fn name`, `type Name`, `func (r *Receiver) Name`, `impl<T> Name`.
        if word == "const" && rest.starts_with("fn ") {
            continue;
        }
        if word == "func" && rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
        // A constant inside a function is seldom worth naming.
        if word == "const" && line.starts_with([' ', '\t']) {
            return None;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        let name = &rest[..end];
        let is_name = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
        return (is_name && name.len() > 1 && name.len() <= 80).then_some(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(symbol_in(line), expected, "{line}");
    }

    #[test]
    fn definitions_are_found() {
        check("pub(crate) async fn run_all(a: u8) {", Some("run_all"));
        check("    def parse(self):", Some("parse"));
        check("class Field(Base):", Some("Field"));
        check("export default function handler(req) {", Some("handler"));
        check("func (s *Server) Close() error {", Some("Close"));
        check("export const limits = {", Some("limits"));
        check("const fn zero() -> u8 {", Some("zero"));
        check("type Result = string;", Some("Result"));
        check("  public class Main {", Some("Main"));
    }

    #[test]
    fn other_lines_define_nothing() {
        for line in [
            "",
            "return def",
            "classify this",
            "  const x = 1;",
            "fn",
            "let a = 1;",
            "type ",
            "if (function (",
            "fn (x)",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn keys_are_found_where_nothing_is_defined() {
        let lines = [
            "  \"port\": 80,",
            "timeout_ms = 5",
            "- name: app",
            "if a == b:",
            "https://x.y",
            "return x",
            "port: 81",
        ];
        assert_eq!(keys_in(&lines), ["port", "timeout_ms", "name"]);
    }

    #[test]
    fn each_name_is_told_once() {
        assert_eq!(symbols_in("fn one() {}\nfn two() {}\nfn one() {}"), ["one", "two"]);
    }
}
