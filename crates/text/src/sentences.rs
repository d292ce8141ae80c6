//! Splits text that a person or a model wrote into sentences, list items and blocks, verbatim.

use std::ops::Range;
use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::cjk::is_wide;
use crate::data::data_lines;

/// A piece of a text that can be quoted alone: a sentence, a list item, a heading or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit<'t> {
    /// The words exactly as they stand in the text, without list marker and heading signs.
    pub text: &'t str,
    /// The byte at which they begin in the text.
    pub start: usize,
    /// Their kind.
    pub kind: UnitKind,
}

/// The kind of a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A sentence, or a line that stands for one.
    Sentence,
    /// A list item, with its number if it has one.
    Item {
        /// The number it is listed under.
        number: Option<u32>,
    },
    /// A Markdown heading.
    Heading,
    /// A fenced block of code, fences included.
    Code,
    /// Lines quoted with `>`.
    Quote,
    /// A row of a table.
    Row,
}

impl Unit<'_> {
    /// Its byte range in the text.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// Splits `text` into units, in order and without overlap; white space and list markers lie between them.
///
/// Sentences end at `.`, `!`, `?` and their full-width forms, but not inside code, addresses, paths, version numbers
/// and abbreviations. A line break ends a sentence unless the line was evidently wrapped.
pub fn split_units(text: &str) -> Vec<Unit<'_>> {
    Splitter { text, units: Vec::new(), open: None }.split()
}

/// A block that the next line may belong to.
struct Open {
    kind: Block,
    range: Range<usize>,
    /// The start of its last line.
    last_line: usize,
}

enum Block {
    Paragraph,
    Item { number: Option<u32>, indent: usize },
    Quote,
    Fence { sign: u8, length: usize },
}

struct Splitter<'t> {
    text: &'t str,
    units: Vec<Unit<'t>>,
    open: Option<Open>,
}

impl<'t> Splitter<'t> {
    fn split(mut self) -> Vec<Unit<'t>> {
        let mut start = 0;
        while start < self.text.len() {
            let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
            self.line(start, end);
            start = end + 1;
        }
        self.close();
        self.units
    }

    fn line(&mut self, start: usize, end: usize) {
        let line = self.text[start..end].trim_end();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let (content_start, end) = (start + indent, start + line.len());
        if let Some(Open { kind: Block::Fence { sign, length }, range, .. }) = &mut self.open {
            range.end = end.max(range.end);
            if closes_fence(content, *sign, *length) {
                self.close();
            }
        } else if content.is_empty() {
            self.close();
        } else if let Some((sign, length)) = opens_fence(content) {
            self.begin(Block::Fence { sign, length }, content_start, end);
        } else if let Some(signs) = heading_signs(content) {
            self.close();
            self.push(content_start + signs..end, UnitKind::Heading);
        } else if content.starts_with('>') {
            match &mut self.open {
                Some(Open { kind: Block::Quote, range, .. }) => range.end = end,
                _ => self.begin(Block::Quote, content_start, end),
            }
        } else if content.starts_with('|') && content.len() > 1 && content.ends_with('|') {
            self.close();
            self.push(content_start..end, UnitKind::Row);
        } else if let Some(marker) = list_marker(content) {
            let kind = Block::Item { number: marker.number, indent };
            self.begin(kind, content_start + marker.length, end);
        } else if self.goes_on(content, indent) {
            if let Some(open) = &mut self.open {
                open.range.end = end;
                open.last_line = content_start;
            }
        } else {
            self.begin(Block::Paragraph, content_start, end);
        }
    }

    fn begin(&mut self, kind: Block, start: usize, end: usize) {
        self.close();
        self.open = Some(Open { kind, range: start..end.max(start), last_line: start });
    }

    /// Returns true if a plain line continues the open block.
    fn goes_on(&self, content: &str, indent: usize) -> bool {
        match &self.open {
            Some(Open { kind: Block::Item { indent: marker, .. }, .. }) if indent > *marker => true,
            Some(Open { kind: Block::Item { .. } | Block::Paragraph, range, last_line }) => {
                was_wrapped(&self.text[*last_line..range.end], content)
            }
            _ => false,
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        match open.kind {
            Block::Paragraph => self.sentences(open.range),
            Block::Item { number, .. } => self.push(open.range, UnitKind::Item { number }),
            Block::Quote => self.push(open.range, UnitKind::Quote),
            Block::Fence { .. } => self.push(open.range, UnitKind::Code),
        }
    }

    fn sentences(&mut self, range: Range<usize>) {
        let paragraph = &self.text[range.clone()];
        let mut start = 0;
        while start < paragraph.len() {
            let end = start + sentence_length(&paragraph[start..]);
            self.push(range.start + start..range.start + end, UnitKind::Sentence);
            start = end;
        }
    }

    fn push(&mut self, range: Range<usize>, kind: UnitKind) {
        let rest = self.text[range.clone()].trim_start();
        let text = rest.trim();
        if !text.is_empty() {
            self.units.push(Unit { text, start: range.end - rest.len(), kind });
        }
    }
}

