//! Dialogs, shown in place of the input.

use longhaul_policy::Reach;

use super::field::{Frame, MOST_ROWS, field, with_draft};
use super::hints::{SOON, choice_line, hint, hints};
use crate::services::Surface;
use crate::state::{Answering, ApprovalStage, Approving, Choice, Dialog, Focus, Picker, Search, State};
use crate::style::{Line, Style, paragraphs};

/// The most list items shown.
const MOST_ITEMS: usize = 8;

pub(super) fn frame(state: &State, dialog: &Dialog) -> Frame {
    let width = state.width();
    match dialog {
        Dialog::Approval(approving) => approval(state, approving),
        Dialog::Question(answering) => question(state, answering),
        Dialog::Picker(picker) => list(picker, width),
        Dialog::Search(found) => search(found, width),
        Dialog::Review(reviewing) => super::review::frame(state, reviewing),
    }
}

fn approval(state: &State, approving: &Approving) -> Frame {
    match approving.stage {
        ApprovalStage::Choosing => {
            choosing(state, approving, &format!("Allow {}?", approving.request.call.name), "stops the turn")
        }
        ApprovalStage::Always => {
            let rule = approving.request.always.as_ref().map(|offer| offer.allow.describe());
            choosing(state, approving, &format!("Always allow {}?", rule.unwrap_or_default()), "goes back")
        }
        ApprovalStage::Reason => {
            with_title(state, approving, "Why not? The model is told. Enter alone says just no.")
        }
        ApprovalStage::Editing => {
            with_title(state, approving, "Change it; Enter allows it like that, Esc goes back.")
        }
    }
}

fn with_title(state: &State, approving: &Approving, title: &str) -> Frame {
    let width = state.width();
    let mut frame = field(&approving.field, "❯ ", width, MOST_ROWS);
    let title = Line::new(title, Style::BOLD).wrap(width, 0);
    frame.cursor = frame.cursor.map(|(row, column)| (row + title.len(), column));
    frame.lines.splice(..0, title);
    if let Some(fault) = &approving.fault {
        frame.lines.push(Line::new(fault.as_str(), Style::RED).fit(width));
    }
    if state.focus() == Focus::Soon && state.surface == Surface::Screen {
        frame.lines.push(Line::new(format!("  {SOON}"), Style::FAINT).fit(width));
    }
    frame
}

fn choosing(state: &State, approving: &Approving, title: &str, leaving: &str) -> Frame {
    let width = state.width();
    let is_waiting = state.surface == Surface::Screen && state.focus() != Focus::Dialog;
    let mut lines = Line::new(title, Style::BOLD).wrap(width, 2);
    for (number, choice) in approving.choices().into_iter().enumerate() {
        let text = match choice {
            Choice::Once => "yes, once".to_string(),
            Choice::Always => {
                let rule = approving.request.always.as_ref().map(|offer| offer.allow.describe());
                format!("always: {}", rule.unwrap_or_default())
            }
            Choice::Edit => "change it first".to_string(),
            Choice::Deny => "no, and say why".to_string(),
            Choice::Reach(Reach::Session) => "in this session".to_string(),
            Choice::Reach(Reach::Project) => "in this project, also later".to_string(),
            Choice::Reach(Reach::Everywhere) => "everywhere, in every project".to_string(),
            Choice::Back => "back".to_string(),
        };
        // A rule is shown in full.
        let mut line = choice_line(&format!("{}  {text}", choice.key()), Some(number) == approving.selected);
        if is_waiting {
            line.spans.iter_mut().for_each(|span| span.style = Style::FAINT);
        }
        lines.extend(line.wrap(width, 5));
    }
    if approving.stage == ApprovalStage::Always {
        lines.extend(hints(&["a rule that denies outranks it", "/policy takes it back"], width));
    }
    lines.extend(hint(state, "press a letter, or ↑ ↓ and Enter", leaving));
    with_draft(state, lines)
}

fn question(state: &State, answering: &Answering) -> Frame {
    let width = state.width();
    let mut lines = paragraphs(&answering.question.text, Style::BOLD, width);
    for (number, option) in answering.question.options.iter().enumerate() {
        lines.extend(choice_line(option, Some(number) == answering.selected).wrap(width, 2));
    }
    let hint = match answering.question.options.is_empty() {
        true => hint(state, "Enter answers", "leaves it open"),
        false => hint(state, "type an answer, or ↑ ↓; Enter answers", "leaves it open"),
    };
    if state.focus() == Focus::Draft {
        lines.extend(hint);
        return with_draft(state, lines);
    }
    let mut frame = field(&answering.field, "❯ ", width, MOST_ROWS);
    frame.cursor = frame.cursor.map(|(row, column)| (row + lines.len(), column));
    lines.append(&mut frame.lines);
    lines.extend(hint);
    Frame { lines, ..frame }
}

fn list(picker: &Picker, width: usize) -> Frame {
    let matching = picker.matching();
    let title = format!("{}  {} of {}", picker.title, matching.len(), picker.items.len());
    let mut lines = vec![Line::new(title, Style::BOLD).fit(width)];
    let mut frame = field(&picker.query, "search: ", width, 1);
    frame.cursor = frame.cursor.map(|(row, column)| (row + 1, column));
    lines.append(&mut frame.lines);
    let from = (picker.selected + 1).saturating_sub(MOST_ITEMS);
    for (number, item) in matching.iter().enumerate().skip(from).take(MOST_ITEMS) {
        let detail = format!("  {}", item.detail);
        let room = width.saturating_sub(crate::text::columns(&detail)).max(width / 2);
        let line = choice_line(&item.title, number == picker.selected).fit(room);
        lines.push(line.with(detail, Style::FAINT).fit(width));
    }
    lines.push(Line::new("  Enter chooses, Esc closes", Style::FAINT).fit(width));
    Frame { lines, ..frame }
}

fn search(found: &Search, width: usize) -> Frame {
    let mut frame = field(&found.query, "search: ", width, 1);
    let text = match &found.found {
        Some((_, text)) => Line::plain(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        None if found.query.is_empty() => {
            Line::new("what was typed before; Ctrl-R again for older", Style::FAINT)
        }
        None => Line::new("nothing", Style::FAINT),
    };
    frame.lines.push(text.fit(width));
    frame
}
