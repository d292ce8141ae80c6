//! Hints and choices below a dialog.

use longhaul_display::text::columns;
use longhaul_display::{Style, StyledLine};

use crate::services::Surface;
use crate::state::{Focus, UiState};

/// Shown during the quiet period.
pub(super) const SOON: &str = "one moment: keys go to the input";

/// The hint about where keys go, and about Esc.
pub(super) fn hint(state: &UiState, answering: &str, leaving: &str) -> Vec<StyledLine> {
    let leaving = format!("Esc {leaving}");
    let parts = match state.focus() {
        // The line mode is answered with lines, see [`crate::plain`].
        _ if state.surface != Surface::Screen => vec![leaving],
        Focus::Draft => vec!["Tab to answer".into(), "Enter to queue your message".into(), leaving],
        Focus::Pending => vec![SOON.into(), leaving],
        Focus::Dialog if state.editor.is_empty() => vec![answering.into(), leaving],
        Focus::Dialog => vec![answering.into(), "Tab to return to your message".into(), leaving],
    };
    hints(&parts, state.width())
}

/// Lays hints out in as few lines as possible, without breaking one.
pub(super) fn hints<T: AsRef<str>>(parts: &[T], width: usize) -> Vec<StyledLine> {
    let mut lines = vec![String::new()];
    for part in parts.iter().map(AsRef::as_ref) {
        let last = lines.last_mut().expect("there is always a line");
        match last.is_empty() {
            true => *last = format!("  {part}"),
            false if columns(last) + 3 + columns(part) <= width => last.push_str(&format!(" · {part}")),
            false => lines.push(format!("  {part}")),
        }
    }
    lines.into_iter().map(|line| StyledLine::new(line, Style::FAINT).fit(width)).collect()
}

/// A line of a list, marked if it is selected.
pub(super) fn choice_line(text: &str, is_selected: bool) -> StyledLine {
    match is_selected {
        true => StyledLine::new(format!("▸ {text}"), Style::CYAN),
        false => StyledLine::plain(format!("  {text}")),
    }
}