fn opens_fence(content: &str) -> Option<(u8, usize)> {
    let sign = *content.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = run_length(content.as_bytes(), sign);
    let is_fence = length >= 3 && (sign == b'~' || !content[length..].contains('`'));
    is_fence.then_some((sign, length))
}

fn closes_fence(content: &str, sign: u8, length: usize) -> bool {
    let run = run_length(content.as_bytes(), sign);
    run >= length && run == content.len()
}

/// The length of the `#` and white space that a heading begins with.
fn heading_signs(content: &str) -> Option<usize> {
    let signs = run_length(content.as_bytes(), b'#');
    ((1..=6).contains(&signs) && content[signs..].starts_with([' ', '\t'])).then_some(signs)
}

fn run_length(bytes: &[u8], sign: u8) -> usize {
    bytes.iter().take_while(|byte| **byte == sign).count()
}

struct Marker {
    length: usize,
    number: Option<u32>,
}

/// The bullet or number that a list item begins with, and its checkbox.
fn list_marker(content: &str) -> Option<Marker> {
    let first = content.chars().next()?;
    let mut marker = match first {
        '-' | '*' | '+' | '–' => content[first.len_utf8()..]
            .starts_with([' ', '\t'])
            .then_some(Marker { length: first.len_utf8(), number: None })?,
        '•' | '‣' | '◦' | '・' | '●' => Marker { length: first.len_utf8(), number: None },
        '①'..='⑳' => Marker { length: first.len_utf8(), number: Some(first as u32 - '①' as u32 + 1) },
        '0'..='9' | '(' | '（' | 'a'..='h' => numbered(content)?,
        _ => return None,
    };
    let rest = &content[marker.length..];
    let spaces = rest.len() - rest.trim_start().len();
    if let [b'[', b' ' | b'x' | b'X', b']', ..] = &rest.as_bytes()[spaces..] {
        marker.length += spaces + 3;
    }
    Some(marker)
}

/// `1.`, `1)`, `(1)`, `a)` before white space, or `1、`, `1）` and `（1）`.
fn numbered(content: &str) -> Option<Marker> {
    let opened = if content.starts_with('(') {
        1
    } else if content.starts_with('（') {
        '（'.len_utf8()
    } else {
        0
    };
    let digits = content[opened..].bytes().take_while(u8::is_ascii_digit).count();
    let label = if digits > 0 { digits } else { 1 };
    if digits > 3 {
        return None;
    }
    let number = content.get(opened..opened + digits)?.parse().ok();
    let sign = content.get(opened + label..)?.chars().next()?;
    let length = opened + label + sign.len_utf8();
    let spaced = content[length..].starts_with([' ', '\t']);
    let is_marker = match sign {
        '.' => opened == 0 && digits > 0 && spaced,
        ')' => spaced && (digits > 0 || opened == 0),
        '、' | '．' => opened == 0 && digits > 0,
        '）' => digits > 0,
        _ => false,
    };
    is_marker.then_some(Marker { length, number })
}

