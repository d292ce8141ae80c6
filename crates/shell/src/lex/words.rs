//! Reads words: quotes, escapes and expansions.

use std::ops::Range;

use super::{Lexer, MAX_DEPTH, is_name};
use crate::escapes::decode_escapes;
use crate::{Unclear, WordKind};

/// A word as far as it has been read.
pub(super) struct RawWord {
    pub(super) text: String,
    /// Its place in the text that is read.
    pub(super) span: Range<usize>,
    pub(super) is_quoted: bool,
    pub(super) kind: WordKind,
    /// The length of the part of `text` before anything quoted.
    pub(super) plain: usize,
    /// The bracket of a pattern or of alternatives that may be closed later.
    open: Option<char>,
}

impl RawWord {
    pub(super) fn new(start: usize) -> Self {
        let (text, span) = (String::new(), start..start);
        Self { text, span, is_quoted: false, kind: WordKind::Literal, plain: 0, open: None }
    }

    fn raise(&mut self, kind: WordKind) {
        self.kind = self.kind.max(kind);
    }

    /// Takes a character that stands without quotes.
    fn push_plain(&mut self, next: char) {
        match (next, self.open) {
            ('*' | '?', _) => self.raise(WordKind::Pattern),
            ('[', None) => self.open = Some('['),
            (']', Some('[')) => self.raise(WordKind::Pattern),
            ('{', _) => self.open = Some('{'),
            (',', Some('{')) => self.raise(WordKind::Split),
            ('.', Some('{')) if self.text.ends_with('.') => self.raise(WordKind::Split),
            ('~', _) if self.text.is_empty() => self.raise(WordKind::Filled),
            _ => {}
        }
        if !self.is_quoted {
            self.plain += next.len_utf8();
        }
        self.text.push(next);
    }
}

/// The quotes around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Quoted,
}

impl Quoting {
    fn kind(self) -> WordKind {
        match self {
            Self::Bare => WordKind::Split,
            Self::Quoted => WordKind::Filled,
        }
    }
}

