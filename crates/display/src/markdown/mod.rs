//! Streaming Markdown: finished blocks become permanent lines, the open end is rendered again and again.

mod highlight;
mod languages;
mod render;
mod table;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use self::highlight::OpenToken;
use self::render::render_from;
use crate::style::StyledLine;

pub use render::render;

/// The Markdown extensions that models use.
fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A Markdown text that is still arriving.
#[derive(Clone, Debug, Default)]
pub struct StreamingMarkdown {
    /// The text that is not printed yet.
    open: String,
    /// True once a block was printed, which separates the next one with a blank line.
    has_begun: bool,
    /// True if the open end continues a block whose first lines were printed.
    is_continued: bool,
    /// The token left open by the printed lines of code.
    code: OpenToken,
}

/// The last block of a text, of which some lines can be printed before it ends.
struct LastBlock {
    /// Its start.
    start: usize,
    /// The start of its printable part: the content of a code block or the last item of a list.
    inner: Option<OpenBlock>,
}

enum OpenBlock {
    Code { from: usize },
    Item { from: usize },
}

impl StreamingMarkdown {
    /// Appends a piece of text.
    pub fn push(&mut self, text: &str) {
        self.open.push_str(text);
    }

    /// Takes the lines that no further text can change.
    pub fn finished_lines(&mut self, width: usize) -> Vec<StyledLine> {
        let Some(last) = last_block(settled(&self.open)) else { return Vec::new() };
        let mut lines = Vec::new();
        if last.start > 0 {
            let finished: String = self.open.drain(..last.start).collect();
            self.show(&finished, width, &mut lines);
            self.is_continued = false;
        }
        match last.inner {
            Some(OpenBlock::Code { from }) => self.show_code_lines(from - last.start, width, &mut lines),
            Some(OpenBlock::Item { from }) if from > last.start => {
                let items: String = self.open.drain(..from - last.start).collect();
                self.show(&items, width, &mut lines);
                self.is_continued = true;
            }
            _ => {}
        }
        lines
    }

    /// Takes the complete lines of an open code block; the rest continues as if the block had just begun.
    fn show_code_lines(&mut self, content: usize, width: usize, lines: &mut Vec<StyledLine>) {
        let Some(end) = self.open.get(content..).and_then(|rest| rest.rfind('\n')) else { return };
        if end == 0 {
            return;
        }
        let fence = self.open[..content].to_string();
        let whole = self.open[..content + end].to_string();
        self.show(&whole, width, lines);
        let rest = self.open.split_off(content + end + 1);
        self.open = fence + &rest;
        self.is_continued = true;
    }

    /// Renders the open end.
    pub fn open_lines(&self, width: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        self.clone().show(&self.open, width, &mut lines);
        lines
    }

    /// Renders the rest at the end of the text.
    pub fn finish(&mut self, width: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        let rest = std::mem::take(&mut self.open);
        self.show(&rest, width, &mut lines);
        *self = Self::default();
        lines
    }

    fn show(&mut self, text: &str, width: usize, lines: &mut Vec<StyledLine>) {
        if !self.is_continued {
            self.code = OpenToken::default();
        }
        let rendered = render_from(text, width, &mut self.code);
        if rendered.is_empty() {
            return;
        }
        if self.has_begun && !self.is_continued {
            lines.push(StyledLine::default());
        }
        lines.extend(rendered);
        self.has_begun = true;
    }
}

/// The prefix of a text whose blocks are certain: an incomplete last line may still become a table row, a list item or
/// the end of a code block, unless it starts with a letter after a blank line.
fn settled(text: &str) -> &str {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let is_behind_gap = whole == 0 || text[..whole].ends_with("\n\n");
    let is_paragraph = is_behind_gap && text[whole..].starts_with(char::is_alphabetic);
    if is_paragraph { text } else { &text[..whole] }
}