/// Words that no sentence ends with.
#[rustfmt::skip]
const UNFINISHED: &[&str] = &[
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "my", "of", "on", "or", "our",
    "than", "that", "the", "their", "to", "with", "your",
];

/// Lines of at least this many characters may have been wrapped by an editor.
const WRAPPED_FROM: usize = 40;

/// The same where a line begins with a small letter.
const CASUAL_WRAPPED_FROM: usize = 66;

/// Returns true if `next` continues the sentence of `line`.
fn was_wrapped(line: &str, next: &str) -> bool {
    let Some(last) = line.chars().next_back() else { return false };
    if matches!(last, ',' | '，' | '、') {
        return true;
    }
    if matches!(last, '.' | '!' | '?' | ':' | ';' | '。' | '！' | '？' | '：' | '；') {
        return matches!(last, '.' | '!' | '?') && line.len() >= WRAPPED_FROM && starts_like_prose(next);
    }
    let last_word = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    // Who begins without a capital hardly wraps lines: a small letter does not show that a sentence goes on.
    let wrapped_from = if line.starts_with(char::is_lowercase) { CASUAL_WRAPPED_FROM } else { WRAPPED_FROM };
    line.len() >= wrapped_from && next.starts_with(char::is_lowercase)
        || UNFINISHED.iter().any(|word| word.eq_ignore_ascii_case(last_word))
}

/// Returns true if a line begins with a word, as opposed to a path, a prompt or a label.
fn starts_like_prose(line: &str) -> bool {
    let word = line.split(char::is_whitespace).next().unwrap_or_default();
    word.len() < line.len() && word.chars().all(char::is_alphabetic)
}

/// The length of the first sentence of a paragraph, in bytes.
fn sentence_length(paragraph: &str) -> usize {
    let bytes = paragraph.as_bytes();
    let may_end = |byte: &u8| matches!(byte, b'`' | b'.' | b'!' | b'?') || !byte.is_ascii();
    let mut at = 0;
    while let Some(length) = bytes[at..].iter().position(may_end) {
        at += length;
        at = match bytes[at] {
            b'`' => after_code(paragraph, at),
            b'.' | b'!' | b'?' => {
                let run =
                    at + bytes[at..].iter().take_while(|byte| matches!(byte, b'.' | b'!' | b'?')).count();
                let end = after_closers(paragraph, run);
                if ends_sentence(paragraph, at, run, end) {
                    return end;
                }
                end
            }
            _ => {
                let Some(sign) = paragraph[at..].chars().next() else { break };
                let next = at + sign.len_utf8();
                match wide_end(paragraph, sign, next) {
                    Some(end) => return end,
                    None => next,
                }
            }
        };
    }
    paragraph.len()
}

/// The end of inline code that opens at `at`; just behind the backticks if nothing closes it.
fn after_code(paragraph: &str, at: usize) -> usize {
    let bytes = paragraph.as_bytes();
    let length = run_length(&bytes[at..], b'`');
    let mut next = at + length;
    while let Some(found) = paragraph[next..].find('`') {
        let run = run_length(&bytes[next + found..], b'`');
        next += found + run;
        if run == length {
            return next;
        }
    }
    at + length
}

/// Skips quotes, brackets and emphasis that close behind the end of a sentence.
fn after_closers(text: &str, at: usize) -> usize {
    // Mostly there is nothing to skip.
    if text.as_bytes().get(at) == Some(&b' ') {
        return at;
    }
    let closers = |c: char| {
        matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '”' | '’' | '»' | '」' | '』' | '）' | '】')
    };
    at + text[at..].chars().take_while(|c| closers(*c)).map(char::len_utf8).sum::<usize>()
}

/// Returns true if the signs from `at` to `run`, with closers up to `end`, end a sentence.
fn ends_sentence(text: &str, at: usize, run: usize, end: usize) -> bool {
    let rest = &text[end..];
    let Some(next) = rest.chars().next() else { return true };
    if !next.is_whitespace() {
        // Chinese and Japanese are often typed with half-width signs and no space behind them.
        return &text[at..run] != "." && is_wide(next);
    }
    let follower = rest.trim_start().chars().next();
    let lower = follower.is_some_and(char::is_lowercase);
    if lower && (end > run || text[at..run].starts_with("..")) {
        return false;
    }
    &text[at..run] != "." || !is_abbreviation(&text[..at], lower)
}

