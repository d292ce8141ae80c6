//! What waits in an inbox, as a list to go through.

use super::dialog::choice_line;
use super::frame::Frame;
use super::plural;
use crate::page::Page;
use crate::review::{Inbox, InboxItem};
use crate::state::Reviewing;
use crate::style::{Line, Style, paragraphs};

/// So many items are shown.
const MOST_ITEMS: usize = 6;
/// So many lines of what one is about.
const MOST_ABOUT: usize = 3;

pub(super) fn frame(reviewing: &Reviewing, width: usize) -> Frame {
    let Reviewing { inbox, items, selected, is_dismissing, .. } = reviewing;
    let mut lines = vec![Line::new(title(*inbox, items.len()), Style::BOLD).fit(width)];
    let from = (selected + 1).saturating_sub(MOST_ITEMS);
    for (number, item) in items.iter().enumerate().skip(from).take(MOST_ITEMS) {
        let detail = format!("  {}", item.kind);
        let room = width.saturating_sub(crate::text::columns(&detail)).max(width / 2);
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
        let is_cut = about.len() > MOST_ABOUT;
        let about = about.into_iter().take(MOST_ABOUT).map(|line| line.behind("    ", Style::PLAIN));
        lines.extend(about);
        if is_cut {
            lines.push(Line::new("    …", style));
        }
    }
    match (is_dismissing, chosen) {
        (true, Some(item)) => {
            let question = format!("Dismiss {} for good? d does it, any other key does not.", item.name);
            lines.extend(paragraphs(&question, Style::YELLOW, width));
        }
        (_, chosen) => lines.extend(keys(chosen, width)),
    }
    Frame { lines, cursor: None }
}

fn title(inbox: Inbox, count: usize) -> String {
    match (inbox, count) {
        (_, 0) => "Nothing more waits".to_string(),
        (Inbox::Skills, count) => plural(count, "skill or change waits", "skills and changes wait"),
        (Inbox::Memory, count) => plural(count, "change to memory waits", "changes to memory wait"),
    }
}

/// The keys, between which lines may end.
fn keys(chosen: Option<&InboxItem>, width: usize) -> Vec<Line> {
    let mut keys: Vec<&str> = Vec::new();
    if let Some(item) = chosen {
        keys.push("Enter shows it");
        match item.has_scope {
            true => keys.extend(["a makes it yours", "p the project's"]),
            false => keys.push("a applies it"),
        }
        keys.extend(["e edits first", "d dismisses"]);
    }
    keys.extend(["u undoes the last", "Esc leaves"]);
    let mut lines = vec![String::new()];
    for key in keys {
        let last = lines.last_mut().expect("there is always a line");
        match last.is_empty() {
            true => *last = format!("  {key}"),
            false if crate::text::columns(last) + 3 + key.len() <= width => {
                last.push_str(&format!(" · {key}"));
            }
            false => lines.push(format!("  {key}")),
        }
    }
    lines.into_iter().map(|line| Line::new(line, Style::FAINT).fit(width)).collect()
}

/// What waits, as lines.
pub(crate) fn waiting_page(inbox: Inbox, items: &[InboxItem]) -> Page {
    let mut page = Page::new(title(inbox, items.len()));
    for item in items {
        page.heading(format!("{} ({})", item.name, item.kind));
        page.text(item.problem.as_deref().unwrap_or(&item.about));
    }
    let command = inbox.command();
    page.heading("What to do about it");
    page.aside(format!("{command} show NAME shows one of them with its evidence."));
    page.aside(format!("{command} accept NAME, edit NAME and dismiss NAME settle it."));
    if items.iter().any(|item| item.has_scope) {
        page.aside(format!("{command} accept NAME project makes it the project's."));
    }
    page.aside(format!("{command} undo takes back what was accepted last."));
    page
}
