//! Reads a command line character by character.

use super::{Line, Part};

/// How deep substitutions may be nested before the line counts as unclear.
const MAX_DEPTH: usize = 24;

/// Words of the shell's grammar that may stand before a command.
const KEYWORDS: &[&str] =
    &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "time"];

/// Words that begin what is not followed here.
const UNFOLLOWED: &[&str] = &["case", "esac", "select", "function", "coproc", "[["];

/// The operators that redirect, longer ones first.
const REDIRECTIONS: &[&str] = &["<<<", "<<-", "&>>", "<<", "<>", "<&", "&>", ">>", ">&", ">|", "<", ">"];

/// Where output may go without anything being written.
const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// The simple commands of a line.
pub(super) fn scan(line: &str) -> Line {
    let mut scanner = Scanner::new(line, 0);
    scanner.script(End::OfText);
    Line { parts: scanner.parts, is_clear: scanner.is_clear }
}

/// What a script ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfText,
    Bracket,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    parts: Vec<Part>,
    is_clear: bool,
    /// Documents that begin on the next line.
    documents: Vec<Document>,
}

/// Text within the script that is a command's input.
struct Document {
    end: String,
    strips_tabs: bool,
    is_literal: bool,
}

#[derive(Default)]
struct Word {
    text: String,
    start: usize,
    is_quoted: bool,
}

/// A command as far as it has been read.
#[derive(Default)]
struct Command {
    start: Option<usize>,
    words: Vec<Word>,
    word: Option<Word>,
    redirects: bool,
}

