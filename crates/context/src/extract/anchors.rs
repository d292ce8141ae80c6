//! Finds anchors: the words by which later work refers back, such as paths, identifiers, commands and error codes.
//!
//! A hand-written scanner: one pass over the bytes of a line, no allocation.

use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::eight;
use crate::search::AnyOf;

/// What kind of thing an anchor is.
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
    scan_names(line, found);
}

/// Finds the anchors of one line that can be told by how they are written: all but commands.
fn scan_names<'t>(line: &'t str, found: &mut impl FnMut(AnchorKind, &'t str)) {
    scan_tokens(line, &mut |token| token.classify(found));
}

/// What may be an anchor, or hold some.
#[derive(Clone, Copy)]
pub(crate) enum Token<'t> {
    /// A text in backticks.
    Quoted(&'t str),
    /// A web address.
    Address(&'t str),
    /// Something written as names, paths and numbers are, without a position behind it, and the classes of all its bytes.
    Name(&'t str, u8),
}

impl<'t> Token<'t> {
    /// Finds the anchors in it. They depend on nothing but its text.
    pub(crate) fn classify(self, found: &mut impl FnMut(AnchorKind, &'t str)) {
        match self {
            Self::Quoted(text) => found(AnchorKind::Quoted, text),
            Self::Address(text) => found(AnchorKind::Url, text),
            Self::Name(text, seen) => classify(text, seen, found),
        }
    }
}

/// Finds what may be anchors in one line, or hold some.
pub(crate) fn scan_tokens<'t>(line: &'t str, found: &mut impl FnMut(Token<'t>)) {
    let bytes = line.as_bytes();
    let class = |at: usize| bytes.get(at).map_or(0, |byte| CLASS[*byte as usize]);
    let mut at = 0;
    let mut quoted_to = 0;
    while let Some(mark) = find_telling(bytes, at) {
        if bytes[mark] == b'`' {
            // The backtick that ends a quotation begins no other.
            if mark >= quoted_to {
                quoted_to = scan_quoted(line, mark, found);
            }
            at = mark + 1;
            continue;
        }
        let mut start = mark;
        while start > at && class(start - 1) & INSIDE != 0 {
            start -= 1;
        }
        while class(start) & (INSIDE | START) == INSIDE {
            start += 1;
        }
        if class(start) & START == 0 {
            at = start;
            continue;
        }
        // A capital at the beginning does not make a name of a word.
        let mut seen = class(start) & !UPPER;
        let mut end = start + 1;
        for byte in &bytes[end..] {
            let class = CLASS[*byte as usize];
            if class & INSIDE == 0 {
                break;
            }
            seen |= class;
            end += 1;
        }
        let is_address = seen & COLON != 0 && seen & SLASH != 0 && has_scheme(&bytes[start..end]);
        if is_address {
            while class(end) & ADDRESS != 0 {
                end += 1;
            }
        }
        if end - start >= 3 && seen & NAMING != 0 {
            let token = trim_end(&line[start..end], b".:-+,;?!&=");
            if is_address {
                if token.len() >= SHORTEST_ADDRESS {
                    found(Token::Address(token));
                }
            } else if token.len() == end - start || is_telling_inside(token) {
                let name = if seen & COLON != 0 { strip_position(token) } else { token };
                found(Token::Name(name, seen));
            }
        }
        at = end;
    }
}

/// Whether a token is more than a plain word, perhaps with a capital: a sign behind it makes no name of it.
fn is_telling_inside(token: &str) -> bool {
    let first = token.as_bytes().first().is_some_and(|first| CLASS[*first as usize] & NAMING & !UPPER != 0);
    first || token.bytes().skip(1).any(|byte| CLASS[byte as usize] & NAMING != 0)
}

/// Whether a token has `://` in it.
fn has_scheme(token: &[u8]) -> bool {
    // Hardly any token has more than a colon or two.
    memchr::memchr_iter(b':', token).any(|colon| token[colon + 1..].starts_with(b"//"))
}

/// The next byte that no plain word has, nor what stands between words. Most of most texts is passed over at once.
fn find_telling(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).step_by(8).find_map(|at| {
        // Behind the end there are zeros, which tell nothing.
        let telling = eight::any_between(eight::load(bytes, at), &TELLING);
        (telling != 0).then(|| at + eight::gap(telling))
    })
}

/// The bytes of [`NAMING`], and that which opens a quotation.
const TELLING: [(u8, u8); 6] =
    [(b'-', b':'), (b'@', b'Z'), (b'_', b'`'), (b'$', b'$'), (b'+', b'+'), (b'~', b'~')];

/// Programs whose names are hardly used for anything else, so that a command is spoken of where one stands before a space.
/// All have four bytes at least, which the search is fast by: of the shortest names, what stands before them is a part.
const PROGRAMS: [&str; 34] = [
    " gh ", "`gh ", " uv ", "`uv ", " rg ", "`rg ", "git ", "npm ", "npx ", "pip ", "bun ", "tsc ", "mvn ",
    "pnpm ", "yarn ", "curl ", "grep ", "mise ", "deno ", "ruff ", "mypy ", "cargo ", "mkdir ", "cmake ",
    "chmod ", "bazel ", "docker ", "pytest ", "python ", "poetry ", "gradle ", "rustup ", "dotnet ",
    "kubectl ",
];

/// Looks for all of [`PROGRAMS`] at once.
static PROGRAM_SEARCH: LazyLock<AnyOf> = LazyLock::new(|| AnyOf::new(&PROGRAMS));

/// Where programs are named before a space; the space is not part of it.
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

/// Bytes that can begin an anchor.
const START: u8 = 1;
/// Bytes that can stand in one.
const INSIDE: u8 = 2;
/// Bytes that can stand in a web address.
const ADDRESS: u8 = 4;
const DIGIT: u8 = 8;
const UPPER: u8 = 16;
const SLASH: u8 = 32;
const COLON: u8 = 64;
/// What else can stand in an anchor and in no plain word.
const MARK: u8 = 128;
/// Bytes of which an anchor has at least one.
const NAMING: u8 = DIGIT | UPPER | SLASH | COLON | MARK;

static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        if character.is_ascii_alphanumeric() || character == b'_' {
            table[byte] = START | INSIDE | ADDRESS;
        }
        if character.is_ascii_digit() {
            table[byte] |= DIGIT;
        }
        if character.is_ascii_uppercase() {
            table[byte] |= UPPER;
        }
        byte += 1;
    }
    let starts = b"/.~@$";
    let mut place = 0;
    while place < starts.len() {
        table[starts[place] as usize] = START | INSIDE | ADDRESS | MARK;
        place += 1;
    }
    let inside = b"-:+";
    place = 0;
    while place < inside.len() {
        table[inside[place] as usize] = INSIDE | ADDRESS | MARK;
        place += 1;
    }
    let address = b"?=&%#!*,;";
    place = 0;
    while place < address.len() {
        table[address[place] as usize] = ADDRESS;
        place += 1;
    }
    table[b'_' as usize] |= MARK;
    table[b'/' as usize] |= SLASH;
    table[b':' as usize] |= COLON;
    table
};

