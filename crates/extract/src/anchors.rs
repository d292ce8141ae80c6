//! Finds anchors: the words by which later work refers back, such as paths, identifiers, commands and error codes.
//!
//! What may be one is found by how it is written ([`scan_tokens`]), and told by its signs.

use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use longhaul_text::{AnyOf, WordSet, data_lines};
use serde::{Deserialize, Serialize};

use super::chart::Chart;
use super::tokens::{CLASS, COLON, INSIDE, SLASH, Token, scan_tokens};

/// The kind of an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnchorKind {
    /// A file or folder.
    Path,
    /// A name in code: `camelCase`, `snake_case`, `dotted.name`.
    Identifier,
    /// The first two words of a command.
    Command,
    /// A web address.
    Url,
    /// The name or code of an error.
    Error,
    /// A number of at least three digits, or one with a unit.
    Number,
    /// A commit or another hash.
    Hash,
    /// A short text in backticks.
    Quoted,
}

/// Finds the anchors of one line, commands first and then the others, each in order; the same may come more than once.
pub(crate) fn scan_anchors<'t>(line: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    for program in find_programs(line) {
        if let Some(command) = command_at(line, program.start, program.end) {
            found(AnchorKind::Command, command);
        }
    }
    scan_names(line, &mut Chart::default(), found);
}

/// Finds the anchors of one line that can be told by how they are written: all but commands. The chart is drawn anew.
pub(crate) fn scan_names<'t>(line: &'t str, chart: &mut Chart, found: &mut impl FnMut(AnchorKind, &'t str)) {
    chart.draw(line, 0..line.len());
    scan_tokens(line, chart, &mut |token| token.classify(found));
}

impl<'t> Token<'t> {
    /// Finds the anchors in it. They depend on nothing but its text.
    pub(crate) fn classify(self, found: &mut impl FnMut(AnchorKind, &'t str)) {
        match self {
            Self::Quoted(text) => found(AnchorKind::Quoted, text),
            Self::Address(text) => found(AnchorKind::Url, text),
            Self::Name(text) => classify(text, found),
        }
    }
}

/// A search for all programs in `data/programs.txt` with the space behind them. Names of two letters are looked for with what
/// stands before them, as they would be found in many words otherwise.
static PROGRAM_SEARCH: LazyLock<AnyOf> = LazyLock::new(|| {
    let programs = data_lines(include_str!("../data/programs.txt"));
    let patterns = programs.flat_map(|program| match program.len() {
        ..=2 => vec![format!(" {program} "), format!("`{program} ")],
        _ => vec![format!("{program} ")],
    });
    AnyOf::new(&patterns.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
});

/// The ranges of program names that a space follows, without the space.
pub(crate) fn find_programs(text: &str) -> impl Iterator<Item = Range<usize>> {
    PROGRAM_SEARCH.find_all(text).map(|program| {
        let is_led_in = matches!(text.as_bytes()[program.start], b' ' | b'`');
        program.start + usize::from(is_led_in)..program.end - 1
    })
}

/// The program at `start..end` with the word behind the space, if that can be its first argument: `git add`, `mkdir -p`.
pub(crate) fn command_at(line: &str, start: usize, end: usize) -> Option<&str> {
    let bytes = line.as_bytes();
    let is_part = |byte: u8| CLASS[byte as usize] & INSIDE != 0 || byte == b'\\';
    if start > 0 && is_part(bytes[start - 1]) {
        return None;
    }
    let is_inside =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.' | b'@');
    let length = bytes[end + 1..].iter().take_while(|byte| is_inside(byte)).count();
    let word = line[end + 1..end + 1 + length].trim_end_matches(['.', ':']);
    let is_argument = (2..=24).contains(&word.len())
        && word.starts_with(|first: char| first.is_ascii_lowercase() || first == '-');
    is_argument.then(|| &line[start..end + 1 + word.len()])
}

/// Finds out what a token is that is written as names, paths and numbers are.
fn classify<'t>(token: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    if token.bytes().all(|byte| byte.is_ascii_digit()) {
        return classify_digits(token, found);
    }
    let seen = token.bytes().fold(0, |seen, byte| seen | CLASS[byte as usize]);
    if seen & (COLON | SLASH) == 0 {
        return classify_word(trim_start(token, b".@$~"), found);
    }
    if token.len() < 3 {
        return;
    }
    if seen & SLASH != 0 {
        return classify_path(token, found);
    }
    // `module::name` and `key:value` hold several names.
    trim_start(token, b".@$~").split(':').for_each(|piece| classify_word(piece, found));
}

fn trim_start<'t>(text: &'t str, trimmed: &[u8]) -> &'t str {
    let start = text.bytes().position(|byte| !trimmed.contains(&byte));
    &text[start.unwrap_or(text.len())..]
}

fn trim_end<'t>(text: &'t str, trimmed: &[u8]) -> &'t str {
    let last = text.bytes().rposition(|byte| !trimmed.contains(&byte));
    &text[..last.map_or(0, |last| last + 1)]
}

