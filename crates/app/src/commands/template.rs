//! The prompt of a custom command: text with places for arguments, shell commands and files.

use longhaul_agent::CommandPiece;

/// The way a file marks its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `{{args}}`, `!{command}`, `@{file}`.
    Braces,
    /// `$ARGUMENTS`, `$1`, `` !`command` ``, `@file`.
    Dollars,
}

/// A prompt with places to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Argument(Argument),
    /// A shell command, which may hold arguments, but nothing else.
    Shell(Vec<TemplatePart>),
    File(String),
}

/// A place for what was typed behind the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// All of it; in a shell command, one word.
    Whole,
    /// All of it; in a shell command, as the words that were typed.
    Words,
    /// A word by its number, from 1.
    Numbered(usize),
}

impl Template {
    /// Reads a prompt.
    pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        let mut is_start = true;
        while let Some(first) = rest.chars().next() {
            let (part, length) = match syntax {
                Syntax::Braces => braces(rest)?,
                Syntax::Dollars => dollars(rest, is_start)?,
            }
            .unwrap_or_else(|| (TemplatePart::Text(first.to_string()), first.len_utf8()));
            is_start = first.is_whitespace() || "([\"'".contains(first);
            rest = &rest[length..];
            push(&mut parts, part);
        }
        Ok(Self { parts })
    }

    /// The pieces with these arguments in their places.
    pub(super) fn fill(&self, arguments: &str) -> Vec<CommandPiece> {
        let words = split_words(arguments);
        let mut pieces: Vec<CommandPiece> = Vec::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => push_text(&mut pieces, text),
                TemplatePart::Argument(argument) => {
                    push_text(&mut pieces, &argument.text(arguments, &words));
                }
                TemplatePart::Shell(parts) => {
                    let line = parts.iter().map(|part| match part {
                        TemplatePart::Argument(argument) => argument.quoted(arguments, &words),
                        TemplatePart::Text(text) => text.clone(),
                        TemplatePart::Shell(_) | TemplatePart::File(_) => String::new(),
                    });
                    pieces.push(CommandPiece::Shell(line.collect::<String>().trim().to_string()));
                }
                TemplatePart::File(name) => pieces.push(CommandPiece::File(name.clone())),
            }
        }
        pieces
    }
}

impl Argument {
    fn text(self, all: &str, words: &[String]) -> String {
        match self {
            Self::Whole | Self::Words => all.trim().to_string(),
            Self::Numbered(number) => words.get(number - 1).cloned().unwrap_or_default(),
        }
    }

    /// The same for a shell, which takes no part of it for more than text.
    fn quoted(self, all: &str, words: &[String]) -> String {
        match self {
            Self::Whole if all.trim().is_empty() => String::new(),
            Self::Whole => quote(all.trim()),
            Self::Words => words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
            Self::Numbered(number) => words.get(number - 1).map(|word| quote(word)).unwrap_or_default(),
        }
    }
}

