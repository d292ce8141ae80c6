//! Reads redirections and here-documents.

use super::words::{Quoting, RawWord};
use super::{Lexer, PartialCommand};
use crate::{HereDocument, Redirect, RedirectOperator, Unclear};

/// The operators, longer ones first.
const OPERATORS: &[(&str, RedirectOperator)] = &[
    ("<<<", RedirectOperator::HereString),
    ("<<-", RedirectOperator::Document),
    ("&>>", RedirectOperator::Append),
    ("<<", RedirectOperator::Document),
    ("<>", RedirectOperator::Write),
    ("<&", RedirectOperator::Duplicate),
    ("&>", RedirectOperator::Write),
    (">>", RedirectOperator::Append),
    (">&", RedirectOperator::Duplicate),
    (">|", RedirectOperator::Write),
    ("<", RedirectOperator::Read),
    (">", RedirectOperator::Write),
];

/// A document that begins on the next line.
pub(super) struct PendingDocument {
    end: String,
    strips_tabs: bool,
    is_literal: bool,
    /// The command that it is of, once that is complete, and its redirection.
    pub(super) command: Option<usize>,
    redirect: usize,
}

impl Lexer<'_> {
    pub(super) fn redirection(&mut self, partial: &mut PartialCommand) {
        partial.start.get_or_insert(self.at);
        // `2>`: the number says which output, it is no argument.
        let is_number =
            |word: &mut RawWord| !word.is_quoted && word.text.bytes().all(|digit| digit.is_ascii_digit());
        let number = if self.rest().starts_with('&') { None } else { partial.word.take_if(is_number) };
        let descriptor = number.and_then(|number| number.text.parse().ok());
        partial.end_word();
        partial.words_before_redirect.get_or_insert(partial.words.len());
        let rest = self.rest();
        let Some((symbol, operator)) = OPERATORS.iter().find(|(symbol, _)| rest.starts_with(symbol)) else {
            self.at += 1;
            partial.end = self.at;
            return self.unclear(Unclear::Redirection);
        };
        self.at += symbol.len();
        let target = self.target();
        partial.end = self.at;
        let Some(target) = target else { return self.unclear(Unclear::Redirection) };
        if *operator == RedirectOperator::Document {
            if !is_certain_delimiter(&self.text[target.span.clone()], &target.text) {
                self.unclear(Unclear::Document);
            }
            self.pending.push(PendingDocument {
                end: target.text.clone(),
                strips_tabs: *symbol == "<<-",
                is_literal: target.is_quoted,
                command: None,
                redirect: partial.redirects.len(),
            });
        }
        let target = target.to_word(target.span.start);
        partial.redirects.push(Redirect { operator: *operator, descriptor, target, document: None });
    }

    /// The word behind a redirection.
    fn target(&mut self) -> Option<RawWord> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        // This begins a comment.
        if self.peek() == Some('#') {
            self.unclear(Unclear::Redirection);
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
    pub(super) fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.pending) {
            let start = self.at;
            let end = self.document_end(&document);
            let body = &self.text[start..end];
            if !document.is_literal {
                // The shell joins such lines first, and then may find the end where we do not.
                if body.contains("\\\n") {
                    self.unclear(Unclear::Document);
                }
                let mut inner =
                    Lexer { text: &self.text[..end], at: start, ..Lexer::new("", self.depth + 1) };
                inner.is_nested = true;
                inner.has_spans = self.has_spans;
                inner.document_expansions();
                self.append(inner);
            }
            let body = if document.strips_tabs { without_tabs(body) } else { body.to_owned() };
            let command = document.command.and_then(|command| self.commands.get_mut(command));
            if let Some(redirect) = command.and_then(|command| command.redirects.get_mut(document.redirect)) {
                redirect.document = Some(HereDocument { body, is_literal: document.is_literal });
            }
        }
    }

    /// Moves behind the document and tells where its body ends.
    fn document_end(&mut self, document: &PendingDocument) -> usize {
        loop {
            let line_start = self.at;
            let Some(line) = self.rest().split_inclusive('\n').next() else {
                self.unclear(Unclear::Unclosed);
                return self.text.len();
            };
            self.at += line.len();
            let line = line.strip_suffix('\n').unwrap_or(line);
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line == document.end {
                return line_start;
            }
            // Inside a substitution, some shells take `EOF)` for the end.
            if self.is_nested && line.starts_with(&document.end) {
                self.unclear(Unclear::Document);
            }
        }
    }

    /// Reads text in which only expansions mean anything.
    fn document_expansions(&mut self) {
        if self.depth > super::MAX_DEPTH {
            return self.unclear(Unclear::Depth);
        }
        let mut unused = None;
        while let Some(next) = self.peek() {
            match next {
                '$' | '`' => {
                    let word = unused.get_or_insert_with(|| RawWord::new(self.at));
                    self.expansion(word, Quoting::Quoted);
                    word.text.clear();
                }
                '\\' => {
                    self.at += 1;
                    self.advance();
                }
                _ => drop(self.advance()),
            }
        }
    }
}

/// True if every shell takes the same text for the delimiter: plain characters, quoted or not.
fn is_certain_delimiter(written: &str, text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:/@%+=!^~".contains(c);
    let has_quotes = written.contains(['\'', '"']);
    let is_certain = |c: char| match c {
        '\'' | '"' => true,
        '\\' => !has_quotes,
        ' ' => has_quotes,
        c => is_plain(c),
    };
    !text.is_empty() && written.chars().all(is_certain) && text.chars().all(|c| c == ' ' || is_plain(c))
}

fn without_tabs(body: &str) -> String {
    body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
}
