//! A page of text for people, built from top to bottom.

use super::{Screen, bar, fit, pad, pad_left, thousands, wrapped};

/// A page of text for people, built from top to bottom.
pub(crate) struct Page {
    /// The screen it is shown on.
    pub(crate) screen: Screen,
    text: String,
}

/// The width of the columns of a table.
const COLUMN: usize = 9;

impl Page {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, text: String::new() }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless the page has nothing above it.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub(crate) fn heading(&mut self, heading: &str) {
        self.gap();
        let heading = self.screen.strong(&fit(heading, self.screen.width));
        self.line(&heading);
    }

    /// Facts in a row, wrapped between them.
    pub(crate) fn facts(&mut self, facts: &[String]) {
        let mut line = String::new();
        for fact in facts {
            let fact = fit(fact, self.screen.width);
            if !line.is_empty() && line.chars().count() + fact.chars().count() + 3 > self.screen.width {
                self.line(&std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push_str(" · ");
            }
            line.push_str(&fact);
        }
        self.line(&line);
    }

    /// A bar for `share` of a whole that is shown, too; more than the whole is highlighted.
    pub(crate) fn gauge(&self, share: f64, width: usize) -> String {
        let filled = bar(share, width);
        let rest = "·".repeat(width.saturating_sub(filled.chars().count()));
        let filled = if share > 1.0 { self.screen.error(&filled) } else { self.screen.filled(&filled) };
        format!("{filled}{}", self.screen.faint(&rest))
    }

    /// The heading of a table, with the names of its columns.
    pub(crate) fn table_heading(&mut self, heading: &str, name_width: usize, columns: &[&str]) {
        self.gap();
        let columns: String = columns.iter().map(|column| pad_left(column, COLUMN)).collect();
        let line =
            format!("{}{}", self.screen.strong(&pad(heading, name_width + 2)), self.screen.faint(&columns));
        self.line(&line);
    }

    /// A line of a table.
    pub(crate) fn row(&mut self, name: &str, name_width: usize, cells: &[String]) {
        let cells: String = cells.iter().map(|cell| pad_left(cell, COLUMN)).collect();
        let line = format!("  {}{cells}", pad(name, name_width));
        self.line(&line);
    }

    /// A line that starts with a label in a column of its own; line breaks in the text become spaces.
    pub(crate) fn item(&mut self, mark: &str, mark_width: usize, text: &str) {
        let text: Vec<&str> = text.split_whitespace().collect();
        let room = self.screen.width.saturating_sub(mark_width + 3);
        let line = format!("  {} {}", self.screen.faint(&pad(mark, mark_width)), fit(&text.join(" "), room));
        self.line(&line);
    }

    /// A warning below its heading, on as many lines as it takes.
    pub(crate) fn warning(&mut self, text: &str) {
        for (place, line) in wrapped(text, self.screen.width.saturating_sub(4)).iter().enumerate() {
            let indent = if place == 0 { "  " } else { "    " };
            self.line(&self.screen.warning(&format!("{indent}{line}")));
        }
    }

    /// A line with the number of things not listed.
    pub(crate) fn more(&mut self, count: usize, listed: usize, what: &str) {
        if count > listed {
            let line = format!("  and {} more {what}; --json lists all", thousands((count - listed) as u64));
            self.line(&self.screen.faint(&line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_takes_as_many_lines_as_it_needs() {
        let mut page = Page::new(Screen { width: 20, ..Screen::of_stdout(crate::output::Color::Never) });
        page.warning("line 2: broken JSON at column 7; skipped");
        assert_eq!(page.into_text(), "  line 2: broken\n    JSON at column\n    7; skipped\n");
    }
}
