//! Reads a command line: operators, groups and keywords. What stands in a word is read by [`words`], redirections and
//! here-documents by [`redirects`].

mod redirects;
mod words;

use redirects::PendingDocument;
use words::RawWord;

use crate::{CommandOrigin, Redirect, Separator, ShellScript, ShellWord, SimpleCommand, Unclear, WordKind};

/// The depth to which substitutions may be nested.
pub(crate) const MAX_DEPTH: usize = 24;

/// Words of the grammar that may stand before a command.
const KEYWORDS: &[&str] =
    &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "time"];

/// Words that begin what is not followed here.
const UNFOLLOWED: &[&str] = &["case", "esac", "select", "function", "coproc", "[["];

/// The commands of a text, without those that they run.
pub(crate) fn lex(text: &str, depth: usize) -> ShellScript {
    let mut lexer = Lexer::new(text, depth);
    if depth > MAX_DEPTH {
        lexer.unclear(Unclear::Depth);
    } else {
        lexer.script(ScriptEnd::OfText);
    }
    for command in &mut lexer.commands {
        command.depth = depth;
    }
    ShellScript { commands: lexer.commands, unclear: lexer.unclear }
}

/// The end of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptEnd {
    OfText,
    Bracket,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    commands: Vec<SimpleCommand>,
    unclear: Option<Unclear>,
    /// Documents that begin on the next line.
    pending: Vec<PendingDocument>,
    /// The last command of the script that is being read, not of substitutions in it.
    last_command: Option<usize>,
    /// True if this is read inside a substitution.
    is_nested: bool,
    /// True if places in `text` are places in the line.
    has_spans: bool,
}

/// A command as far as it has been read.
#[derive(Default)]
struct PartialCommand {
    start: Option<usize>,
    words: Vec<RawWord>,
    word: Option<RawWord>,
    redirects: Vec<Redirect>,
    /// The number of words before the first redirection.
    words_before_redirect: Option<usize>,
    /// The end of the last word or redirection.
    end: usize,
}

impl PartialCommand {
    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.end = self.end.max(word.span.end);
            self.words.push(word);
        }
    }

    /// True if only words of the grammar were read, behind which a group may begin.
    fn expects_command(&self) -> bool {
        self.word.is_none() && self.redirects.is_empty() && self.words.iter().all(RawWord::is_keyword)
    }
}

impl RawWord {
    fn is_keyword(&self) -> bool {
        !self.is_quoted && KEYWORDS.contains(&self.text.as_str())
    }
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        let is_control = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
        let unclear = text.bytes().any(is_control).then_some(Unclear::Character);
        let (commands, pending) = (Vec::new(), Vec::new());
        Self {
            text,
            at: 0,
            depth,
            commands,
            unclear,
            pending,
            last_command: None,
            is_nested: false,
            has_spans: true,
        }
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

    /// Keeps the first reason.
    fn unclear(&mut self, reason: Unclear) {
        self.unclear.get_or_insert(reason);
    }

