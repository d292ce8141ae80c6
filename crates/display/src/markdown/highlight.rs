//! Syntax highlighting: keywords, strings, comments, numbers and keys. Works line by line, with the token left open by
//! the line before as its only state.

use super::languages::{Language, StringDelimiters, find};
use crate::style::{Style, StyledLine, Tone};

/// The token that is open at the end of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OpenToken {
    /// None.
    #[default]
    Nothing,
    /// A block comment.
    Comment,
    /// A string.
    Text(&'static StringDelimiters),
}

const KEYWORD: Style = Style::MAGENTA;
const TEXT: Style = Style::GREEN;
const NUMBER: Style = Style::YELLOW;
const KEY: Style = Style::BLUE;
const COMMENT: Style = Style { italic: true, ..Style::FAINT };
/// The style of code in an unknown language, the same as inline code.
const UNKNOWN: Style = Style { tone: Tone::Cyan, ..Style::PLAIN };

/// Highlights a line of code; `open` carries over from one line to the next.
pub(super) fn code_line(fence: &str, code: &str, open: &mut OpenToken) -> StyledLine {
    match find(fence) {
        Some(language) => Highlighter { language, code, at: 0, line: StyledLine::default() }.scan(open),
        None => StyledLine::new(code, UNKNOWN),
    }
}

struct Highlighter<'a> {
    language: &'static Language,
    code: &'a str,
    /// The number of bytes highlighted so far.
    at: usize,
    line: StyledLine,
}

impl<'a> Highlighter<'a> {
    fn scan(mut self, open: &mut OpenToken) -> StyledLine {
        match *open {
            OpenToken::Nothing => {}
            OpenToken::Comment => *open = self.comment(0),
            OpenToken::Text(quote) => *open = self.text(quote, 0),
        }
        while let Some(next) = self.rest().chars().next() {
            *open = self.piece(next);
        }
        self.line
    }

