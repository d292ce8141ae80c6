//! Output for people: colours, widths, bars, and text that cannot touch the terminal.

mod chart;
mod color;
mod json;
mod numbers;
mod page;
mod progress;

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use anyhow::Context;
use longhaul_app::models::WaitListener;

pub(crate) use chart::{bar, sparkline};
pub(crate) use color::Color;
pub(crate) use json::{path_json, print_json, write_json};
pub(crate) use longhaul_conversation::{grouped as thousands, plural};
pub(crate) use longhaul_display::{
    text::escape_json, text::fit, text::pad, text::pad_left, text::visible, text::visible_text, text::wrapped,
};
pub(crate) use numbers::{ago, percent, span};
pub(crate) use page::Page;
pub(crate) use progress::with_progress;

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("could not write the output")
}

/// Writes text to standard error, ignoring failures.
pub(crate) fn print_aside(text: &str) {
    std::io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// A note on standard error.
pub(crate) fn note(text: &str, color: Color) {
    let label = Screen::of_stderr(color).faint("note:");
    print_aside(&format!("{label} {}\n", visible(text)));
}

/// A listener that prints notes on standard error, such as the reason for a wait.
pub(crate) fn tell_notes(color: Color) -> WaitListener {
    Arc::new(move |text| note(text, color))
}

/// The screen that output goes to: its colours and width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    color: bool,
    /// The most columns of a line.
    pub(crate) width: usize,
}

/// The widest line, however wide the terminal is: long bars tell no more than short ones.
const WIDEST: usize = 120;
const DEFAULT_WIDTH: usize = 80;

impl Screen {
    pub(crate) fn of_stdout(color: Color) -> Self {
        Self::new(color, std::io::stdout().is_terminal())
    }

    pub(crate) fn of_stderr(color: Color) -> Self {
        Self::new(color, std::io::stderr().is_terminal())
    }

    fn new(color: Color, is_terminal: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !plain,
        };
        let columns =
            terminal_size::terminal_size().filter(|_| is_terminal).map(|(width, _)| usize::from(width.0));
        Self { color, width: columns.unwrap_or(DEFAULT_WIDTH).clamp(40, WIDEST) }
    }

    /// Returns true if text is shown in colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.color
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    pub(crate) fn strong(&self, text: &str) -> String {
        self.styled("1", text)
    }

    pub(crate) fn faint(&self, text: &str) -> String {
        self.styled("2", text)
    }

    pub(crate) fn error(&self, text: &str) -> String {
        self.styled("1;31", text)
    }

    pub(crate) fn warning(&self, text: &str) -> String {
        self.styled("33", text)
    }

    pub(crate) fn good(&self, text: &str) -> String {
        self.styled("32", text)
    }

    pub(crate) fn filled(&self, text: &str) -> String {
        self.styled("36", text)
    }
}
