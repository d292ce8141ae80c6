//! Keys in the inbox review.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{UiEffect, dialog, guard, print, submit};
use crate::guard::Guard;
use crate::inbox::{AcceptScope, InboxItem, InboxKind, ReviewDecision};
use crate::notice::Notice;
use crate::protocol::DriverCommand;
use crate::services::Surface;
use crate::state::{Dialog, ReviewDialog, UiState};
use crate::view;

/// Shows the items: in a dialog, or as lines.
pub(super) fn open(state: &mut UiState, inbox: InboxKind, items: Vec<InboxItem>) -> Vec<UiEffect> {
    if items.is_empty() {
        let hint = format!("Type {} undo to undo the last accepted change.", inbox.command());
        let notice = Notice::info("The inbox is empty.").with_hint(hint);
        return vec![print(state, view::notice(&notice, state.width()))];
    }
    if state.surface != Surface::Screen {
        let page = view::waiting_page(inbox, &items);
        return vec![print(state, page.lines(state.width()))];
    }
    let guard = Guard::default();
    let reviewing =
        ReviewDialog { inbox, items, selected: 0, guard, is_dismissing: false, is_settling: false };
    state.dialogs.push_back(Dialog::Review(reviewing));
    Vec::new()
}

/// Updates an open review dialog.
pub(super) fn refresh(state: &mut UiState, inbox: InboxKind, items: Vec<InboxItem>) {
    for dialog in &mut state.dialogs {
        if let Dialog::Review(reviewing) = dialog
            && reviewing.inbox == inbox
        {
            reviewing.selected = reviewing.selected.min(items.len().saturating_sub(1));
            (reviewing.is_dismissing, reviewing.is_settling) = (false, false);
            reviewing.items = items;
            return;
        }
    }
}

/// Ends the decision in progress.
pub(super) fn settled(state: &mut UiState) {
    for dialog in &mut state.dialogs {
        if let Dialog::Review(reviewing) = dialog {
            reviewing.is_settling = false;
        }
    }
}

/// Sends a decision; no other is sent until it is done.
fn settle(state: &mut UiState, command: DriverCommand) -> Vec<UiEffect> {
    if let Some(Dialog::Review(reviewing)) = state.dialogs.front_mut() {
        reviewing.is_settling = true;
    }
    vec![submit::send(state, command)]
}

pub(super) fn press(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let width = state.width();
    let Some(Dialog::Review(reviewing)) = state.dialogs.front_mut() else { return Vec::new() };
    let inbox = reviewing.inbox;
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if std::mem::take(&mut reviewing.is_dismissing) {
        // Any other key cancels the dismissal.
        return match (key.code, reviewing.chosen()) {
            (KeyCode::Char('d' | 'y' | 'D' | 'Y'), Some(item)) => {
                let review = ReviewDecision::Dismiss { name: item.name.clone() };
                settle(state, DriverCommand::Review(inbox, review))
            }
            _ => Vec::new(),
        };
    }
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') => return dialog::close(state),
        KeyCode::Up | KeyCode::Char('k') => reviewing.go(-1),
        KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => reviewing.go(1),
        KeyCode::Char('p') if is_control => reviewing.go(-1),
        KeyCode::Char('n') if is_control => reviewing.go(1),
        // The selected item may be gone once the decision in progress is done.
        _ if reviewing.is_settling => {}
        KeyCode::Char('u') => return settle(state, DriverCommand::Review(inbox, ReviewDecision::Undo)),
        KeyCode::Char(letter) if !is_control => {
            if !"aped".contains(letter) {
                return guard::type_draft(state, key);
            }
            let Some(item) = reviewing.chosen() else { return Vec::new() };
            let name = item.name.clone();
            let command = match letter {
                'a' => {
                    DriverCommand::Review(inbox, ReviewDecision::Accept { name, scope: AcceptScope::User })
                }
                'p' if item.has_scope => {
                    DriverCommand::Review(inbox, ReviewDecision::Accept { name, scope: AcceptScope::Project })
                }
                'e' => DriverCommand::EditWaiting(inbox, name),
                'd' => {
                    reviewing.is_dismissing = true;
                    return Vec::new();
                }
                _ => return Vec::new(),
            };
            return settle(state, command);
        }
        KeyCode::Enter => {
            let lines = reviewing.chosen().map(|item| item.page.lines(width)).unwrap_or_default();
            return vec![print(state, lines)];
        }
        _ => {}
    }
    Vec::new()
}

impl ReviewDialog {
    /// The selected item.
    pub(crate) fn chosen(&self) -> Option<&InboxItem> {
        self.items.get(self.selected)
    }

    fn go(&mut self, by: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }
}