/// A text in backticks on the same line, if it is short and more than one plain word.
///
/// Returns where it ends.
fn scan_quoted<'t>(line: &'t str, open: usize, found: &mut impl FnMut(Token<'t>)) -> usize {
    let inner = &line[open + 1..];
    let Some(length) = inner.bytes().take(64).position(|byte| byte == b'`') else { return open };
    let quoted = inner[..length].trim();
    let is_phrase = quoted.contains(' ') || quoted.contains('(') || quoted.len() >= 6;
    if (3..=60).contains(&quoted.len()) && is_phrase && quoted.bytes().any(|byte| byte.is_ascii_alphabetic())
    {
        found(Token::Quoted(quoted));
    }
    open + length + 2
}

/// Shorter addresses lead nowhere.
const SHORTEST_ADDRESS: usize = 10;

/// Finds out what a token is that has a byte of each class in `seen` and is no address.
fn classify<'t>(token: &'t str, seen: u8, found: &mut impl FnMut(AnchorKind, &'t str)) {
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

/// Takes `:12` and `:12:5` off the end.
pub(crate) fn strip_position(token: &str) -> &str {
    let mut token = token;
    for _ in 0..2 {
        let colon = token.bytes().rposition(|byte| !byte.is_ascii_digit() && byte != b'-');
        match colon {
            Some(colon) if colon > 0 && token.as_bytes()[colon] == b':' && colon + 1 < token.len() => {
                token = &token[..colon];
            }
            _ => break,
        }
    }
    token
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

fn classify_number<'t>(word: &'t str, marks: &Marks, found: &mut impl FnMut(AnchorKind, &'t str)) {
    let bytes = word.as_bytes();
    if is_hash(bytes, marks) {
        found(AnchorKind::Hash, word);
    } else if marks.digits >= 3 && bytes.len() <= 20
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

/// Endings that make a name a file's. A match compares lengths first, and this is asked of every dotted name.
#[rustfmt::skip]
fn is_file_ending(ending: &str) -> bool {
    matches!(
        ending,
        "rs" | "go" | "py" | "pyi" | "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "md" | "mdx" | "json"
            | "jsonl" | "toml" | "yaml" | "yml" | "c" | "h" | "cc" | "cpp" | "hpp" | "java" | "kt" | "swift"
            | "rb" | "php" | "cs" | "txt" | "sh" | "bash" | "sql" | "html" | "css" | "scss" | "vue" | "svelte"
            | "xml" | "csv" | "lock" | "cfg" | "ini" | "conf" | "proto" | "lua" | "pl" | "r" | "scala" | "ex"
            | "exs" | "zig" | "dart" | "tf" | "gradle" | "ipynb" | "rst" | "pony" | "hs" | "ml" | "log"
            | "env" | "svg" | "png"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(line: &str, expected: &[(AnchorKind, &str)]) {
        let mut seen = Vec::new();
        scan_anchors(line, &mut |kind, text| seen.push((kind, text)));
        assert_eq!(seen, expected, "{line}");
    }

    use AnchorKind::*;

    #[test]
    fn every_byte_is_told_in_every_place() {
        for byte in 0..128 {
            let is_told = CLASS[byte as usize] & NAMING != 0 || byte == b'`';
            for place in 0..20 {
                let mut bytes = [b'a'; 20];
                bytes[place] = byte;
                assert_eq!(find_telling(&bytes, 0), is_told.then_some(place), "{byte} at {place}");
                assert_eq!(find_telling(&bytes, place + 1), None);
            }
        }
        assert_eq!(find_telling("日本語 é".as_bytes(), 0), None);
    }

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
        fn any_line_is_scanned(line in "\\PC{0,200}") {
            scan_anchors(&line, &mut |_, text| assert!(line.contains(text)));
        }
    }
}