/// A text as one word of a shell command.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The words of a text; quotes hold a word together.
fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_word, mut quoted) = (Vec::new(), String::new(), false, None);
    for letter in text.chars() {
        match (letter, quoted) {
            (letter, Some(mark)) if letter == mark => quoted = None,
            (letter, Some(_)) => word.push(letter),
            // An apostrophe inside a word is no quote.
            ('"' | '\'', None) if !is_word => (quoted, is_word) = (Some(letter), true),
            (letter, None) if letter.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (letter, None) => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    words.extend(is_word.then_some(word));
    words
}

/// The part at the start of a text in braces, with its length.
fn braces(text: &str) -> Result<Option<(TemplatePart, usize)>, String> {
    const ARGUMENTS: &str = "{{args}}";
    if text.starts_with(ARGUMENTS) {
        return Ok(Some((TemplatePart::Argument(Argument::Whole), ARGUMENTS.len())));
    }
    let Some(mark) = ["!{", "@{"].into_iter().find(|mark| text.starts_with(mark)) else { return Ok(None) };
    let inner = &text[mark.len()..];
    let end = closing_brace(inner).ok_or_else(|| format!("{mark} has no closing }}"))?;
    let (content, length) = (&inner[..end], mark.len() + end + 1);
    let part = match mark {
        "!{" => {
            let mut parts = Vec::new();
            for (at, piece) in content.split(ARGUMENTS).enumerate() {
                if at > 0 {
                    parts.push(TemplatePart::Argument(Argument::Whole));
                }
                push(&mut parts, TemplatePart::Text(piece.to_string()));
            }
            TemplatePart::Shell(parts)
        }
        _ => TemplatePart::File(content.trim().to_string()),
    };
    match content.trim().is_empty() {
        true => Err(format!("{mark}}} is empty")),
        false => Ok(Some((part, length))),
    }
}

/// The place of the brace that closes one; braces inside are in pairs.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The part at the start of a text with dollars, with its length.
fn dollars(text: &str, is_start: bool) -> Result<Option<(TemplatePart, usize)>, String> {
    if let Some((argument, length)) = dollar_argument(text) {
        return Ok(Some((TemplatePart::Argument(argument), length)));
    }
    if let Some(inner) = text.strip_prefix("!`") {
        let end = inner.find('`').ok_or("!` has no closing `")?;
        let mut parts = Vec::new();
        let mut rest = &inner[..end];
        if rest.trim().is_empty() {
            return Err("!`` is empty".to_string());
        }
        while let Some(first) = rest.chars().next() {
            let (part, length) = match dollar_argument(rest) {
                Some((argument, length)) => (TemplatePart::Argument(argument), length),
                None => (TemplatePart::Text(first.to_string()), first.len_utf8()),
            };
            push(&mut parts, part);
            rest = &rest[length..];
        }
        return Ok(Some((TemplatePart::Shell(parts), end + 3)));
    }
    let Some(name) = text.strip_prefix('@').filter(|_| is_start) else { return Ok(None) };
    let end = name.find(|c: char| c.is_whitespace() || ")]\"'`<>,;".contains(c)).unwrap_or(name.len());
    let name = name[..end].trim_end_matches(['.', ':', '?', '!']);
    // A name without a dot or a slash is more likely a person or an annotation.
    Ok(name.contains(['/', '.']).then(|| (TemplatePart::File(name.to_string()), name.len() + 1)))
}

fn dollar_argument(text: &str) -> Option<(Argument, usize)> {
    const ARGUMENTS: &str = "$ARGUMENTS";
    if text.starts_with(ARGUMENTS) {
        return Some((Argument::Words, ARGUMENTS.len()));
    }
    let digits: &str = text.strip_prefix('$')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: usize = digits[..end].parse().ok().filter(|number| (1..=99).contains(number))?;
    Some((Argument::Numbered(number), end + 1))
}

/// Appends a part; texts are joined.
fn push(parts: &mut Vec<TemplatePart>, part: TemplatePart) {
    match (parts.last_mut(), part) {
        (Some(TemplatePart::Text(last)), TemplatePart::Text(text)) => last.push_str(&text),
        (_, TemplatePart::Text(text)) if text.is_empty() => {}
        (_, part) => parts.push(part),
    }
}

/// Appends text; texts are joined.
fn push_text(pieces: &mut Vec<CommandPiece>, text: &str) {
    match pieces.last_mut() {
        Some(CommandPiece::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(CommandPiece::Text(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces as text: `<shell>`, `[file]`.
    #[track_caller]
    fn check(syntax: Syntax, text: &str, arguments: &str, expected: &str) {
        let pieces = Template::parse(text, syntax).expect("a template").fill(arguments);
        let shown: String = pieces
            .into_iter()
            .map(|piece| match piece {
                CommandPiece::Text(text) => text,
                CommandPiece::Shell(line) => format!("<{line}>"),
                CommandPiece::File(name) => format!("[{name}]"),
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn braces_mark_arguments_commands_and_files() {
        let check = |text, arguments, expected| check(Syntax::Braces, text, arguments, expected);
        check("Fix {{args}} now", "the bug", "Fix the bug now");
        check("Fix {{args}}", "", "Fix ");
        check("See !{git diff --staged}!", "", "See <git diff --staged>!");
        check("!{grep -r {{args}} .}", "it's here", r"<grep -r 'it'\''s here' .>");
        check("!{ls {{args}}}", "", "<ls>");
        check("!{awk '{print $1}' a}", "", "<awk '{print $1}' a>");
        check("@{docs/my notes.md} {x} $1", "a", "[docs/my notes.md] {x} $1");
        check("a", "typed", "a");
    }

    #[test]
    fn dollars_mark_arguments_commands_and_files() {
        let check = |text, arguments, expected| check(Syntax::Dollars, text, arguments, expected);
        check("Fix $ARGUMENTS.", "a b", "Fix a b.");
        check("Fix #$1 for $2: $3.", "7 \"the team\"", "Fix #7 for the team: .");
        check("!`git add $ARGUMENTS`", "a 'b c'", "<git add 'a' 'b c'>");
        check("!`echo $1 $HOME`", "$(rm -rf ~)", "<echo '$(rm' $HOME>");
        check("Read @src/lib.rs, @alice and me@home.org.", "", "Read [src/lib.rs], @alice and me@home.org.");
        check("$0 $100 $ $x {{args}}", "a", "$0 $100 $ $x {{args}}");
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(split_words("a \"b c\"  'd' it's \"\""), ["a", "b c", "d", "it's", ""]);
        assert_eq!(split_words("\"open end"), ["open end"]);
        assert_eq!(split_words(" "), [""; 0]);
    }

    #[test]
    fn what_is_not_closed_is_refused() {
        for (syntax, text, expected) in [
            (Syntax::Braces, "!{a", "!{ has no closing }"),
            (Syntax::Braces, "@{a", "@{ has no closing }"),
            (Syntax::Braces, "!{ }", "!{} is empty"),
            (Syntax::Dollars, "!`a", "!` has no closing `"),
        ] {
            assert_eq!(Template::parse(text, syntax), Err(expected.to_string()), "{text}");
        }
    }
}