fn classify_path<'t>(token: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    let mut path = trim_end(token, b"/");
    while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix("../")) {
        path = rest;
    }
    if path.len() < 4 || path.len() > 200 || path.bytes().filter(u8::is_ascii_alphabetic).nth(1).is_none() {
        return;
    }
    let (folders, name) = match path.bytes().rposition(|byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => ("", path),
    };
    let has_ending = has_file_ending(name);
    if is_path(path, folders, has_ending) {
        found(AnchorKind::Path, path);
        if has_ending && !folders.is_empty() && name.len() >= 5 {
            found(AnchorKind::Path, name);
        }
    } else {
        path.split('/').for_each(|piece| classify_word(piece, found));
    }
}

/// `and/or` is no path; a root, a file's ending or several folders make one.
fn is_path(path: &str, folders: &str, has_ending: bool) -> bool {
    if has_ending {
        return true;
    }
    let depth = trim_start(path, b"/").bytes().filter(|byte| *byte == b'/').count();
    let is_named = |name: &str| name.len() >= 3 && name.bytes().any(|byte| byte.is_ascii_alphabetic());
    match depth {
        0 => path.starts_with('/') && path.len() >= 4,
        _ if path.starts_with(['/', '~', '.']) => true,
        // Folders at the top are mostly abbreviated: `src`, `lib`, `cmd`, `docs`.
        1 => {
            let is_short = folders.len() <= 4 && path.len() > folders.len() + 4;
            is_short || path.bytes().any(|byte| matches!(byte, b'_' | b'-' | b'.' | b'0'..=b'9'))
        }
        _ => path.split('/').all(is_named),
    }
}

fn classify_word<'t>(word: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let Some(start) = word.bytes().position(is_part) else { return };
    let word = &word[start..word.bytes().rposition(is_part).map_or(start, |last| last + 1)];
    let bytes = word.as_bytes();
    if bytes.len() < 3 || bytes.len() > 120 {
        return;
    }
    let marks = Marks::of(bytes);
    if marks.digits == bytes.len() || (bytes[0].is_ascii_digit() && marks.digits >= 1 && !marks.underscore) {
        return classify_number(word, &marks, found);
    }
    let is_error = is_error_name(word) || is_code(bytes, &marks);
    if is_error && bytes.len() >= 4 {
        return found(AnchorKind::Error, word);
    }
    if is_hash(bytes, &marks) {
        return found(AnchorKind::Hash, word);
    }
    if marks.dot && !marks.underscore && has_file_ending(word) {
        return found(AnchorKind::Path, word);
    }
    if marks.dash {
        return word.split('-').for_each(|piece| classify_word(piece, found));
    }
    if marks.underscore || marks.camel || marks.dot {
        if bytes.len() >= 6 && marks.letters >= 3 {
            found(AnchorKind::Identifier, word);
        }
        if marks.dot {
            for piece in word.split('.') {
                let inner = Marks::of(piece.as_bytes());
                if piece.len() >= 6 && (inner.underscore || inner.camel) {
                    found(AnchorKind::Identifier, piece);
                }
            }
        }
    }
}

/// A number of digits alone, as most are.
fn classify_digits<'t>(digits: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    if NUMBER.contains(&digits.len()) {
        found(AnchorKind::Number, digits);
    }
}

/// The digits of a number worth knowing. Longer ones count nothing.
const NUMBER: RangeInclusive<usize> = 3..=20;

fn classify_number<'t>(word: &'t str, marks: &Marks, found: &mut impl FnMut(AnchorKind, &'t str)) {
    let bytes = word.as_bytes();
    if is_hash(bytes, marks) {
        found(AnchorKind::Hash, word);
    } else if marks.digits >= *NUMBER.start() && bytes.len() <= *NUMBER.end()
        || marks.letters >= 1 && marks.letters <= 3 && marks.digits >= 2
    {
        found(AnchorKind::Number, word);
    }
}

/// Which kinds of characters a word has.
struct Marks {
    digits: usize,
    letters: usize,
    underscore: bool,
    dot: bool,
    dash: bool,
    /// A capital behind a small letter.
    camel: bool,
    lower: bool,
}

impl Marks {
    fn of(bytes: &[u8]) -> Self {
        let mut marks = Self {
            digits: 0,
            letters: 0,
            underscore: false,
            dot: false,
            dash: false,
            camel: false,
            lower: false,
        };
        let mut after_lower = false;
        for byte in bytes {
            match byte {
                b'0'..=b'9' => marks.digits += 1,
                b'a'..=b'z' => {
                    marks.letters += 1;
                    marks.lower = true;
                }
                b'A'..=b'Z' => {
                    marks.letters += 1;
                    marks.camel |= after_lower;
                }
                b'_' => marks.underscore = true,
                b'.' => marks.dot = true,
                b'-' => marks.dash = true,
                _ => {}
            }
            after_lower = byte.is_ascii_lowercase();
        }
        marks
    }
}

/// `TypeError`, `IoException`.
fn is_error_name(word: &str) -> bool {
    ["Error", "Exception"].iter().any(|ending| word.len() > ending.len() && word.ends_with(ending))
}