/// Abbreviations, in lower case and without their last dot; whether one also ends sentences.
static ABBREVIATIONS: LazyLock<HashMap<&'static str, bool>> = LazyLock::new(|| {
    let lines = data_lines(include_str!("../data/abbreviations.txt"));
    lines.map(|line| line.strip_suffix('.').map_or((line, false), |known| (known, true))).collect()
});

fn is_abbreviation(before: &str, lower_follows: bool) -> bool {
    let word = last_word(before);
    let known = ABBREVIATIONS.get(word.to_ascii_lowercase().as_str());
    let initial = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()) && word != "I";
    let stands_alone = || word.len() == before.trim_start().len();
    let bare_number = word.bytes().all(|byte| byte.is_ascii_digit()) && stands_alone();
    // "No." abbreviates a number and also answers a question.
    let answer = word.eq_ignore_ascii_case("no") && stands_alone();
    // Only a small letter shows that a sentence goes on behind an abbreviation that also ends sentences.
    let goes_on = |may_end: &bool| !may_end || lower_follows;
    !answer && (initial || bare_number || known.is_some_and(goes_on))
}

/// The text behind the last white space, opening bracket, quotation mark or comma.
fn last_word(text: &str) -> &str {
    let is_outside = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | ',');
    text.rsplit(is_outside).next().unwrap_or_default()
}

