//! The inbox review: a list with the details of the selected item.

use longhaul_display::{Style, StyledLine, paragraphs};

use super::field::{Frame, with_draft};
use super::hints::{choice_line, hint, hints};
use super::plural;
use crate::inbox::{InboxItem, InboxKind};
use crate::page::Page;
use crate::state::{Focus, ReviewDialog, UiState};

/// The most items shown.
const MAX_ITEMS: usize = 6;
/// The most lines of an item's description.
const MAX_ABOUT: usize = 3;

pub(super) fn frame(state: &UiState, reviewing: &ReviewDialog) -> Frame {
    let width = state.width();
    let ReviewDialog { inbox, items, selected, is_dismissing, .. } = reviewing;
    let mut lines = vec![StyledLine::new(title(*inbox, items.len()), Style::BOLD).fit(width)];
    let from = (selected + 1).saturating_sub(MAX_ITEMS);
    for (number, item) in items.iter().enumerate().skip(from).take(MAX_ITEMS) {
        let detail = format!("  {}", item.kind);
        let room = width.saturating_sub(longhaul_display::text::columns(&detail)).max(width / 2);
        let line = choice_line(&item.name, number == *selected).fit(room);
        lines.push(line.with(detail, Style::FAINT).fit(width));
    }
    let chosen = reviewing.chosen();
    if let Some(item) = chosen {
        let (text, style) = match &item.problem {
            Some(problem) => (problem.as_str(), Style::YELLOW),
            None => (item.about.as_str(), Style::FAINT),
        };
        let about = paragraphs(text, style, width.saturating_sub(4));
        let is_cut = about.len() > MAX_ABOUT;
        let about = about.into_iter().take(MAX_ABOUT).map(|line| line.prefixed("    ", Style::PLAIN));
        lines.extend(about);
        if is_cut {
            lines.push(StyledLine::new("    …", style));
        }
    }
    match (is_dismissing, chosen) {
        (true, Some(item)) => {
            let question =
                format!("Dismiss {} for good? Press d to confirm, any other key to cancel.", item.name);
            lines.extend(paragraphs(&question, Style::YELLOW, width));
        }
        (_, chosen) if state.focus() == Focus::Dialog && state.editor.is_empty() => {
            lines.extend(hints(&keys(chosen), width));
        }
        (_, _) => lines.extend(hint(state, "press a letter", "to close")),
    }
    with_draft(state, lines)
}

fn title(inbox: InboxKind, count: usize) -> String {
    match (inbox, count) {
        (_, 0) => "The inbox is empty".to_string(),
        (InboxKind::Skills, count) => {
            plural(count, "proposed skill or change", "proposed skills and changes")
        }
        (InboxKind::Memory, count) => {
            plural(count, "proposed change to memory", "proposed changes to memory")
        }
    }
}

/// The keys with their functions.
fn keys(chosen: Option<&InboxItem>) -> Vec<&'static str> {
    let mut keys: Vec<&str> = Vec::new();
    if let Some(item) = chosen {
        keys.push("Enter to show");
        match item.has_scope {
            true => keys.extend(["p to accept for the project", "a for all of yours"]),
            false => keys.push("a to apply"),
        }
        keys.extend(["e to edit first", "d to dismiss"]);
    }
    keys.extend(["u to undo the last", "Esc to close"]);
    keys
}

/// The inbox as a page, for the line mode.
pub(crate) fn waiting_page(inbox: InboxKind, items: &[InboxItem]) -> Page {
    let mut page = Page::new(title(inbox, items.len()));
    for item in items {
        page.heading(format!("{} ({})", item.name, item.kind));
        page.text(item.problem.as_deref().unwrap_or(&item.about));
    }
    let command = inbox.command();
    page.heading("Commands");
    page.aside(format!("{command} show NAME: show a proposal with its evidence"));
    page.aside(format!("{command} accept NAME, edit NAME or dismiss NAME: decide about it"));
    if items.iter().any(|item| item.has_scope) {
        page.aside(format!("{command} accept NAME user: accept it for every project"));
    }
    page.aside(format!("{command} undo: undo the last accepted change"));
    page
}