/// `E0308`, `TS2345`, `ENOENT`: capitals, perhaps with digits.
fn is_code(bytes: &[u8], marks: &Marks) -> bool {
    if marks.lower || marks.dot || marks.underscore || marks.dash {
        return false;
    }
    let numbered = marks.letters <= 3 && marks.digits >= 3 && bytes[0].is_ascii_uppercase();
    let named = marks.digits == 0 && bytes.len() >= 5 && matches!(bytes[0], b'E' | b'S');
    numbered || named
}

fn is_hash(bytes: &[u8], marks: &Marks) -> bool {
    (7..=64).contains(&bytes.len())
        && marks.digits >= 1
        && marks.letters >= 1
        && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn has_file_ending(name: &str) -> bool {
    let dot = name.bytes().rposition(|byte| byte == b'.');
    dot.is_some_and(|dot| dot > 0 && is_file_ending(&name[dot + 1..]))
}

/// Returns true if an ending makes a name a file's.
fn is_file_ending(ending: &str) -> bool {
    static ENDINGS: WordSet = WordSet::new(|| data_lines(include_str!("../data/file-endings.txt")).collect());
    ENDINGS.has(ending)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tokens::START;
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[(AnchorKind, &str)]) {
        let mut seen = Vec::new();
        scan_anchors(line, &mut |kind, text| seen.push((kind, text)));
        assert_eq!(seen, expected, "{line}");
    }

    use AnchorKind::*;

    #[test]
    fn paths_are_found_without_positions() {
        check("see src/upload.rs:14:19.", &[(Path, "src/upload.rs"), (Path, "upload.rs")]);
        check("in ./docs/plan, and/or README.md", &[(Path, "docs/plan"), (Path, "README.md")]);
        check("/etc/hosts", &[(Path, "/etc/hosts")]);
    }

    #[test]
    fn names_in_code_are_found() {
        check("let max_size = parseTokens(x)", &[(Identifier, "max_size"), (Identifier, "parseTokens")]);
        check("std::fs::read_dir", &[(Identifier, "read_dir")]);
        check("self.token_count.add", &[(Identifier, "self.token_count.add"), (Identifier, "token_count")]);
        check("plain words only, nothing else", &[]);
    }

    #[test]
    fn numbers_hashes_errors_and_addresses_are_found() {
        check("port 8080 after 30s, not 12", &[(Number, "8080"), (Number, "30s")]);
        check(
            "commit 8b2b3af fixes E0308 and ENOENT",
            &[(Hash, "8b2b3af"), (Error, "E0308"), (Error, "ENOENT")],
        );
        check(
            "a TypeError at https://example.org/a?b=1.",
            &[(Error, "TypeError"), (Url, "https://example.org/a?b=1")],
        );
    }

    #[test]
    fn short_quotations_are_found_with_what_is_in_them() {
        check("run `cargo test --lib` now", &[(Command, "cargo test"), (Quoted, "cargo test --lib")]);
        check("the `Busy` variant of `upload()`", &[(Quoted, "upload()")]);
    }

    /// The tokens that have a byte of a name, found one byte after the other.
    fn tokens(line: &str) -> Vec<&str> {
        let class = |at: usize| line.as_bytes().get(at).map_or(0, |byte| CLASS[*byte as usize]);
        let (mut tokens, mut at) = (Vec::new(), 0);
        while at < line.len() {
            let start = at;
            at += 1;
            if class(start) & START != 0 {
                while class(at) & INSIDE != 0 {
                    at += 1;
                }
                tokens.push(&line[start..at]);
            }
        }
        tokens
    }

    #[test]
    fn commands_that_a_text_speaks_of_are_found() {
        check("Commit with git commit -m and push.", &[(Command, "git commit")]);
        check("$ mkdir -p x; npm install.", &[(Command, "mkdir -p"), (Command, "npm install")]);
        check("cargo test", &[(Command, "cargo test")]);
        check("the git, a git Repository, git", &[]);
        check("non-git repository, digit sum", &[]);
    }

    proptest! {
        #[test]
        fn what_stands_between_does_not_matter(line in "([a-c]|[A-C]|[0-2]|[ (\"é.~@$:+_/-]){0,60}") {
            prop_assume!(!line.contains("://"));
            let mut seen = Vec::new();
            scan_anchors(&line, &mut |kind, text| seen.push((kind, text)));
            let mut expected = Vec::new();
            for token in tokens(&line) {
                scan_anchors(token, &mut |kind, text| expected.push((kind, text)));
            }
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn digits_are_numbers_like_others(digits in "[0-9]{1,24}") {
            let (mut seen, mut expected) = (Vec::new(), Vec::new());
            classify(&digits, &mut |kind, text| seen.push((kind, text)));
            classify_word(&digits, &mut |kind, text| expected.push((kind, text)));
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn any_line_is_scanned(line in "\\PC{0,200}") {
            scan_anchors(&line, &mut |_, text| assert!(line.contains(text)));
        }
    }
}
