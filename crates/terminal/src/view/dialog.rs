//! Dialogs, shown in place of the input.

use longhaul_display::{Style, StyledLine, paragraphs};
use longhaul_policy::Reach;

use super::field::{Frame, MAX_ROWS, field, with_draft};
use super::hints::{SOON, choice_line, hint, hints};
use crate::services::Surface;
use crate::state::{
    ApprovalChoice, ApprovalDialog, ApprovalStage, Dialog, Focus, HistorySearch, Picker, QuestionDialog,
    UiState,
};

/// The most list items shown.
const MAX_ITEMS: usize = 8;

pub(super) fn frame(state: &UiState, dialog: &Dialog) -> Frame {
    let width = state.width();
    match dialog {
        Dialog::Approval(approving) => approval(state, approving),
        Dialog::Question(answering) => question(state, answering),
        Dialog::Picker(picker) => list(picker, width),
        Dialog::Search(found) => search(found, width),
        Dialog::Review(reviewing) => super::review::frame(state, reviewing),
    }
}

fn approval(state: &UiState, approving: &ApprovalDialog) -> Frame {
    match approving.stage {
        ApprovalStage::Choosing => {
            choosing(state, approving, &format!("Allow {}?", approving.request.call.name), "to stop the turn")
        }
        ApprovalStage::Always => {
            let rule = approving.request.always.as_ref().map(|offer| offer.allow.describe());
            choosing(state, approving, &format!("Always allow {}?", rule.unwrap_or_default()), "to go back")
        }
        ApprovalStage::Reason => {
            with_title(state, approving, "Why not? The model reads your reason. Press Enter to give none.")
        }
        ApprovalStage::Editing => {
            with_title(state, approving, "Edit it. Press Enter to allow it as edited, Esc to go back.")
        }
    }
}

fn with_title(state: &UiState, approving: &ApprovalDialog, title: &str) -> Frame {
    let width = state.width();
    let mut frame = field(&approving.field, "❯ ", width, MAX_ROWS);
    let title = StyledLine::new(title, Style::BOLD).wrap(width, 0);
    frame.cursor = frame.cursor.map(|(row, column)| (row + title.len(), column));
    frame.lines.splice(..0, title);
    if let Some(fault) = &approving.fault {
        frame.lines.push(StyledLine::new(fault.as_str(), Style::RED).fit(width));
    }
    if state.focus() == Focus::Pending && state.surface == Surface::Screen {
        frame.lines.push(StyledLine::new(format!("  {SOON}"), Style::FAINT).fit(width));
    }
    frame
}

fn choosing(state: &UiState, approving: &ApprovalDialog, title: &str, leaving: &str) -> Frame {
    let width = state.width();
    let is_waiting = state.surface == Surface::Screen && state.focus() != Focus::Dialog;
    let mut lines = StyledLine::new(title, Style::BOLD).wrap(width, 2);
    for (number, choice) in approving.choices().into_iter().enumerate() {
        let text = match choice {
            ApprovalChoice::Once => "yes, once".to_string(),
            ApprovalChoice::Always => {
                let rule = approving.request.always.as_ref().map(|offer| offer.allow.describe());
                format!("always: {}", rule.unwrap_or_default())
            }
            ApprovalChoice::Edit if approving.request.proposal.is_some() => {
                "edit the file in your editor first".to_string()
            }
            ApprovalChoice::Edit => "edit first".to_string(),
            ApprovalChoice::Deny => "no, with a reason".to_string(),
            ApprovalChoice::Reach(Reach::Session) => "in this session".to_string(),
            ApprovalChoice::Reach(Reach::Project) => "in this project, now and later".to_string(),
            ApprovalChoice::Reach(Reach::Everywhere) => "everywhere, in every project".to_string(),
            ApprovalChoice::Back => "back".to_string(),
        };
        // A rule is shown in full.
        let mut line = choice_line(&format!("{}  {text}", choice.key()), Some(number) == approving.selected);
        if is_waiting {
            line.spans.iter_mut().for_each(|span| span.style = Style::FAINT);
        }
        lines.extend(line.wrap(width, 5));
    }
    if approving.stage == ApprovalStage::Always {
        lines.extend(hints(&["deny rules still apply", "/policy to revoke"], width));
    }
    lines.extend(hint(state, "press a letter, or ↑ ↓ and Enter", leaving));
    with_draft(state, lines)
}

fn question(state: &UiState, answering: &QuestionDialog) -> Frame {
    let width = state.width();
    let mut lines = paragraphs(&answering.question.text, Style::BOLD, width);
    for (number, option) in answering.question.options.iter().enumerate() {
        lines.extend(choice_line(option, Some(number) == answering.selected).wrap(width, 2));
    }
    let hint = match answering.question.options.is_empty() {
        true => hint(state, "Enter to answer", "to skip"),
        false => hint(state, "type an answer or ↑ ↓, then Enter", "to skip"),
    };
    if state.focus() == Focus::Draft {
        lines.extend(hint);
        return with_draft(state, lines);
    }
    let mut frame = field(&answering.field, "❯ ", width, MAX_ROWS);
    frame.cursor = frame.cursor.map(|(row, column)| (row + lines.len(), column));
    lines.append(&mut frame.lines);
    lines.extend(hint);
    Frame { lines, ..frame }
}

fn list(picker: &Picker, width: usize) -> Frame {
    let matching = picker.matching();
    let title = format!("{}  {} of {}", picker.title, matching.len(), picker.items.len());
    let mut lines = vec![StyledLine::new(title, Style::BOLD).fit(width)];
    let mut frame = field(&picker.query, "search: ", width, 1);
    frame.cursor = frame.cursor.map(|(row, column)| (row + 1, column));
    lines.append(&mut frame.lines);
    let from = (picker.selected + 1).saturating_sub(MAX_ITEMS);
    for (number, item) in matching.iter().enumerate().skip(from).take(MAX_ITEMS) {
        let detail = format!("  {}", item.detail);
        let room = width.saturating_sub(longhaul_display::text::columns(&detail)).max(width / 2);
        let line = choice_line(&item.title, number == picker.selected).fit(room);
        lines.push(line.with(detail, Style::FAINT).fit(width));
    }
    lines.push(StyledLine::new("  Enter to choose, Esc to close", Style::FAINT).fit(width));
    Frame { lines, ..frame }
}

fn search(found: &HistorySearch, width: usize) -> Frame {
    let mut frame = field(&found.query, "search: ", width, 1);
    let text = match &found.found {
        Some((_, text)) => StyledLine::plain(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        None if found.query.is_empty() => {
            StyledLine::new("search the input history; Ctrl-R again for older matches", Style::FAINT)
        }
        None => StyledLine::new("no match", Style::FAINT),
    };
    frame.lines.push(text.fit(width));
    frame
}
