//! Rendering of Markdown to styled lines.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::highlight::{self, OpenToken};
use super::options;
use super::table::MarkdownTable;
use crate::diff;
use crate::style::{Style, StyledLine};

/// Renders a text, with blank lines between blocks.
pub fn render(text: &str, width: usize) -> Vec<StyledLine> {
    render_from(text, width, &mut OpenToken::default())
}

/// Like [`render`], for a text that may begin inside a code block; `open` carries the open token in and out.
pub(super) fn render_from(text: &str, width: usize, open: &mut OpenToken) -> Vec<StyledLine> {
    let mut writer = MarkdownWriter { width: width.max(10), open: *open, ..MarkdownWriter::default() };
    for event in Parser::new_ext(text, options()) {
        writer.take(event);
    }
    writer.flush();
    *open = writer.open;
    writer.lines
}

#[derive(Debug, Default)]
struct MarkdownWriter {
    width: usize,
    lines: Vec<StyledLine>,
    /// The paragraph, heading or item being written.
    line: StyledLine,
    style: Style,
    styles: Vec<Style>,
    /// The margins of the enclosing blocks.
    margins: Vec<Margin>,
    /// The next number of each enclosing list; none for bullets.
    lists: Vec<Option<u64>>,
    code: Option<Code>,
    /// The open token at the start of the next code block, and at the end of the last one.
    open: OpenToken,
    table: Option<MarkdownTable>,
    link: Option<String>,
    /// True if a blank line separates the next block from the one before.
    needs_gap: bool,
}

#[derive(Debug)]
struct Margin {
    /// The margin of the first line, until that is written.
    first: Option<(String, Style)>,
    rest: (String, Style),
}

#[derive(Debug)]
struct Code {
    language: String,
    text: String,
}

impl MarkdownWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.push(&text, Style { tone: crate::style::Tone::Cyan, ..self.style }),
            // People read what a model wrote in lines as lines: a list without marks, an address, a verse.
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.room().min(40));
                self.emit(StyledLine::new(rule, Style::FAINT));
                self.needs_gap = true;
            }
            Event::TaskListMarker(is_done) => {
                self.push(if is_done { "☑ " } else { "☐ " }, self.style);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.enter(Style { bold: true, ..self.style });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let margin = ("│ ".to_string(), Style::FAINT);
                self.margins.push(Margin { first: None, rest: margin });
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                if !self.lines.is_empty() {
                    self.open = OpenToken::default();
                }
                self.code = Some(Code { language, text: String::new() });
            }
            Tag::List(number) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(number);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_string(),
                };
                let rest = (" ".repeat(mark.chars().count()), Style::PLAIN);
                self.margins.push(Margin { first: Some((mark, Style::CYAN)), rest });
                self.needs_gap = false;
            }
            Tag::Emphasis => self.enter(Style { italic: true, ..self.style }),
            Tag::Strong => self.enter(Style { bold: true, ..self.style }),
            Tag::Strikethrough => self.enter(Style { struck: true, ..self.style }),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Image { dest_url, .. } => self.link = Some(dest_url.to_string()),
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(MarkdownTable::new(&alignments));
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(MarkdownTable::begin_row),
            Tag::TableCell => self.line = StyledLine::default(),
            Tag::HtmlBlock => self.gap(),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.leave();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.needs_gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An empty item still shows its bullet.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    self.emit(StyledLine::default());
                }
                self.margins.pop();
                self.needs_gap = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.leave(),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.lines(self.room()).into_iter().for_each(|line| self.emit(line));
                }
                self.needs_gap = true;
            }
            _ => {}
        }
    }

    fn enter(&mut self, style: Style) {
        self.styles.push(self.style);
        self.style = style;
    }

    fn leave(&mut self) {
        self.style = self.styles.pop().unwrap_or_default();
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(text),
            None => self.push(text, self.style),
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.line.push(text, style);
    }

    /// Appends the address of a link, unless its text is the address.
    fn end_link(&mut self) {
        let Some(address) = self.link.take() else { return };
        if !address.is_empty() && !self.line.text().contains(&address) {
            self.push(&format!(" ({address})"), Style::FAINT);
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.needs_gap = true;
    }

    fn end_code(&mut self) {
        let Some(Code { language, text }) = self.code.take() else { return };
        let is_diff = matches!(language.trim(), "diff" | "patch");
        let room = self.room().saturating_sub(2).max(8);
        for line in text.lines() {
            let line = match is_diff {
                true => diff::line(line),
                false => highlight::code_line(&language, line, &mut self.open),
            };
            for piece in pieces(&line, room) {
                let is_empty = piece.spans.is_empty();
                self.emit(if is_empty { piece } else { piece.prefixed("  ", Style::PLAIN) });
            }
        }
        self.needs_gap = true;
    }

    /// Separates the next block with a blank line if needed.
    fn gap(&mut self) {
        self.flush();
        if std::mem::take(&mut self.needs_gap) && !self.lines.is_empty() {
            self.emit(StyledLine::default());
        }
    }

    fn room(&self) -> usize {
        let margins: usize = self.margins.iter().map(|margin| crate::text::columns(&margin.rest.0)).sum();
        self.width.saturating_sub(margins).max(8)
    }

    /// Wraps and emits the current line.
    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        line.wrap(self.room(), 0).into_iter().for_each(|line| self.emit(line));
    }

    /// Emits a line with the margins of the enclosing blocks.
    fn emit(&mut self, line: StyledLine) {
        let mut whole = StyledLine::default();
        for margin in &mut self.margins {
            let (text, style) = margin.first.take().unwrap_or_else(|| margin.rest.clone());
            whole.push(&text, style);
        }
        if line.spans.is_empty() {
            // A line of spaces is blank.
            whole.spans.retain(|span| !span.text.trim().is_empty());
            whole.spans.iter_mut().for_each(|span| span.text.truncate(span.text.trim_end().len()));
        }
        whole.spans.extend(line.spans);
        self.lines.push(whole);
    }
}