impl Lexer<'_> {
    /// Reads the next piece of a word, which begins with it if there is none yet.
    pub(super) fn word_character(&mut self, word: &mut Option<RawWord>) {
        if self.rest().starts_with("\\\n") {
            self.continuation();
            return;
        }
        let start = self.at;
        let word = word.get_or_insert_with(|| RawWord::new(start));
        let Some(next) = self.peek() else { return };
        let second = self.rest()[next.len_utf8()..].chars().next();
        match (next, second) {
            ('\'', _) => {
                word.is_quoted = true;
                self.at += 1;
                self.single_quoted(&mut word.text);
            }
            ('"', _) => {
                word.is_quoted = true;
                self.at += 1;
                self.double_quoted(word);
            }
            ('\\', None) => {
                self.unclear(Unclear::Unclosed);
                self.at += 1;
            }
            ('\\', Some(escaped)) => {
                word.is_quoted = true;
                word.text.push(escaped);
                self.at += 1 + escaped.len_utf8();
            }
            ('$', Some('\'')) => {
                word.is_quoted = true;
                self.at += 2;
                self.escaped_text(&mut word.text);
            }
            ('$', Some('"')) => {
                self.unclear(Unclear::Dollar);
                word.is_quoted = true;
                self.at += 2;
                self.double_quoted(word);
            }
            ('<' | '>', _) => {
                word.is_quoted = true;
                word.raise(WordKind::Filled);
                self.nested(2);
                word.text.push_str(&self.text[start..self.at]);
            }
            ('$' | '`', _) => {
                // What an expansion gives sets no variable.
                word.is_quoted |= word.text.is_empty();
                self.expansion(word, Quoting::Bare);
            }
            _ => {
                self.check_plain(next, word);
                word.push_plain(next);
                self.at += next.len_utf8();
            }
        }
        word.span.end = self.at;
        self.forbid_line_end(start);
    }

    /// A character without quotes that means nothing to us must mean nothing to any shell.
    fn check_plain(&mut self, next: char, word: &RawWord) {
        let is_odd = next == '\r' || (!next.is_ascii() && (next.is_whitespace() || next.is_control()));
        // Where the last byte of a character counts as a blank, this would begin a comment.
        let is_behind_wide = next == '#' && word.text.ends_with(|last: char| !last.is_ascii());
        if is_odd || is_behind_wide {
            self.unclear(Unclear::Character);
        }
        // Where a variable may be set, shells read up to the closing bracket, whatever stands between.
        if next == '[' && !word.is_quoted && is_name(&word.text) {
            let index = &self.rest()[1..];
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-!^".contains(c);
            if !index.trim_start_matches(is_plain).starts_with(']') {
                self.unclear(Unclear::Subscript);
            }
        }
    }

    /// A backslash at a line end. Between words and inside plain ones, shells agree that it is not there.
    fn continuation(&mut self) {
        let before = self.text[..self.at].chars().next_back();
        let after = self.text[self.at + 2..].chars().next();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%".contains(c);
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        let is_certain = match before {
            None => true,
            Some(before) if is_blank(before) => true,
            Some(before) if is_plain(before) || "'\";&|(".contains(before) => {
                after.is_none_or(|after| is_blank(after) || (is_plain(after) && !"'\"".contains(before)))
            }
            Some(_) => false,
        };
        if !is_certain {
            self.unclear(Unclear::Continuation);
        }
        let start = self.at;
        self.at += 2;
        self.forbid_line_end(start);
    }

    fn single_quoted(&mut self, text: &mut String) {
        let rest = self.rest();
        let length = rest.find('\'').unwrap_or_else(|| {
            self.unclear(Unclear::Unclosed);
            rest.len()
        });
        text.push_str(&rest[..length]);
        self.at = (self.at + length + 1).min(self.text.len());
    }

    fn double_quoted(&mut self, word: &mut RawWord) {
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.at += 1;
                    return;
                }
                '$' | '`' => self.expansion(word, Quoting::Quoted),
                '\\' => {
                    self.at += 1;
                    match self.advance() {
                        Some('\n') => {}
                        Some(escaped @ ('"' | '\\' | '$' | '`')) => word.text.push(escaped),
                        Some(other) => word.text.extend(['\\', other]),
                        None => break,
                    }
                }
                other => {
                    word.text.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
        self.unclear(Unclear::Unclosed);
    }

    /// `$'…'`, behind its opening. A shell that does not know it sees `$` and a quoted text, which must end at the same
    /// place.
    fn escaped_text(&mut self, text: &mut String) {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let is_end = byte == b'\'' && !escaped;
            escaped = byte == b'\\' && !escaped;
            is_end
        });
        let Some(end) = end else {
            self.unclear(Unclear::Unclosed);
            self.at = self.text.len();
            return;
        };
        let decoded = decode_escapes(&rest[..end]);
        if rest[..end].contains('\'') || decoded.is_none() {
            self.unclear(Unclear::Escapes);
        }
        text.push_str(decoded.as_deref().unwrap_or(&rest[..end]));
        self.at += end + 1;
    }

    /// An expansion, which begins with `$` or a backtick. It stays in the word as it is written.
    pub(super) fn expansion(&mut self, word: &mut RawWord, quoting: Quoting) {
        let start = self.at;
        let rest = self.rest();
        let mut characters = rest.chars();
        let is_expanded = match (characters.next(), characters.next()) {
            (Some('`'), _) => {
                self.backticks();
                true
            }
            (_, Some('(')) if rest.starts_with("$((") => {
                self.arithmetic();
                true
            }
            (_, Some('(')) => {
                self.nested(2);
                true
            }
            (_, Some('{')) => {
                self.parameter(quoting);
                true
            }
            (_, Some('$' | '[')) => {
                self.unclear(Unclear::Dollar);
                self.at += 2;
                true
            }
            (_, Some('\\')) if rest[2..].starts_with('\n') => {
                self.unclear(Unclear::Continuation);
                self.at += 1;
                false
            }
            (_, Some('@')) => {
                word.raise(WordKind::Split);
                self.at += 2;
                true
            }
            // A number, or letters.
            (_, Some('#' | '?' | '-' | '!')) => {
                word.raise(WordKind::Filled);
                word.is_quoted = true;
                self.at += 2;
                word.text.push_str(&self.text[start..self.at]);
                return;
            }
            (_, Some('*' | '0'..='9')) => {
                self.at += 2;
                true
            }
            (_, Some(first)) if first.is_ascii_alphabetic() || first == '_' => {
                let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                self.at = self.text.len() - rest[1..].trim_start_matches(name).len();
                true
            }
            _ => {
                self.at += 1;
                false
            }
        };
        if is_expanded {
            word.raise(quoting.kind());
        }
        word.text.push_str(&self.text[start..self.at]);
        word.is_quoted |= is_expanded;
        if !is_expanded && !word.is_quoted {
            word.plain += self.at - start;
        }
    }

    /// `$((…))`. Only numbers are certain to be no commands.
    fn arithmetic(&mut self) {
        let inner = &self.rest()[3..];
        let after = inner.trim_start_matches(|c: char| c.is_ascii_digit() || " \t+-*/%".contains(c));
        if after.starts_with("))") {
            self.at = self.text.len() - after.len() + 2;
        } else {
            self.unclear(Unclear::Arithmetic);
            self.nested(2);
        }
    }

    /// `${…}`: a name, and what to put in its place or take away from it.
    fn parameter(&mut self, quoting: Quoting) {
        self.at += 2;
        self.depth += 1;
        let is_length = self.rest().starts_with('#') && !self.rest().starts_with("#}");
        self.at += usize::from(is_length);
        let rest = self.rest();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut behind = rest.trim_start_matches(is_name);
        let is_special = behind.len() == rest.len();
        if is_special {
            behind = rest.strip_prefix(['@', '*', '?', '-', '#']).unwrap_or(rest);
        }
        let is_named = behind.len() < rest.len();
        let operator = PLAIN_OPERATORS.iter().find(|operator| behind.starts_with(**operator));
        let is_certain = is_named
            && match operator {
                Some(&"}") => true,
                Some(&":") => {
                    let range = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
                    !is_length && range.starts_with('}')
                }
                Some(_) => !is_length && !is_special,
                None => false,
            };
        if !is_certain {
            self.unclear(Unclear::Parameter);
        }
        self.at = self.text.len() - behind.len()
            + operator.filter(|operator| **operator != "}").map_or(0, |o| o.len());
        self.parameter_word(quoting);
        self.depth -= 1;
    }

    /// The rest of `${…}` behind the operator.
    fn parameter_word(&mut self, quoting: Quoting) {
        let mut inner = RawWord::new(self.at);
        while let Some(next) = self.peek().filter(|_| self.depth <= MAX_DEPTH) {
            match next {
                '}' => {
                    self.at += 1;
                    return;
                }
                '$' if self.rest()[1..].starts_with(['\'', '"', '\\']) => {
                    self.unclear(Unclear::Parameter);
                    self.at += 2;
                }
                '$' | '`' => self.expansion(&mut inner, quoting),
                '<' | '>' if self.rest()[1..].starts_with('(') => {
                    self.unclear(Unclear::Parameter);
                    self.nested(2);
                }
                next => {
                    let is_plain = next.is_alphanumeric() || "_-./,:=+@%^*?~ []!".contains(next);
                    if !is_plain {
                        self.unclear(Unclear::Parameter);
                    }
                    self.at += next.len_utf8();
                }
            }
        }
        self.unclear(if self.depth > MAX_DEPTH { Unclear::Depth } else { Unclear::Unclosed });
        self.at = self.text.len();
    }

    fn backticks(&mut self) {
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.advance() {
                Some('`') => break,
                Some('\\') => match self.advance() {
                    Some(escaped @ ('`' | '\\' | '$')) => inner.push(escaped),
                    other => {
                        // Whether these stay depends on the shell, and on the quotes around the backticks.
                        if matches!(other, Some('"' | '\n') | None) {
                            self.unclear(Unclear::Backticks);
                        }
                        inner.push('\\');
                        inner.extend(other);
                    }
                },
                Some(other) => inner.push(other),
                None => {
                    self.unclear(Unclear::Unclosed);
                    break;
                }
            }
        }
        self.inside(&inner);
    }
}

/// The operators behind the name in `${…}`, longer ones first. Not those that assign (`=`), look up another name (`!`), or read
/// the value as a prompt or as arithmetic (`@`, `[`).
const PLAIN_OPERATORS: &[&str] =
    &["}", ":-", ":+", ":?", ":", "-", "+", "?", "%%", "%", "##", "#", "//", "/", "^^", "^", ",,", ","];