/// The last block of a text; later text changes nothing before it.
fn last_block(text: &str) -> Option<LastBlock> {
    let mut last = None;
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let inner = match tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => {
                            let fence = text[range.clone()].find('\n');
                            fence.map(|end| OpenBlock::Code { from: range.start + end + 1 })
                        }
                        _ => None,
                    };
                    last = Some(LastBlock { start: line_start(text, range.start), inner });
                } else if depth == 1
                    && tag == Tag::Item
                    && let Some(last) = &mut last
                {
                    last.inner = Some(OpenBlock::Item { from: line_start(text, range.start) });
                }
                depth += 1;
            }
            Event::End(end) => {
                depth -= 1;
                // A code block ends with its closing fence.
                if end == TagEnd::CodeBlock
                    && let Some(LastBlock { start, inner: Some(OpenBlock::Code { .. }) }) = last
                    && is_closed(&text[start..range.end])
                {
                    let before = range.end - usize::from(text[..range.end].ends_with('\n'));
                    let rest = text[before..].find('\n').map_or(text.len(), |end| before + end + 1);
                    last = Some(LastBlock { start: rest, inner: None });
                }
            }
            _ if depth == 0 => last = Some(LastBlock { start: range.start, inner: None }),
            _ => {}
        }
    }
    last
}

fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |end| end + 1)
}

/// True if a fenced block has its closing fence.
fn is_closed(block: &str) -> bool {
    let fence: String = block.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
    let last = block.trim_end().lines().skip(1).last().unwrap_or_default().trim();
    last.len() >= fence.len() && last.chars().all(|c| fence.starts_with(c)) && !last.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every way to split a text in three gives the same lines.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut streaming = StreamingMarkdown::default();
        streaming.push(text);
        let styled = streaming.finish(60);
        assert_eq!(styled.iter().map(StyledLine::text).collect::<Vec<_>>(), expected);
        let places: Vec<usize> = (0..=text.len()).filter(|place| text.is_char_boundary(*place)).collect();
        for step in [1, 3, 7] {
            let mut streaming = StreamingMarkdown::default();
            let mut lines = Vec::new();
            for piece in places.chunks(step) {
                let end = piece[piece.len() - 1];
                let from = if piece[0] == 0 {
                    0
                } else {
                    places[places.iter().position(|p| *p == piece[0]).unwrap() - 1]
                };
                streaming.push(&text[from..end]);
                lines.extend(streaming.finished_lines(60));
                streaming.open_lines(60);
            }
            lines.extend(streaming.finish(60));
            assert_eq!(lines, styled, "in steps of {step}");
        }
    }

    #[test]
    fn blocks_are_shown_as_they_finish() {
        check("One.\n\nTwo\nthree.\n", &["One.", "", "Two", "three."]);
        check("# Title\n\nText.", &["Title", "", "Text."]);
        check("- a\n- b\n- c\n\nEnd.", &["• a", "• b", "• c", "", "End."]);
        check("1. a\n2. b\n   - c\n3. d\n", &["1. a", "2. b", "   • c", "3. d"]);
        check("1. a\n\n2. b\n\n- c\n\n- d\n\nEnd", &["1. a", "2. b", "", "• c", "• d", "", "End"]);
        check("> a\n>\n> b\n\nEnd", &["│ a", "│", "│ b", "", "End"]);
    }

    #[test]
    fn tables_are_shown_in_whole() {
        check(
            "One\n\n| a | b |\n|---|---|\n| c | d |\n| e | f |\n\nEnd",
            &["One", "", "a  b", "─  ─", "c  d", "e  f", "", "End"],
        );
    }

    #[test]
    fn code_is_shown_line_by_line() {
        check("```rust\nfn a() {\n\n}\n```\nEnd.", &["  fn a() {", "", "  }", "", "End."]);
        check("```\nopen", &["  open"]);
        check("A\n\n```sh\nls\n```", &["A", "", "  ls"]);
    }

    #[test]
    fn colours_of_code_go_on_from_line_to_line() {
        let code = "```rust\n/* one\ntwo */ let x = \"a\nb\";\n```\n\n```rust\nlet y = 1;\n```";
        check(code, &["  /* one", "  two */ let x = \"a", "  b\";", "", "  let y = 1;"]);
        check("```c\n/* open\n```\n\n```c\nint x;\n```", &["  /* open", "", "  int x;"]);
    }

    #[test]
    fn finished_lines_come_before_the_end() {
        let mut streaming = StreamingMarkdown::default();
        streaming.push("One.\n\nTw");
        assert_eq!(streaming.finished_lines(60), [StyledLine::plain("One.")]);
        assert_eq!(streaming.open_lines(60).last().map(StyledLine::text).as_deref(), Some("Tw"));
        let mut code = StreamingMarkdown::default();
        code.push("```\na\nb\nc");
        assert_eq!(code.finished_lines(60).len(), 2);
        assert_eq!(code.open_lines(60).len(), 1);
    }
}
