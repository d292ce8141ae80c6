//! A detector of names in text: paths, identifiers, commands, URLs, numbers, hashes, errors, quoted code.
//!
//! It judges the extractors, so it shares no code with any of them.

use std::collections::HashSet;

use crate::paths::path_of;
use crate::text::{TextUse, collapse};

/// A name that text refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EvalAnchor {
    /// Its kind.
    pub kind: EvalAnchorKind,
    /// The name, in the form searched for.
    pub text: String,
}

/// The kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EvalAnchorKind {
    /// A file or folder, without the working directory and line numbers.
    Path,
    /// A name of six characters or more in camelCase, snake_case or dotted form.
    Identifier,
    /// The first two words of a shell command.
    Command,
    /// A URL.
    Url,
    /// A number of three digits or more.
    Number,
    /// A commit, a digest or a UUID.
    Hash,
    /// The name or code of an error.
    Error,
    /// Text between backticks.
    Quoted,
}

/// The shortest identifier that counts.
const IDENTIFIER_LENGTH: usize = 6;
/// The longest name in bytes; anything longer is data.
const LONGEST: usize = 120;

/// Collects distinct names in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct AnchorCollector<'d> {
    directory: Option<&'d str>,
    found: Vec<EvalAnchor>,
    known: HashSet<String>,
}

impl<'d> AnchorCollector<'d> {
    /// An empty collector; `directory` is stripped from paths.
    pub(crate) fn new(directory: Option<&'d str>) -> Self {
        let directory = directory.map(|path| path.trim_end_matches('/')).filter(|path| !path.is_empty());
        Self { directory, ..Self::default() }
    }

    /// The collected names.
    pub(crate) fn into_vec(self) -> Vec<EvalAnchor> {
        self.found
    }

    /// Collects the names in a use.
    pub(crate) fn scan(&mut self, used: &TextUse<'_>) {
        match used {
            TextUse::Prose(_, text) => self.scan_text(text, Backticks::Quote),
            TextUse::Argument(text) => self.scan_text(text, Backticks::Code),
            TextUse::Command(command) => self.scan_command(command),
        }
    }

    /// Collects the names in the text of a snapshot, in which backticks quote nothing more than the names in them.
    pub(crate) fn scan_snapshot(&mut self, text: &str) {
        self.scan_text(text, Backticks::Code);
    }

    fn add(&mut self, kind: EvalAnchorKind, text: &str) {
        let fits = (2..=LONGEST).contains(&text.len()) && text.contains(|c: char| c.is_alphanumeric());
        if fits && !self.known.contains(text) {
            self.known.insert(text.to_string());
            self.found.push(EvalAnchor { kind, text: text.to_string() });
        }
    }

    fn scan_text(&mut self, text: &str, backticks: Backticks) {
        let bytes = text.as_bytes();
        let mut place = 0;
        let mut quote_end = None;
        while let Some(&byte) = bytes.get(place) {
            if byte == b'`' {
                if bytes[place..].starts_with(b"```") {
                    place += 3;
                } else if quote_end == Some(place) || backticks == Backticks::Code {
                    place += 1;
                } else {
                    quote_end = quote_from(text, place + 1);
                    if let Some(end) = quote_end {
                        self.add_quoted(&text[place + 1..end]);
                    }
                    place += 1;
                }
            } else if byte == b'h' && starts_address(&bytes[place..]) {
                let end = place + address_length(&text[place..]);
                self.add(
                    EvalAnchorKind::Url,
                    text[place..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*']),
                );
                place = end;
            } else if is_token(byte) {
                let end = place + bytes[place..].iter().take_while(|byte| is_token(**byte)).count();
                let end = number_end(bytes, place, end);
                let is_path = self.add_token(&text[place..end]);
                place = if is_path { end + position_length(&bytes[end..]) } else { end };
            } else {
                place += 1;
            }
        }
    }

    fn add_quoted(&mut self, quoted: &str) {
        let quoted = collapse(quoted);
        let inside = self.directory.and_then(|directory| quoted.strip_prefix(directory)?.strip_prefix('/'));
        let quoted = inside.unwrap_or(&quoted);
        // A short plain word occurs everywhere, quoted or not.
        let is_plain = quoted.bytes().all(|byte| byte.is_ascii_alphabetic());
        let least = if is_plain { IDENTIFIER_LENGTH } else { 3 };
        if quoted.len() >= least && path_of(quoted, None).is_none() {
            self.add(EvalAnchorKind::Quoted, quoted);
        }
    }

    /// Adds the name in a run of token characters; returns true if it is a path.
    fn add_token(&mut self, token: &str) -> bool {
        let token = token.trim_end_matches(['.', '-', '+', '@', '~']);
        if let Some(path) = path_of(token, self.directory) {
            self.add(EvalAnchorKind::Path, path);
            return true;
        }
        if is_uuid(token) {
            self.add(EvalAnchorKind::Hash, token);
            return false;
        }
        for piece in token.split(['-', '/', '+', '@', '~']) {
            self.add_name(piece.trim_matches('.'));
        }
        false
    }

    fn add_name(&mut self, name: &str) {
        if is_hash(name) {
            self.add(EvalAnchorKind::Hash, name);
        } else if is_number(name) {
            self.add(EvalAnchorKind::Number, name);
        } else if is_error(name) {
            self.add(EvalAnchorKind::Error, name);
        } else if is_dotted(name) {
            if name.len() >= IDENTIFIER_LENGTH {
                self.add(EvalAnchorKind::Identifier, name);
            }
            name.split('.').for_each(|piece| self.add_name(piece));
        } else if name.contains('.') {
            name.split('.').filter(|piece| !piece.is_empty()).for_each(|piece| self.add_name(piece));
        } else if name.len() >= IDENTIFIER_LENGTH && (is_snake(name) || is_camel(name)) {
            self.add(EvalAnchorKind::Identifier, name);
        }
    }

    /// Adds the first two words of each command in the first line of a script.
    fn scan_command(&mut self, script: &str) {
        let line = script.trim_start().lines().next().unwrap_or_default();
        for command in line.split(['|', ';', '&']) {
            let mut words = command.split_whitespace().skip_while(|word| word.contains('=')).take(2);
            let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
            // A path or a quoted text as the second word is a name of its own, or none.
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@');
            if first != "cd" && first.chars().all(is_word) && second.chars().all(is_word) {
                self.add(EvalAnchorKind::Command, &format!("{first} {second}"));
            }
        }
    }
}

/// The meaning of backticks in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backticks {
    /// They quote something.
    Quote,
    /// They are part of some language.
    Code,
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b'~' | b'@' | b'+')
}