    /// Reads commands until the text or the bracket around them ends.
    fn script(&mut self, end: ScriptEnd) {
        let mut partial = PartialCommand::default();
        let mut groups = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => {
                    partial.end_word();
                    self.at += 1;
                }
                '\n' => {
                    self.finish(&mut partial, Separator::Sequence);
                    self.at += 1;
                    self.read_documents();
                }
                '#' if partial.word.is_none() => {
                    self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
                }
                '&' if self.rest().starts_with("&>") => self.redirection(&mut partial),
                ';' | '&' | '|' => {
                    let (separator, length) = separator(self.rest());
                    self.finish(&mut partial, separator);
                    self.at += length;
                }
                '(' => {
                    if !partial.expects_command() {
                        self.unclear(Unclear::Function);
                    }
                    if self.rest().starts_with("((") {
                        self.unclear(Unclear::Arithmetic);
                    }
                    self.finish(&mut partial, Separator::Sequence);
                    groups += 1;
                    self.at += 1;
                }
                ')' => {
                    self.finish(&mut partial, Separator::Sequence);
                    self.at += 1;
                    match groups.checked_sub(1) {
                        Some(fewer) => groups = fewer,
                        None if end == ScriptEnd::Bracket => return,
                        None => self.unclear(Unclear::StrayBracket),
                    }
                }
                '<' | '>' if !self.rest()[1..].starts_with('(') => self.redirection(&mut partial),
                _ => {
                    partial.start.get_or_insert(self.at);
                    self.word_character(&mut partial.word);
                }
            }
        }
        self.finish(&mut partial, Separator::Sequence);
        if end == ScriptEnd::Bracket || groups > 0 || !self.pending.is_empty() {
            self.unclear(Unclear::Unclosed);
        }
    }

    /// Makes a command of what has been read before an operator.
    fn finish(&mut self, partial: &mut PartialCommand, separator: Separator) {
        partial.end_word();
        let PartialCommand { start, words, redirects, words_before_redirect, end, .. } =
            std::mem::take(partial);
        let keywords = keywords_before(&words);
        // Behind a redirection they are no words of the grammar.
        if words_before_redirect.is_some_and(|before| before < keywords) {
            self.unclear(Unclear::Keyword);
        }
        let words = &words[keywords..];
        if let Some(first) = words.first().filter(|word| !word.is_quoted) {
            if UNFOLLOWED.contains(&first.text.as_str()) {
                self.unclear(Unclear::Keyword);
            }
            if first.text == "for" {
                if !redirects.is_empty() || !is_plain_loop(words) {
                    self.unclear(Unclear::Loop);
                } else {
                    // What the loop goes over runs nothing by itself.
                    return;
                }
            }
        }
        if words.is_empty() && redirects.is_empty() {
            // `(a; b) && c`: the operator stands behind a group.
            if let Some(last) = self.last_command.filter(|_| separator != Separator::Sequence) {
                self.commands[last].separator = separator;
            }
            return;
        }
        let from = words.first().map_or(start.unwrap_or(self.at), |word| word.span.start);
        let text = &self.text[from..end];
        let assignments = words.iter().take_while(|word| word.is_assignment()).count();
        for document in &mut self.pending {
            document.command.get_or_insert(self.commands.len());
        }
        self.last_command = Some(self.commands.len());
        self.commands.push(SimpleCommand {
            text: text.to_owned(),
            span: self.has_spans.then(|| from..from + text.len()),
            words: words.iter().map(|word| word.to_word(from)).collect(),
            assignments,
            redirects,
            separator,
            origin: if self.is_nested { CommandOrigin::Substitution } else { CommandOrigin::Line },
            is_open_ended: false,
            unread: None,
            depth: self.depth,
        });
    }

    /// A script in brackets, behind an opening of this length.
    fn nested(&mut self, opening: usize) {
        let start = self.at;
        self.at += opening;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unclear(Unclear::Depth);
            self.at = self.text.len();
        } else {
            let outer = std::mem::take(&mut self.pending);
            let was_nested = std::mem::replace(&mut self.is_nested, true);
            let last_outside = self.last_command.take();
            self.script(ScriptEnd::Bracket);
            self.last_command = last_outside;
            // Shells do not agree on where a document begins that is announced on one side of the bracket.
            if !self.pending.is_empty() {
                self.unclear(Unclear::Document);
            }
            self.pending = outer;
            self.is_nested = was_nested;
            self.forbid_line_end(start);
        }
        self.depth -= 1;
    }

    /// Shells do not agree on where a document begins if the line that announces it goes on behind a line end.
    fn forbid_line_end(&mut self, start: usize) {
        if !self.pending.is_empty() && self.text[start..self.at].contains('\n') {
            self.unclear(Unclear::Document);
        }
    }

    /// Reads a text of its own and takes over what is found in it.
    fn inside(&mut self, text: &str) {
        let mut lexer = Lexer::new(text, self.depth + 1);
        lexer.is_nested = true;
        lexer.has_spans = false;
        if lexer.depth > MAX_DEPTH {
            lexer.unclear(Unclear::Depth);
        } else {
            lexer.script(ScriptEnd::OfText);
        }
        self.append(lexer);
    }

    fn append(&mut self, mut inner: Lexer<'_>) {
        self.commands.append(&mut inner.commands);
        if let Some(reason) = inner.unclear {
            self.unclear(reason);
        }
    }
}

/// The separator that a text begins with, and its length.
fn separator(text: &str) -> (Separator, usize) {
    let operators = [
        ("&&", Separator::And),
        ("||", Separator::Or),
        ("|&", Separator::Pipe),
        ("|", Separator::Pipe),
        ("&", Separator::Background),
    ];
    let found = operators.into_iter().find(|(operator, _)| text.starts_with(operator));
    found.map_or((Separator::Sequence, 1), |(operator, separator)| (separator, operator.len()))
}

/// The number of words at the beginning that belong to the grammar; for `time`, its option too.
fn keywords_before(words: &[RawWord]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count).filter(|word| word.is_keyword()) {
        count += 1;
        if word.text == "time" {
            let is_option = |word: &&RawWord| !word.is_quoted && matches!(word.text.as_str(), "-p" | "--");
            count += words[count..].iter().take(2).take_while(is_option).count();
        }
    }
    count
}

/// `for NAME`, or `for NAME in …`. A name in capitals may be one that programs look at, `PATH` above all.
fn is_plain_loop(words: &[RawWord]) -> bool {
    let Some(name) = words.get(1).filter(|name| name.is_name()) else { return false };
    let is_capital = name.text.len() > 1 && !name.text.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_in = |word: &RawWord| word.text == "in" && !word.is_quoted;
    !is_capital && words.get(2).is_none_or(is_in)
}

impl RawWord {
    fn to_word(&self, from: usize) -> ShellWord {
        let Self { text, is_quoted, kind, .. } = self;
        let span = self.span.start - from..self.span.end - from;
        ShellWord { text: text.clone(), span, is_quoted: *is_quoted, kind: *kind }
    }

    fn is_name(&self) -> bool {
        !self.is_quoted && self.kind == WordKind::Literal && is_name(&self.text)
    }

    /// `NAME=value`, also `NAME+=value` and `NAME[1]=value`.
    fn is_assignment(&self) -> bool {
        is_assignment(&self.text[..self.plain])
    }
}

/// True if a text is, or begins with, an assignment.
fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name.split_once('[').map_or(name, |(name, _)| name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