    /// Highlights the next token and returns the token it leaves open.
    fn piece(&mut self, next: char) -> OpenToken {
        let language = self.language;
        if self.begins_line_comment() {
            self.take(self.rest().len(), COMMENT);
            return OpenToken::Nothing;
        }
        if let Some((open, _)) = language.block_comment
            && self.rest().starts_with(open)
        {
            return self.comment(open.len());
        }
        if let Some(quote) = language.quotes.iter().find(|quote| self.begins(quote)) {
            return self.text(quote, quote.open.len());
        }
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let length = match next {
            _ if is_word(next) => self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len()),
            _ => next.len_utf8(),
        };
        let word = &self.rest()[..length];
        let style = match next {
            _ if self.is_key(length) => KEY,
            '0'..='9' => NUMBER,
            _ if language.keywords.contains(&word) => KEYWORD,
            _ => Style::PLAIN,
        };
        self.take(length, style);
        OpenToken::Nothing
    }

    fn begins_line_comment(&self) -> bool {
        let mark = self.language.line_comments.iter().find(|mark| self.rest().starts_with(**mark));
        // A shell's `$#` and a colour's `#fff` are not comments.
        mark.is_some_and(|mark| *mark != "#" || self.before().is_none_or(char::is_whitespace))
    }

    fn begins(&self, quote: &StringDelimiters) -> bool {
        let Some(inside) = self.rest().strip_prefix(quote.open) else { return false };
        if quote.open.starts_with('r') && self.before().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return false;
        }
        if !quote.is_character {
            return true;
        }
        let mut inside = inside.chars();
        match inside.next() {
            Some('\\') => true,
            Some(_) => inside.next() == Some('\''),
            None => false,
        }
    }

    /// Highlights a block comment whose first `begun` bytes are its opening.
    fn comment(&mut self, begun: usize) -> OpenToken {
        let close = self.language.block_comment.map_or("", |(_, close)| close);
        let end = self.rest()[begun..].find(close);
        self.take(end.map_or(self.rest().len(), |end| begun + end + close.len()), COMMENT);
        if end.is_some() { OpenToken::Nothing } else { OpenToken::Comment }
    }

    /// Highlights a string whose first `begun` bytes are its opening.
    fn text(&mut self, quote: &'static StringDelimiters, begun: usize) -> OpenToken {
        let inside = &self.rest()[begun..];
        let mut end = None;
        let mut characters = inside.char_indices();
        while let Some((place, character)) = characters.next() {
            if character == '\\' && quote.escapes {
                characters.next();
            } else if inside[place..].starts_with(quote.close) {
                end = Some(begun + place + quote.close.len());
                break;
            }
        }
        let length = end.unwrap_or(self.rest().len());
        let style = if self.is_key(length) { KEY } else { TEXT };
        self.take(length, style);
        if end.is_none() && quote.is_long { OpenToken::Text(quote) } else { OpenToken::Nothing }
    }

    /// True if the next `length` bytes are a key.
    fn is_key(&self, length: usize) -> bool {
        let Some(mark) = self.language.key_mark else { return false };
        let is_word = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        let is_quoted = self.rest().starts_with(['"', '\'']);
        let is_plain = self.rest().starts_with(|first: char| first.is_alphanumeric() || first == '_')
            // Only another part of the key, or the mark of a list item, may come before it.
            && self.code[..self.at].chars().all(|character| character.is_whitespace() || is_word(character));
        let behind = self.rest()[length..].trim_start_matches(is_word).trim_start();
        (is_quoted || is_plain) && behind.starts_with(mark)
    }

    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    fn before(&self) -> Option<char> {
        self.code[..self.at].chars().next_back()
    }

    fn take(&mut self, length: usize, style: Style) {
        self.line.push(&self.rest()[..length], style);
        self.at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the highlighted tokens, each prefixed with the letter of its kind.
    #[track_caller]
    fn check(fence: &str, code: &str, expected: &[&str]) {
        let mut open = OpenToken::default();
        let mut found = Vec::new();
        for line in code.lines() {
            let coloured = code_line(fence, line, &mut open);
            assert_eq!(coloured.text(), line.replace('\t', "    "), "nothing is lost");
            for span in coloured.spans {
                let kind = match span.style {
                    KEYWORD => "k",
                    TEXT => "t",
                    NUMBER => "n",
                    KEY => "y",
                    COMMENT => "c",
                    _ => continue,
                };
                found.push(format!("{kind}:{}", span.text));
            }
        }
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn rust_is_coloured() {
        check("rust", "let x = \"a\\\"b\"; // n", &["k:let", "t:\"a\\\"b\"", "c:// n"]);
        check("rs", "fn f<'a>(c: char) { c == 'x' || c == '\\n' }", &["k:fn", "t:'x'", "t:'\\n'"]);
        check("rust,ignore", "0x1f + 2.5 /* a\nb */ letter", &["n:0x1f", "n:2", "n:5", "c:/* a", "c:b */"]);
        check("rust", "r#\"a\"b\nc\"# + r\"\\\"", &["t:r#\"a\"b", "t:c\"#", "t:r\"\\\""]);
        check("rust", "for\"x\"", &["k:for", "t:\"x\""]);
    }

    #[test]
    fn other_languages_are_coloured() {
        check(
            "python",
            "def f(): # no\n  '''a\nb''' + 'c'",
            &["k:def", "c:# no", "t:'''a", "t:b'''", "t:'c'"],
        );
        check("TS", "const a = `x\n${1}`; // é", &["k:const", "t:`x", "t:${1}`", "c:// é"]);
        check("go", "func a() { return `\\` }", &["k:func", "k:return", "t:`\\`"]);
        check("c++", "int x = 'a'; /* b", &["k:int", "t:'a'", "c:/* b"]);
        check("java", "class A {}", &["k:class"]);
        check(
            "bash",
            "if [ $# -gt 1 ]; then echo \"a\nb\" # c",
            &["k:if", "n:1", "k:then", "k:echo", "t:\"a", "t:b\"", "c:# c"],
        );
    }

    #[test]
    fn keys_are_told_from_values() {
        check(
            "json",
            "{\"a\": \"b\", \"c\": [true, 1]}",
            &["y:\"a\"", "t:\"b\"", "y:\"c\"", "k:true", "n:1"],
        );
        check("yaml", "- name: a # b\n  url: http://x", &["y:name", "c:# b", "y:url"]);
        check("toml", "a.b = 'c'\n[x]", &["y:a", "y:b", "t:'c'"]);
    }

    #[test]
    fn whatever_is_odd_is_shown_as_it_is() {
        check("", "let x", &[]);
        check("brainfuck", "let x", &[]);
        check("rust", "\"open\n'", &["t:\"open", "t:'"]);
        check("json", "\"日本\\", &["t:\"日本\\"]);
        check("rust", "", &[]);
        for fence in ["rust", "python", "js", "go", "c", "java", "sh", "json", "toml", "yaml"] {
            let mut open = OpenToken::default();
            for line in ["'", "\"\\", "/*", "\u{1b}[2J", "é'é\"é`", "```", "r#", "#", "\\"] {
                let coloured = code_line(fence, line, &mut open);
                assert!(!coloured.text().contains('\u{1b}'), "{fence} {line:?}");
            }
        }
    }
}
