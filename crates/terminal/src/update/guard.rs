//! Keys while a guarded prompt is open: only those meant for it reach it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Arrival, UiEffect, dialog, prompt};
use crate::guard::Guard;
use crate::state::{ApprovalStage, Dialog, Focus, UiState};

/// Handles a key while a dialog is open.
pub(super) fn press(state: &mut UiState, key: KeyEvent, arrival: Arrival) -> Vec<UiEffect> {
    let Some(guard) = state.guard() else { return dialog::press(state, key) };
    if !guard.is_drawn() {
        return type_draft(state, key);
    }
    let focus = state.focus();
    match key.code {
        KeyCode::Tab | KeyCode::Esc if focus == Focus::Draft && state.completion.is_some() => {
            prompt::press(state, key)
        }
        // Esc is not text and grants nothing.
        KeyCode::Esc => dialog::press(state, key),
        KeyCode::Tab if !state.editor.is_empty() => set_focus(state, focus == Focus::Draft),
        _ if focus == Focus::Draft => type_draft(state, key),
        _ if focus == Focus::Dialog && arrival == Arrival::Alone => dialog::press(state, key),
        _ if focus == Focus::Dialog && has_field(state) => type_ahead(state, key),
        _ if is_text(key) => type_draft(state, key),
        // Moving the cursor in the field shows that it was seen.
        code if is_editing(state) && code != KeyCode::Enter => {
            with_guard(state, Guard::arm);
            dialog::press(state, key)
        }
        KeyCode::Up | KeyCode::Down | KeyCode::Enter if is_list(state) => dialog::press(state, key),
        _ => {
            restart(state);
            Vec::new()
        }
    }
}

/// Handles one of several keys that arrived together in a field: they are text, so that Enter inserts a newline.
fn type_ahead(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    match (key.code, state.dialogs.front_mut().and_then(dialog::field)) {
        (KeyCode::Enter, Some(field)) => {
            field.insert("\n");
            Vec::new()
        }
        _ => dialog::press(state, key),
    }
}

/// Handles a paste while a guarded dialog is open: it is text and never an answer.
pub(super) fn paste(state: &mut UiState, text: &str) -> Vec<UiEffect> {
    let field = match state.focus() {
        Focus::Dialog => state.dialogs.front_mut().and_then(dialog::field),
        Focus::Draft | Focus::Pending => None,
    };
    match field {
        Some(field) => {
            field.insert(text);
            Vec::new()
        }
        None => {
            leave_stage(state);
            state.editor.paste(text);
            restart(state);
            prompt::complete(state)
        }
    }
}

/// Treats a key as part of the draft.
pub(super) fn type_draft(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    leave_stage(state);
    let effects = prompt::press(state, key);
    restart(state);
    effects
}

/// True if a key is typed text.
pub(super) fn is_text(key: KeyEvent) -> bool {
    let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    matches!(key.code, KeyCode::Char(_)) && is_plain
}

/// Returns from a second stage, because the letter that opened it turns out to be part of the draft.
fn leave_stage(state: &mut UiState) {
    with_guard(state, |guard| guard.set_focused(false));
    if let Some(Dialog::Approval(approving)) = state.dialogs.front_mut()
        && matches!(approving.stage, ApprovalStage::Always | ApprovalStage::Editing)
        && let Some(letter) = approving.return_to_choices()
    {
        state.editor.insert(letter.encode_utf8(&mut [0; 4]));
    }
}

fn set_focus(state: &mut UiState, is_focused: bool) -> Vec<UiEffect> {
    with_guard(state, |guard| guard.set_focused(is_focused));
    restart(state);
    Vec::new()
}

fn restart(state: &mut UiState) {
    let now = state.now;
    with_guard(state, |guard| guard.restart(now));
}

fn with_guard(state: &mut UiState, change: impl FnOnce(&mut Guard)) {
    if let Some(guard) = state.dialogs.front_mut().and_then(Dialog::guard_mut) {
        change(guard);
    }
}

/// True if the current dialog has a text field.
fn has_field(state: &mut UiState) -> bool {
    state.dialogs.front_mut().and_then(dialog::field).is_some()
}

fn is_editing(state: &UiState) -> bool {
    let Some(Dialog::Approval(approving)) = state.dialogs.front() else { return false };
    approving.stage == ApprovalStage::Editing
}

/// True if the current dialog is a list, in which Enter only shows more.
fn is_list(state: &UiState) -> bool {
    matches!(state.dialogs.front(), Some(Dialog::Review(_)))
}