/// The end of the backtick quote that starts at `from`, on the same line.
fn quote_from(text: &str, from: usize) -> Option<usize> {
    let length =
        text.as_bytes()[from..].iter().take(LONGEST + 1).position(|byte| matches!(byte, b'`' | b'\n'))?;
    (text.as_bytes()[from + length] == b'`' && length > 0).then_some(from + length)
}

fn starts_address(bytes: &[u8]) -> bool {
    bytes.starts_with(b"http://") || bytes.starts_with(b"https://")
}

fn address_length(text: &str) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || !c.is_ascii()
            || matches!(c, '"' | '\'' | '<' | '>' | '`' | ')' | ']' | '}' | '\\' | '|')
    };
    text.find(ends).unwrap_or(text.len())
}

/// The end of a number that starts at `start`, with further groups of three digits: `1,234,567`.
fn number_end(bytes: &[u8], start: usize, mut end: usize) -> usize {
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|group| !group.is_empty() && group.iter().all(u8::is_ascii_digit))
    };
    if digits(start..end) && end - start <= 3 {
        while bytes.get(end) == Some(&b',')
            && digits(end + 1..end + 4)
            && !bytes.get(end + 4).is_some_and(|byte| is_token(*byte))
        {
            end += 4;
        }
    }
    end
}

/// The length of a position after a path: `:12:5`, `#L10-L20`.
fn position_length(bytes: &[u8]) -> usize {
    let digits =
        |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut length = 0;
    while bytes.get(length) == Some(&b':') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if bytes[length..].starts_with(b"#L") {
        length += 2 + digits(length + 2);
        if bytes[length..].starts_with(b"-L") {
            length += 2 + digits(length + 2);
        }
    }
    length
}