/// The end of the sentence, if the full-width `sign` before `next` ends one.
fn wide_end(text: &str, sign: char, next: usize) -> Option<usize> {
    let is_end = |c: char| matches!(c, '。' | '！' | '？' | '｡' | '．');
    if !is_end(sign) {
        return None;
    }
    let follower = text[next..].chars().next();
    if sign == '．' && follower.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let run = next
        + text[next..]
            .chars()
            .take_while(|c| is_end(*c) || matches!(c, '!' | '?'))
            .map(char::len_utf8)
            .sum::<usize>();
    let end = after_closers(text, run);
    // 「はい。」と言った: the quotation has ended, the sentence has not.
    let goes_on =
        end > run && text[end..].chars().next().is_some_and(|c| is_hiragana(c) || c == '，' || c == '、');
    (!goes_on).then_some(end)
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let units = split_units(text).into_iter();
        units
            .map(|unit| match unit.kind {
                UnitKind::Sentence => unit.text.to_string(),
                UnitKind::Item { number: None } => format!("- {}", unit.text),
                UnitKind::Item { number: Some(number) } => format!("{number}) {}", unit.text),
                UnitKind::Heading => format!("# {}", unit.text),
                UnitKind::Code => format!("code {}", unit.text),
                UnitKind::Quote => format!("quote {}", unit.text),
                UnitKind::Row => format!("row {}", unit.text),
            })
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn sentences_end_where_they_end() {
        check("", &[]);
        check(" \n\n ", &[]);
        check("One", &["One"]);
        check("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]);
        check("ok. uh. no. the ci is running", &["ok.", "uh.", "no.", "the ci is running"]);
        check("Really?! Yes.", &["Really?!", "Yes."]);
        check("He said \"stop.\" Then he left.", &["He said \"stop.\"", "Then he left."]);
        check(
            "An option (the default?) to take care of it.",
            &["An option (the default?) to take care of it."],
        );
        check("Wait ... please. Wait... No.", &["Wait ... please.", "Wait...", "No."]);
    }

    #[test]
    fn dots_inside_words_do_not_end_sentences() {
        check("Edit src/a.rs and b.ts. Done.", &["Edit src/a.rs and b.ts.", "Done."]);
        check("Use v1.2.3, not 2.0. Ok?", &["Use v1.2.3, not 2.0.", "Ok?"]);
        check("See https://a.b/c?d=e.f. Then go.", &["See https://a.b/c?d=e.f.", "Then go."]);
        check("Use a linter, e.g. Clippy, i.e. now.", &["Use a linter, e.g. Clippy, i.e. now."]);
        check(
            "Logs, dumps, etc. go there. Logs etc. Then",
            &["Logs, dumps, etc. go there.", "Logs etc.", "Then"],
        );
        check("Ask J. Smith. He knows.", &["Ask J. Smith.", "He knows."]);
        check("Siehe z.B. Seite 3. Gut.", &["Siehe z.B. Seite 3.", "Gut."]);
    }

    #[test]
    fn chinese_and_japanese_sentences() {
        check("推送。阅读模板，创建pr", &["推送。", "阅读模板，创建pr"]);
        check("真的吗？！好的。", &["真的吗？！", "好的。"]);
        check("必ず日本語で。「はい。」と言った。次", &["必ず日本語で。", "「はい。」と言った。", "次"]);
        check("不要用npm!用pnpm", &["不要用npm!", "用pnpm"]);
        check("版本是1．2．终于", &["版本是1．2．终于"]);
        check("（完了。）次へ。", &["（完了。）", "次へ。"]);
    }

    #[test]
    fn lists_headings_and_blocks() {
        check(
            "# Plan\n1. One. Two.\n2) Three\n- four\n* [x] five",
            &["# Plan", "1) One. Two.", "2) Three", "- four", "- five"],
        );
        check("• 一\n・二\n① 三\n4、四\n（5）五", &["- 一", "- 二", "1) 三", "4) 四", "5) 五"]);
        check("- an item\n  goes on\n- next\n\nText.", &["- an item\n  goes on", "- next", "Text."]);
        check("a\n```rust\nlet a. = 1;\n\n- x\n```\nb", &["a", "code ```rust\nlet a. = 1;\n\n- x\n```", "b"]);
        check("~~~\nnever closed. \n", &["code ~~~\nnever closed."]);
        check("> one\n> two\n\nthree", &["quote > one\n> two", "three"]);
        check("| a | b |\n|---|---|\nc", &["row | a | b |", "row |---|---|", "c"]);
        check("#hash and\n-flag and 3.5 things", &["#hash and\n-flag and 3.5 things"]);
        check("2024. was a year\n-1 is less", &["2024. was a year", "-1 is less"]);
    }

    #[test]
    fn inline_code_stays_whole() {
        check("Run `a. B! c` now. Then ``x ` y. Z`` go.", &["Run `a. B! c` now.", "Then ``x ` y. Z`` go."]);
        check("An open ` tick. Then more.", &["An open ` tick.", "Then more."]);
        check("```inline``` text. More.", &["```inline``` text.", "More."]);
    }

    #[test]
    fn wrapped_lines_are_joined_and_others_are_not() {
        check("green is 1\nred is 2", &["green is 1", "red is 2"]);
        let wrapped = "This line was wrapped by some editor at a column\nand goes on here. End.";
        check(wrapped, &["This line was wrapped by some editor at a column\nand goes on here.", "End."]);
        check(
            "Please use the\nTypeScript compiler.\r\nNow.",
            &["Please use the\nTypeScript compiler.", "Now."],
        );
    }

    proptest! {
        #[test]
        fn units_are_verbatim_ordered_and_lose_no_letter(
            text in "([x-z.!?。！「」（）`~#>|*\\-1-3 \n\t,é]|e\\.g\\. |```|\r\n){0,80}"
        ) {
            let has_letter = |text: &str| text.contains(char::is_alphabetic);
            let mut from = 0;
            for unit in split_units(&text) {
                prop_assert_eq!(&text[unit.range()], unit.text);
                prop_assert!(unit.start >= from && !unit.text.is_empty());
                prop_assert!(!has_letter(&text[from..unit.start]));
                from = unit.range().end;
            }
            prop_assert!(!has_letter(&text[from..]));
        }

        #[test]
        fn any_text_can_be_split(text in any::<String>()) {
            for unit in split_units(&text) {
                prop_assert_eq!(&text[unit.range()], unit.text);
            }
        }
    }
}
