//! What the user is asked, in place of the input.

use super::blocks::rule;
use super::frame::{Frame, field};
use crate::state::{Answering, ApprovalStage, Approving, Dialog, Picker, Search, State};
use crate::style::{Line, Style, paragraphs};
use crate::update::Choice;

/// So many items of a list are shown.
const MOST_ITEMS: usize = 8;
/// So many rows of a field.
const MOST_ROWS: usize = 8;

pub(super) fn frame(state: &State, dialog: &Dialog) -> Frame {
    let width = state.width();
    match dialog {
        Dialog::Approval(approving) => approval(approving, width),
        Dialog::Question(answering) => question(answering, width),
        Dialog::Picker(picker) => list(picker, width),
        Dialog::Search(found) => search(found, width),
        Dialog::Review(reviewing) => super::review::frame(reviewing, width),
    }
}

fn approval(approving: &Approving, width: usize) -> Frame {
    match approving.stage {
        ApprovalStage::Choosing => choosing(approving, width),
        ApprovalStage::Reason => {
            with_title("Why not? The model is told. Enter alone says just no.", approving, width)
        }
        ApprovalStage::Editing => {
            with_title("Change it; Enter allows it like that, Esc goes back.", approving, width)
        }
    }
}

fn with_title(title: &str, approving: &Approving, width: usize) -> Frame {
    let mut frame = field(&approving.field, "❯ ", width, MOST_ROWS);
    let title = Line::new(title, Style::BOLD).wrap(width, 0);
    frame.cursor = frame.cursor.map(|(row, column)| (row + title.len(), column));
    frame.lines.splice(..0, title);
    if let Some(fault) = &approving.fault {
        frame.lines.push(Line::new(fault.as_str(), Style::RED).fit(width));
    }
    frame
}

fn choosing(approving: &Approving, width: usize) -> Frame {
    let mut lines =
        vec![Line::new(format!("Allow {}?", approving.request.call.name), Style::BOLD).fit(width)];
    for (number, choice) in approving.choices().into_iter().enumerate() {
        let text = match choice {
            Choice::Once => "y  yes, once".to_string(),
            Choice::Always => {
                let rule = approving.request.always.as_ref().map(rule).unwrap_or_default();
                format!("a  always: {rule}")
            }
            Choice::Edit => "e  change it first".to_string(),
            Choice::Deny => "n  no, and say why".to_string(),
        };
        // A rule is shown to its last word.
        lines.extend(choice_line(&text, number == approving.selected).wrap(width, 5));
    }
    lines.push(Line::new("  Esc stops the turn", Style::FAINT).fit(width));
    Frame { lines, cursor: None }
}

pub(super) fn choice_line(text: &str, is_selected: bool) -> Line {
    match is_selected {
        true => Line::new(format!("▸ {text}"), Style::CYAN),
        false => Line::plain(format!("  {text}")),
    }
}

fn question(answering: &Answering, width: usize) -> Frame {
    let mut lines = paragraphs(&answering.question.text, Style::BOLD, width);
    for (number, option) in answering.question.options.iter().enumerate() {
        lines.extend(choice_line(option, number == answering.selected).wrap(width, 2));
    }
    let mut frame = field(&answering.field, "❯ ", width, MOST_ROWS);
    frame.cursor = frame.cursor.map(|(row, column)| (row + lines.len(), column));
    lines.append(&mut frame.lines);
    lines.push(Line::new("  Enter answers, Esc leaves it open", Style::FAINT).fit(width));
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
