//! Text fields, and the frame that holds one.

use longhaul_display::{Style, StyledLine};

use crate::editor::Editor;
use crate::state::{Focus, UiState};

/// The rows of the block, and its cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<StyledLine>,
    /// Row and column; none if there is no text field.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// The most rows of a text field in a dialog.
pub(super) const MAX_ROWS: usize = 8;

/// A text field with a prompt mark, cut to `most` rows around the cursor.
pub(super) fn field(editor: &Editor, mark: &str, width: usize, most: usize) -> Frame {
    let lead = longhaul_display::text::columns(mark);
    let layout = editor.layout(width.saturating_sub(lead).max(2));
    let from = (layout.row + 1).saturating_sub(most).min(layout.rows.len().saturating_sub(most));
    let rows = layout.rows.iter().enumerate().skip(from).take(most);
    let lines = rows.map(|(number, (start, end))| {
        let mark = if number == 0 { mark.to_string() } else { " ".repeat(lead) };
        StyledLine::new(mark, Style::CYAN).with(&editor.text()[*start..*end], Style::PLAIN)
    });
    Frame { lines: lines.collect(), cursor: Some((layout.row - from, layout.column + lead)) }
}

/// Adds the draft below a dialog, with the cursor if it has the focus.
pub(super) fn with_draft(state: &UiState, mut lines: Vec<StyledLine>) -> Frame {
    if state.editor.is_empty() {
        return Frame { lines, cursor: None };
    }
    let mut draft = field(&state.editor, "❯ ", state.width(), MAX_ROWS);
    let has_keys = state.focus() == Focus::Draft;
    let cursor = draft.cursor.filter(|_| has_keys).map(|(row, column)| (row + lines.len(), column));
    if !has_keys {
        draft.lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| span.style = Style::FAINT);
    }
    lines.append(&mut draft.lines);
    Frame { lines, cursor }
}