/// Splits a line of code into pieces of `width` columns, without regard to words.
fn pieces(line: &StyledLine, width: usize) -> Vec<StyledLine> {
    let mut pieces = vec![StyledLine::default()];
    let mut used = 0;
    for span in &line.spans {
        for character in span.text.chars() {
            let wide = crate::text::char_width(character);
            if used + wide > width && used > 0 {
                pieces.push(StyledLine::default());
                used = 0;
            }
            used += wide;
            let piece = pieces.last_mut().expect("there is one from the start");
            match piece.spans.last_mut() {
                Some(last) if last.style == span.style => last.text.push(character),
                _ => piece.spans.push(crate::style::Span { text: character.to_string(), style: span.style }),
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &[&str]) {
        let lines: Vec<String> = render(text, width).iter().map(StyledLine::text).collect();
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| crate::text::columns(line) <= width.max(10)), "{lines:?}");
    }

    #[test]
    fn blocks_have_their_shape() {
        check("A *b* **c** `d`", 40, &["A b c d"]);
        check("one\ntwo *three\nfour*", 40, &["one", "two three", "four"]);
        check("- one\n  two\n- three", 40, &["• one", "  two", "• three"]);
        check("> one\n> two", 40, &["│ one", "│ two"]);
        check("> quoted words here\n\nplain", 14, &["│ quoted words", "│ here", "", "plain"]);
        check("- one two three four\n- b", 12, &["• one two", "  three four", "• b"]);
        check("- [x] done\n- [ ] open", 40, &["• ☑ done", "• ☐ open"]);
        check("[docs](https://x.y)", 40, &["docs (https://x.y)"]);
        check("<https://x.y>", 40, &["https://x.y"]);
        check("a\n\n---\n\nb", 10, &["a", "", "──────────", "", "b"]);
        check("-\n- b", 40, &["•", "• b"]);
    }

    #[test]
    fn code_keeps_its_spaces() {
        check("```\n  a   b\n```", 40, &["    a   b"]);
        check("```\n0123456789abcdef\n```", 12, &["  0123456789", "  abcdef"]);
    }

    #[test]
    fn tables_are_aligned() {
        let table = "| name | n |\n|:--|--:|\n| a | 1 |\n| long name | 22 |\n";
        check(table, 40, &["name        n", "─────────  ──", "a           1", "long name  22"]);
        check(table, 12, &["name       n", "────────  ──", "a          1", "long      22", "name"]);
    }

    #[test]
    fn whatever_it_says_it_cannot_touch_the_terminal() {
        for text in ["\u{1b}[2J", "`\u{1b}[2J`", "```\n\u{1b}[2J\n```", "|a|\n|-|\n|\u{1b}[2J|", "<b\u{1b}>"]
        {
            for line in render(text, 40) {
                assert!(!line.text().contains('\u{1b}'), "{text:?}");
            }
        }
    }
}
