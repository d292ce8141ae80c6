//! The status line: model, approval mode, folder, memory, cost and the context meter.

use longhaul_display::text::columns;
use longhaul_display::{Style, StyledLine};
use longhaul_policy::ApprovalMode;

use super::{meter, money, plural};
use crate::state::{Dialog, EXIT_WINDOW, UiState};
use crate::status_line::StatusLine;
use crate::vim::VimMode;

/// The lines below the input.
pub(super) fn lines(state: &UiState) -> Vec<StyledLine> {
    let width = state.width();
    if state.exit_pressed.is_some_and(|first| state.now.saturating_sub(first) < EXIT_WINDOW) {
        return vec![StyledLine::new("Press Ctrl-C again to quit.", Style::YELLOW).fit(width)];
    }
    let status = &state.status;
    let meter = meter::line(&status.meter, width.min(64));
    let facts = facts(state, status);
    let mut line = StyledLine::default();
    let room = width.saturating_sub(meter.columns() + 3);
    let is_one_line = width >= 100;
    let limit = if is_one_line { room } else { width };
    for (texts, style) in facts {
        let gap = if line.spans.is_empty() { 0 } else { 3 };
        let room = limit.saturating_sub(line.columns() + gap);
        let Some(text) = texts.into_iter().find(|text| columns(text) <= room) else { continue };
        if gap > 0 {
            line.push(" · ", Style::FAINT);
        }
        line.push(&text, style);
    }
    match is_one_line {
        true if meter.spans.is_empty() => vec![line],
        true => {
            let gap = width.saturating_sub(line.columns() + meter.columns());
            line.push(&" ".repeat(gap), Style::PLAIN);
            line.spans.extend(meter.spans);
            vec![line]
        }
        false if meter.spans.is_empty() => vec![line],
        false => vec![line, meter],
    }
}

/// The terminal's title: the folder, and whether something runs or waits.
pub(crate) fn title(state: &UiState) -> String {
    let folder = state.status.folder.rsplit(['/', '\\']).next().unwrap_or_default();
    let mark = match (state.dialogs.front(), state.is_busy()) {
        (Some(Dialog::Approval(_) | Dialog::Question(_)), _) => "? ",
        (_, true) => "● ",
        (_, false) => "",
    };
    match folder {
        "" => format!("{mark}Longhaul"),
        folder => format!("{mark}{folder} – Longhaul"),
    }
}

/// The facts by importance, each in wordings from long to short; a fact that does not fit is left out.
fn facts(state: &UiState, status: &StatusLine) -> Vec<(Vec<String>, Style)> {
    let vim = state.preferences.is_vim.then(|| match state.vim.mode() {
        VimMode::Insert => (vec!["INSERT".to_string()], Style::FAINT),
        VimMode::Normal => (vec!["NORMAL".to_string()], Style::CYAN),
    });
    let mut facts: Vec<(Vec<String>, Style)> = vim.into_iter().collect();
    facts.push((vec![status.model.clone()], Style::BOLD));
    let mode = match status.mode {
        ApprovalMode::Default => None,
        ApprovalMode::AutoEdit => Some(("auto-edit", Style::YELLOW)),
        ApprovalMode::Yolo => Some(("yolo", Style::RED)),
        ApprovalMode::Plan => Some(("plan", Style::BLUE)),
    };
    facts.extend(mode.map(|(text, style)| (vec![text.to_string()], style)));
    if !status.is_trusted {
        facts.push((vec!["not trusted".to_string()], Style::YELLOW));
    }
    facts.push((places(status), Style::BLUE));
    if state.tools.len() > 1 {
        facts.push((vec![plural(state.tools.len(), "tool running", "tools running")], Style::FAINT));
    }
    if status.memory_files > 0 {
        facts.push((vec![plural(status.memory_files, "memory file", "memory files")], Style::FAINT));
    }
    facts.extend(status.cost.map(|cost| (vec![money(cost)], Style::FAINT)));
    if status.rules > 0 {
        facts.push((vec![plural(status.rules, "rule", "rules")], Style::FAINT));
    }
    facts.iter_mut().for_each(|(texts, _)| texts.retain(|text| !text.is_empty()));
    facts
}

/// The folder and its branch, from long to short.
fn places(status: &StatusLine) -> Vec<String> {
    let last = status.folder.rsplit(['/', '\\']).next().unwrap_or_default();
    let branch = status.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let folder = status.folder.as_str();
    vec![format!("{folder}{branch}"), format!("{last}{branch}"), last.to_string()]
}
