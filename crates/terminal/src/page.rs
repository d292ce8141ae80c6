//! A page of facts, as a value that the screen and plain lines show alike.

use crate::style::{Line, Style, Tone, paragraphs};
use crate::text::{columns, pad};

/// A page of facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// What it says.
    pub rows: Vec<Row>,
}

/// One row of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// The name of what follows.
    Heading(String),
    /// Words, wrapped.
    Text(String),
    /// Words that stand back.
    Aside(String),
    /// A name with what belongs to it.
    Fact {
        /// The name.
        name: String,
        /// What belongs to it.
        value: String,
    },
    /// A name with a bar.
    Bar {
        /// The name.
        name: String,
        /// How much of the bar is full.
        share: f64,
        /// What the bar stands for.
        value: String,
        /// Its colour.
        tone: Tone,
    },
    /// A list item.
    Item(String),
    /// Text in Markdown.
    Markdown(String),
    /// A unified diff.
    Diff(String),
}

/// The longest bar.
const BAR: usize = 24;

impl Page {
    /// A page without rows yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Heading(text.into()));
    }

    /// Adds words.
    pub fn text(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Text(text.into()));
    }

    /// Adds words that stand back.
    pub fn aside(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Aside(text.into()));
    }

    /// Adds a name with what belongs to it.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.rows.push(Row::Fact { name: name.into(), value: value.into() });
    }

    /// Adds a list item.
    pub fn item(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Item(text.into()));
    }

    /// Adds a name with a bar.
    pub fn bar(&mut self, name: impl Into<String>, share: f64, value: impl Into<String>, tone: Tone) {
        self.rows.push(Row::Bar { name: name.into(), share, value: value.into(), tone });
    }

    /// Its lines.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = vec![Line::new(self.title.as_str(), Style { bold: true, ..Style::CYAN }).fit(width)];
        let names = self.rows.iter().filter_map(Row::name).map(columns).max().unwrap_or(0);
        let names = names.min(width / 3).max(4);
        for row in &self.rows {
            row.push_to(&mut lines, width, names);
        }
        lines
    }
}

impl Row {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Fact { name, .. } | Self::Bar { name, .. } => Some(name),
            _ => None,
        }
    }

    fn push_to(&self, lines: &mut Vec<Line>, width: usize, names: usize) {
        let inner = width.saturating_sub(2).max(8);
        let indented = |line: Line| line.behind("  ", Style::PLAIN);
        match self {
            Self::Heading(text) => {
                lines.push(Line::default());
                lines.push(Line::new(text.as_str(), Style::BOLD).fit(width));
            }
            Self::Text(text) => lines.extend(paragraphs(text, Style::PLAIN, inner).into_iter().map(indented)),
            Self::Aside(text) => {
                lines.extend(paragraphs(text, Style::FAINT, inner).into_iter().map(indented));
            }
            Self::Fact { name, value } => {
                let line =
                    Line::new(pad(name, names) + "  ", Style::FAINT).with(value.as_str(), Style::PLAIN);
                lines.extend(line.wrap(inner, names + 2).into_iter().map(indented));
            }
            Self::Bar { name, share, value, tone } => {
                let room = inner.saturating_sub(names + 4 + columns(value)).min(BAR);
                let filled = filled(*share, room);
                let rest = "·".repeat(room.saturating_sub(columns(&filled)));
                let line = Line::plain(pad(name, names) + "  ")
                    .with(filled, Style { tone: *tone, ..Style::PLAIN })
                    .with(rest, Style::FAINT)
                    .with(format!("  {value}"), Style::PLAIN);
                lines.push(indented(line.fit(inner)));
            }
            Self::Item(text) => {
                let line = Line::new("• ", Style::CYAN).with(text.as_str(), Style::PLAIN);
                lines.extend(line.wrap(inner, 2).into_iter().map(indented));
            }
            Self::Diff(text) => lines.extend(crate::diff::lines(text, inner).into_iter().map(indented)),
            Self::Markdown(text) => {
                lines.extend(crate::markdown::render(text, inner).into_iter().map(indented));
            }
        }
    }
}

/// The full part of a bar; what is above nothing is never invisible.
fn filled(share: f64, width: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let full = (share * width as f64).round() as usize;
    "█".repeat(if share > 0.0 { full.max(1).min(width) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_fit_any_width() {
        let mut page = Page::new("A page with a long title that goes on");
        page.heading("Figures");
        page.fact("a name", "a value that is rather long and wraps");
        page.bar("bar", 0.5, "12,000 tokens", Tone::Cyan);
        page.item("an item with 日本語 in it that is too long for a line");
        page.aside("words");
        for width in [20, 40, 80, 200] {
            for line in page.lines(width) {
                assert!(line.columns() <= width, "{width}: {}", line.text());
            }
        }
        let text: Vec<String> = page.lines(60).iter().map(Line::text).collect();
        assert_eq!(text[3], "  a name  a value that is rather long and wraps");
        assert_eq!(text[4], "  bar     ████████████············  12,000 tokens");
    }
}