/// True for hexadecimal of seven digits or more that is neither a word nor a number.
fn is_hash(name: &str) -> bool {
    let hex = name.strip_prefix("0x").unwrap_or(name);
    let one_case =
        !(hex.bytes().any(|b| b.is_ascii_lowercase()) && hex.bytes().any(|b| b.is_ascii_uppercase()));
    (7..=128).contains(&hex.len())
        && one_case
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
        && hex.bytes().any(|b| b.is_ascii_digit())
        && hex.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_uuid(token: &str) -> bool {
    token.len() == 36
        && token.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && token.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// True for a number or a version with at least three digits.
fn is_number(name: &str) -> bool {
    let digits = name.strip_prefix('v').unwrap_or(name);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
        && digits.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// True for `ValueError`, `ENOENT`, `E0277`, `TS2345`.
fn is_error(name: &str) -> bool {
    const SYSTEM: [&str; 22] = [
        "EACCES",
        "EADDRINUSE",
        "EAGAIN",
        "EBUSY",
        "ECONNREFUSED",
        "ECONNRESET",
        "EEXIST",
        "EINVAL",
        "EISDIR",
        "ELOOP",
        "EMFILE",
        "ENOENT",
        "ENOMEM",
        "ENOSPC",
        "ENOTDIR",
        "ENOTEMPTY",
        "ENOTFOUND",
        "EPERM",
        "EPIPE",
        "ETIMEDOUT",
        "SIGSEGV",
        "SIGABRT",
    ];
    let named = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric())
        && ["Error", "Exception", "Warning"].iter().any(|end| name.len() > end.len() && name.ends_with(end));
    let letters = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = name.len() - letters;
    let coded = (1..=6).contains(&letters)
        && (3..=5).contains(&digits)
        && name.bytes().skip(letters).all(|b| b.is_ascii_digit());
    named || coded || SYSTEM.contains(&name)
}

/// True for names joined by dots, each starting like a name.
fn is_dotted(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    name.contains('.') && name.split('.').all(is_part)
}

fn is_snake(name: &str) -> bool {
    let inner = name.trim_matches('_');
    inner.contains('_') && inner.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_camel(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Speaker;

    fn found(used: &TextUse<'_>) -> Vec<String> {
        let mut anchors = AnchorCollector::new(Some("/home/me/app/"));
        anchors.scan(used);
        anchors.into_vec().into_iter().map(|anchor| format!("{:?} {}", anchor.kind, anchor.text)).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(found(&TextUse::Prose(Speaker::Model, text)), expected, "{text}");
    }

    #[test]
    fn paths_lose_directory_and_line() {
        check("see /home/me/app/src/main.rs:120:4.", &["Path src/main.rs"]);
        check("src/main.rs#L100-L120 and b/src/lib.rs", &["Path src/main.rs", "Path src/lib.rs"]);
        check("Edit Cargo.toml, ./a/b.py", &["Path Cargo.toml", "Path a/b.py"]);
        check("and/or, </div>, 1/2, n/a", &[]);
    }

    #[test]
    fn identifiers_have_six_characters_and_a_form() {
        check(
            "parseLine snake_case os.path.join plain a_b aB",
            &["Identifier parseLine", "Identifier snake_case", "Identifier os.path.join"],
        );
        check("this.sessionList", &["Identifier this.sessionList", "Identifier sessionList"]);
        check("__init__ MAX_SIZE_LIMIT", &["Identifier MAX_SIZE_LIMIT"]);
        check("The end. Next e.g. this", &[]);
    }

    #[test]
    fn numbers_hashes_and_errors_are_told_apart() {
        check("port 8080, 12 and 1,234,567", &["Number 8080", "Number 1,234,567"]);
        check("lists 1,2,3 and 100,20", &["Number 100"]);
        check("v0.115.2 commit d9c631f", &["Number v0.115.2", "Hash d9c631f"]);
        check("id 123e4567-e89b-12d3-a456-426614174000", &["Hash 123e4567-e89b-12d3-a456-426614174000"]);
        check(
            "ValueError E0277 TS2345 ENOENT ERROR",
            &["Error ValueError", "Error E0277", "Error TS2345", "Error ENOENT"],
        );
    }

    #[test]
    fn addresses_end_where_prose_goes_on() {
        check("(see https://example.org/a/b.html#x).", &["Url https://example.org/a/b.html#x"]);
        check("https://example.org/文", &["Url https://example.org/"]);
    }

    #[test]
    fn quotes_count_in_prose_only() {
        check("run `cargo test` or `x` or `else` or `Parser`", &["Quoted cargo test", "Quoted Parser"]);
        check("`/home/me/app/a b` and `src/a.rs`", &["Quoted a b", "Path src/a.rs"]);
        check("```sh\nls\n``` then `no\nend`", &[]);
        assert_eq!(found(&TextUse::Argument("`two words`")), Vec::<String>::new());
    }

    #[test]
    fn commands_give_their_first_two_words() {
        let check = |command: &str, expected: &[&str]| {
            assert_eq!(found(&TextUse::Command(command)), expected, "{command}");
        };
        check("cd /x && RUST_LOG=1 cargo test -p a | tail -5", &["Command cargo test", "Command tail -5"]);
        check("cat src/a.rs; ls", &[]);
        check("git commit -m 'a; b'\nmore text", &["Command git commit"]);
    }

    #[test]
    fn any_text_is_scanned_without_harm() {
        for text in ["", "`", "``", "http://", "日本語`…", "a.", "...", "-", "1,", ":", "x:\u{301}"] {
            found(&TextUse::Prose(Speaker::Model, text));
            found(&TextUse::Command(text));
        }
    }
}
