//! A page of text rows, for the screen and for plain lines alike.

use longhaul_display::text::{columns, pad};
use longhaul_display::{Style, StyledLine, Tone, paragraphs};

/// A page of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A heading.
    Heading(String),
    /// A wrapped paragraph.
    Text(String),
    /// A wrapped paragraph in faint text.
    Aside(String),
    /// A name and a value.
    Fact {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// A name, a bar and a value.
    Bar {
        /// The name.
        name: String,
        /// The filled share of the bar, from 0 to 1.
        share: f64,
        /// The value that the bar represents.
        value: String,
        /// The bar's colour.
        tone: Tone,
    },
    /// A list item.
    Item(String),
    /// Markdown text.
    Markdown(String),
    /// A unified diff.
    Diff(String),
}

/// The width of the longest bar.
const BAR: usize = 24;

impl Page {
    /// A page without rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Heading(text.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Text(text.into()));
    }

    /// Adds a paragraph in faint text.
    pub fn aside(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Aside(text.into()));
    }

    /// Adds a name and a value.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.rows.push(Row::Fact { name: name.into(), value: value.into() });
    }

    /// Adds a list item.
    pub fn item(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Item(text.into()));
    }

    /// Adds a name with a bar and a value.
    pub(crate) fn bar(&mut self, name: impl Into<String>, share: f64, value: impl Into<String>, tone: Tone) {
        self.rows.push(Row::Bar { name: name.into(), share, value: value.into(), tone });
    }

    /// Renders the page.
    pub fn lines(&self, width: usize) -> Vec<StyledLine> {
        let mut lines =
            vec![StyledLine::new(self.title.as_str(), Style { bold: true, ..Style::CYAN }).fit(width)];
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

    fn push_to(&self, lines: &mut Vec<StyledLine>, width: usize, names: usize) {
        let inner = width.saturating_sub(2).max(8);
        let indented = |line: StyledLine| line.prefixed("  ", Style::PLAIN);
        match self {
            Self::Heading(text) => {
                lines.push(StyledLine::default());
                lines.push(StyledLine::new(text.as_str(), Style::BOLD).fit(width));
            }
            Self::Text(text) => lines.extend(paragraphs(text, Style::PLAIN, inner).into_iter().map(indented)),
            Self::Aside(text) => {
                lines.extend(paragraphs(text, Style::FAINT, inner).into_iter().map(indented));
            }
            Self::Fact { name, value } => {
                let line =
                    StyledLine::new(pad(name, names) + "  ", Style::FAINT).with(value.as_str(), Style::PLAIN);
                lines.extend(line.wrap(inner, names + 2).into_iter().map(indented));
            }
            Self::Bar { name, share, value, tone } => {
                let room = inner.saturating_sub(names + 4 + columns(value)).min(BAR);
                let filled = filled(*share, room);
                let rest = "·".repeat(room.saturating_sub(columns(&filled)));
                let line = StyledLine::plain(pad(name, names) + "  ")
                    .with(filled, Style { tone: *tone, ..Style::PLAIN })
                    .with(rest, Style::FAINT)
                    .with(format!("  {value}"), Style::PLAIN);
                lines.push(indented(line.fit(inner)));
            }
            Self::Item(text) => {
                let line = StyledLine::new("• ", Style::CYAN).with(text.as_str(), Style::PLAIN);
                lines.extend(line.wrap(inner, 2).into_iter().map(indented));
            }
            Self::Diff(text) => {
                lines.extend(longhaul_display::diff::lines(text, inner).into_iter().map(indented));
            }
            Self::Markdown(text) => {
                lines.extend(longhaul_display::markdown::render(text, inner).into_iter().map(indented));
            }
        }
    }
}

/// The filled part of a bar; at least one cell for any share above zero.
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
        let text: Vec<String> = page.lines(60).iter().map(StyledLine::text).collect();
        assert_eq!(text[3], "  a name  a value that is rather long and wraps");
        assert_eq!(text[4], "  bar     ████████████············  12,000 tokens");
    }
}