impl Command {
    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn is_empty(&self) -> bool {
        self.word.is_none() && self.words.is_empty()
    }
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        let is_clear = depth <= MAX_DEPTH && !text.contains('\0');
        let at = if depth <= MAX_DEPTH { 0 } else { text.len() };
        Self { text, at, depth, parts: Vec::new(), is_clear, documents: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn unclear(&mut self) {
        self.is_clear = false;
    }

    /// Reads commands until the text or the bracket around them ends.
    fn script(&mut self, end: End) {
        let mut command = Command::default();
        let mut groups = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => {
                    command.end_word();
                    self.at += 1;
                }
                '\n' => {
                    self.finish(&mut command);
                    self.at += 1;
                    self.read_documents();
                }
                '#' if command.word.is_none() => {
                    self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
                }
                '&' if self.rest().starts_with("&>") => self.redirection(&mut command),
                ';' | '&' | '|' => {
                    self.finish(&mut command);
                    self.at += 1;
                }
                '(' => {
                    // Behind a word, it begins an array or a function.
                    if !command.is_empty() {
                        self.unclear();
                        self.finish(&mut command);
                    }
                    groups += 1;
                    self.at += 1;
                }
                ')' => {
                    self.finish(&mut command);
                    self.at += 1;
                    match groups.checked_sub(1) {
                        Some(fewer) => groups = fewer,
                        None if end == End::Bracket => return,
                        None => self.unclear(),
                    }
                }
                '<' | '>' if !self.rest()[1..].starts_with('(') => self.redirection(&mut command),
                _ => {
                    command.start.get_or_insert(self.at);
                    self.word_character(&mut command.word);
                }
            }
        }
        self.finish(&mut command);
        if end == End::Bracket || groups > 0 || !self.documents.is_empty() {
            self.unclear();
        }
    }

    /// Makes a part of what has been read.
    fn finish(&mut self, command: &mut Command) {
        command.end_word();
        let Command { start, words, redirects, .. } = std::mem::take(command);
        let keywords =
            words.iter().take_while(|word| !word.is_quoted && KEYWORDS.contains(&word.text.as_str())).count();
        let words = &words[keywords..];
        if let Some(first) = words.first().filter(|word| !word.is_quoted) {
            if UNFOLLOWED.contains(&first.text.as_str()) {
                self.unclear();
            }
            // What the loop goes over runs nothing by itself; substitutions in it are parts of their own. Without `in`, the
            // loop's commands can begin on the same line.
            if first.text == "for" {
                match words.get(2) {
                    Some(third) if third.text != "in" => self.unclear(),
                    _ if redirects => {}
                    _ => return,
                }
            }
        }
        if words.is_empty() && !redirects {
            return;
        }
        let from = words.first().map_or(start.unwrap_or(self.at), |word| word.start);
        let text = self.text[from..self.at].trim().to_owned();
        let assignments = words.iter().take_while(|word| is_assignment(&word.text)).count();
        let words = words.iter().map(|word| word.text.clone()).collect();
        self.parts.push(Part { text, words, assignments, redirects });
    }

    /// Reads the next piece of a word, which begins with it if there is none yet.
    fn word_character(&mut self, word: &mut Option<Word>) {
        if self.rest().starts_with("\\\n") {
            self.at += 2;
            return;
        }
        let start = self.at;
        let word = word.get_or_insert_with(|| Word { start, ..Word::default() });
        match self.peek() {
            Some('\'') => {
                word.is_quoted = true;
                self.at += 1;
                let length = self.rest().find('\'').unwrap_or_else(|| {
                    self.is_clear = false;
                    self.text.len() - self.at
                });
                word.text.push_str(&self.rest()[..length]);
                self.at = (self.at + length + 1).min(self.text.len());
            }
            Some('"') => {
                word.is_quoted = true;
                self.double_quoted(&mut word.text);
            }
            Some('\\') => {
                word.is_quoted = true;
                self.at += 1;
                match self.advance() {
                    Some(escaped) => word.text.push(escaped),
                    None => self.unclear(),
                }
            }
            Some('$') if self.rest().starts_with("$'") => {
                word.is_quoted = true;
                self.escaped_text(&mut word.text);
            }
            Some('<' | '>') => self.nested(2, &mut word.text),
            Some('$' | '`') => self.expansion(&mut word.text),
            Some(_) => word.text.extend(self.advance()),
            None => {}
        }
    }

    fn double_quoted(&mut self, word: &mut String) {
        self.at += 1;
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.at += 1;
                    return;
                }
                '$' | '`' => self.expansion(word),
                '\\' => {
                    self.at += 1;
                    match self.advance() {
                        Some('\n') => {}
                        Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                        Some(other) => word.extend(['\\', other]),
                        None => break,
                    }
                }
                _ => word.extend(self.advance()),
            }
        }
        self.unclear();
    }

    /// `$'…'`, whose escapes are left as they are: such a word equals no prefix.
    fn escaped_text(&mut self, word: &mut String) {
        let start = self.at;
        self.at += 2;
        while let Some(next) = self.advance() {
            match next {
                '\'' => return word.push_str(&self.text[start..self.at]),
                '\\' => drop(self.advance()),
                _ => {}
            }
        }
        self.unclear();
    }

    /// Whatever begins with `$` or a backtick.
    fn expansion(&mut self, word: &mut String) {
        match self.rest() {
            rest if rest.starts_with("$(") => self.nested(2, word),
            rest if rest.starts_with("${") => self.braced(word),
            rest if rest.starts_with('`') => self.backticks(word),
            rest => {
                // The shell would join what stands on both sides of the line end.
                if rest.starts_with("$\\\n") {
                    self.unclear();
                }
                word.extend(self.advance());
            }
        }
    }

    /// A script in brackets, behind an opening of this length.
    fn nested(&mut self, opening: usize, word: &mut String) {
        let start = self.at;
        self.at += opening;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unclear();
            self.at = self.text.len();
        } else {
            self.script(End::Bracket);
        }
        self.depth -= 1;
        word.push_str(&self.text[start..self.at]);
    }

    /// `${…}`. Quotes in it mean different things in different places, so they make the line unclear.
    fn braced(&mut self, word: &mut String) {
        let start = self.at;
        self.at += 2;
        self.depth += 1;
        let mut inner = String::new();
        let mut is_closed = false;
        while let Some(next) = self.peek().filter(|_| self.depth <= MAX_DEPTH) {
            match next {
                '}' => {
                    self.at += 1;
                    is_closed = true;
                    break;
                }
                '\'' | '"' => {
                    self.unclear();
                    self.at += 1;
                }
                '\\' => {
                    self.at += 1;
                    self.advance();
                }
                '$' | '`' => self.expansion(&mut inner),
                '<' | '>' if self.rest()[1..].starts_with('(') => self.nested(2, &mut inner),
                _ => drop(self.advance()),
            }
        }
        if !is_closed {
            self.unclear();
            self.at = self.text.len();
        }
        self.depth -= 1;
        word.push_str(&self.text[start..self.at]);
    }

    fn backticks(&mut self, word: &mut String) {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.advance() {
                Some('`') => break,
                Some('\\') => match self.advance() {
                    Some(escaped @ ('`' | '\\' | '$')) => inner.push(escaped),
                    other => {
                        // Whether the backslash stays depends on the quotes around the backticks.
                        if other == Some('"') {
                            self.unclear();
                        }
                        inner.push('\\');
                        inner.extend(other);
                    }
                },
                Some(other) => inner.push(other),
                None => {
                    self.unclear();
                    break;
                }
            }
        }
        self.inside(&inner, |scanner| scanner.script(End::OfText));
        word.push_str(&self.text[start..self.at]);
    }

    /// Reads a text of its own and takes over what is found in it.
    fn inside(&mut self, text: &str, read: impl FnOnce(&mut Scanner<'_>)) {
        let mut scanner = Scanner::new(text, self.depth + 1);
        read(&mut scanner);
        self.parts.append(&mut scanner.parts);
        self.is_clear &= scanner.is_clear;
    }

    fn redirection(&mut self, command: &mut Command) {
        command.start.get_or_insert(self.at);
        // `2>`: the number says which output, it is no argument.
        let is_number =
            |word: &mut Word| !word.is_quoted && word.text.bytes().all(|digit| digit.is_ascii_digit());
        command.word.take_if(is_number);
        command.end_word();
        let rest = self.rest();
        let Some(operator) = REDIRECTIONS.iter().copied().find(|operator| rest.starts_with(operator)) else {
            self.at += 1;
            return self.unclear();
        };
        self.at += operator.len();
        let Some(target) = self.target() else { return self.unclear() };
        match operator {
            "<<" | "<<-" => self.documents.push(Document {
                end: target.text,
                strips_tabs: operator == "<<-",
                is_literal: target.is_quoted,
            }),
            "<" | "<<<" => {
                command.redirects |= target.text.starts_with("/dev/") && target.text != "/dev/null";
            }
            "<&" | ">&" if target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {}
            _ => command.redirects |= !HARMLESS.contains(&target.text.as_str()),
        }
    }

    /// The word behind a redirection.
    fn target(&mut self) -> Option<Word> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        let mut word = None;
        while let Some(next) = self.peek() {
            let is_nested = matches!(next, '<' | '>') && self.rest()[1..].starts_with('(');
            if !is_nested && " \t\n;&|()<>".contains(next) {
                break;
            }
            self.word_character(&mut word);
        }
        word
    }

    /// Reads the documents whose text begins here, for what the shell would run in them.
    fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let start = self.at;
            let body = loop {
                let line_start = self.at;
                let Some(line) = self.rest().split_inclusive('\n').next() else {
                    self.unclear();
                    break &self.text[start..];
                };
                self.at += line.len();
                let line = line.strip_suffix('\n').unwrap_or(line);
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break &self.text[start..line_start];
                }
            };
            if !document.is_literal {
                // The shell joins such lines first, and then may find the end where we do not.
                if body.contains("\\\n") {
                    self.unclear();
                }
                self.inside(body, |scanner| scanner.expansions());
            }
        }
    }

    /// Reads text in which only expansions mean anything.
    fn expansions(&mut self) {
        let mut unused = String::new();
        while let Some(next) = self.peek() {
            match next {
                '$' | '`' => self.expansion(&mut unused),
                '\\' => {
                    self.at += 1;
                    self.advance();
                }
                _ => drop(self.advance()),
            }
        }
    }
}

/// `NAME=value`, also `NAME+=value` and `NAME[1]=value`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
