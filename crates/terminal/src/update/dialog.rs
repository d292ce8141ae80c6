//! Keys in dialogs.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_agent::Approval;
use serde_json::Value;

use super::prompt::type_into;
use super::{UiEffect, cancel, guard, print, review, submit};
use crate::editor::Editor;
use crate::notice::Notice;
use crate::protocol::{DriverCommand, PromptId, UserReply};
use crate::state::{
    ApprovalChoice, ApprovalDialog, ApprovalStage, Dialog, Picker, PickerValue, QuestionDialog, UiState,
};
use crate::view;

impl ApprovalDialog {
    /// Returns to the first stage, which has to be drawn again; yields the letter that left it.
    pub(super) fn return_to_choices(&mut self) -> Option<char> {
        self.stage = ApprovalStage::Choosing;
        self.selected = None;
        self.fault = None;
        self.field = Editor::default();
        self.guard.reset();
        self.opened_by.take()
    }

    /// Enters a stage, which has to be drawn before its keys count.
    fn enter_stage(&mut self, stage: ApprovalStage, key: KeyEvent) {
        self.stage = stage;
        self.selected = None;
        self.opened_by = match key.code {
            KeyCode::Char(letter) => Some(letter),
            _ => None,
        };
        self.guard.reset();
    }

    /// The editable part of the call: its command, or all its arguments.
    fn editable(&self) -> String {
        match self.request.call.args.get("command").and_then(Value::as_str) {
            Some(command) => command.to_string(),
            None => serde_json::to_string_pretty(&self.request.call.args).unwrap_or_default(),
        }
    }

    /// The arguments as edited.
    fn edited(&self) -> Result<Value, String> {
        let typed = self.field.expanded();
        let mut args = self.request.call.args.clone();
        match args.get_mut("command").filter(|command| command.is_string()) {
            Some(_) if typed.trim().is_empty() => Err("the command is empty".to_string()),
            Some(command) => {
                *command = Value::from(typed);
                Ok(args)
            }
            None => serde_json::from_str(&typed).map_err(|error| format!("invalid JSON: {error}")),
        }
    }
}

/// The text field of a dialog.
pub(super) fn field(dialog: &mut Dialog) -> Option<&mut Editor> {
    match dialog {
        Dialog::Approval(approving) => {
            let is_typed = matches!(approving.stage, ApprovalStage::Reason | ApprovalStage::Editing);
            is_typed.then_some(&mut approving.field)
        }
        Dialog::Question(answering) => Some(&mut answering.field),
        Dialog::Picker(picker) => Some(&mut picker.query),
        Dialog::Search(search) => Some(&mut search.query),
        Dialog::Review(_) => None,
    }
}

pub(super) fn press(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    match state.dialogs.front() {
        Some(Dialog::Approval(_)) => press_approval(state, key),
        Some(Dialog::Question(_)) => press_question(state, key),
        Some(Dialog::Picker(_)) => press_picker(state, key),
        Some(Dialog::Search(_)) => press_search(state, key),
        Some(Dialog::Review(_)) => review::press(state, key),
        None => Vec::new(),
    }
}

/// Closes the current dialog without an answer.
pub(super) fn close(state: &mut UiState) -> Vec<UiEffect> {
    match state.dialogs.pop_front() {
        Some(Dialog::Question(answering)) => vec![answer(answering.id, UserReply::Answer(None))],
        Some(Dialog::Approval(approving)) => vec![answer(approving.id, UserReply::Approval(Approval::Stop))],
        Some(Dialog::Picker(_) | Dialog::Search(_) | Dialog::Review(_)) | None => Vec::new(),
    }
}

fn answer(id: PromptId, reply: UserReply) -> UiEffect {
    UiEffect::Send(DriverCommand::Answer(id, reply))
}

fn press_approval(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let Some(Dialog::Approval(approving)) = state.dialogs.front_mut() else { return Vec::new() };
    let choices = approving.choices();
    if choices.is_empty() {
        return press_field(state, key);
    }
    let count = choices.len();
    let chosen = match key.code {
        KeyCode::Up => {
            approving.selected = Some(approving.selected.map_or(count - 1, |at| (at + count - 1) % count));
            return Vec::new();
        }
        KeyCode::Down | KeyCode::Tab => {
            approving.selected = Some(approving.selected.map_or(0, |at| (at + 1) % count));
            return Vec::new();
        }
        KeyCode::Esc if approving.stage == ApprovalStage::Always => Some(ApprovalChoice::Back),
        KeyCode::Esc => return cancel(state),
        KeyCode::Enter if approving.selected.is_none() => {
            // This Enter was meant for something else.
            approving.guard.restart(state.now);
            None
        }
        KeyCode::Enter => approving.selected.and_then(|at| choices.get(at).copied()),
        KeyCode::Char(letter) if guard::is_text(key) => {
            let place = letter.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
            let meant = choices.iter().find(|choice| choice.key() == letter);
            match meant.or_else(|| choices.get(place?)) {
                Some(choice) => Some(*choice),
                // A letter that is no choice starts a message.
                None => return guard::type_draft(state, key),
            }
        }
        _ => None,
    };
    let Some(chosen) = chosen else { return Vec::new() };
    match chosen {
        ApprovalChoice::Once => decide(state, Approval::Once),
        ApprovalChoice::Reach(reach) => decide(state, Approval::Always(reach)),
        ApprovalChoice::Always => {
            approving.enter_stage(ApprovalStage::Always, key);
            Vec::new()
        }
        ApprovalChoice::Back => {
            approving.return_to_choices();
            Vec::new()
        }
        ApprovalChoice::Edit if approving.request.proposal.is_some() => {
            let proposal = approving.request.proposal.clone();
            let id = approving.id;
            approving.guard.reset();
            proposal.map(|proposal| UiEffect::EditProposal(id, proposal)).into_iter().collect()
        }
        ApprovalChoice::Edit => {
            let text = approving.editable();
            approving.enter_stage(ApprovalStage::Editing, key);
            approving.field.set(&text);
            Vec::new()
        }
        ApprovalChoice::Deny => {
            approving.enter_stage(ApprovalStage::Reason, key);
            Vec::new()
        }
    }
}

/// Handles a key in the reason or edit field.
fn press_field(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let Some(Dialog::Approval(approving)) = state.dialogs.front_mut() else { return Vec::new() };
    let makes_line = key.modifiers.contains(KeyModifiers::ALT)
        || (key.code == KeyCode::Char('j') && key.modifiers.contains(KeyModifiers::CONTROL));
    match key.code {
        KeyCode::Esc => {
            approving.return_to_choices();
            Vec::new()
        }
        KeyCode::Enter | KeyCode::Char('j') if makes_line => {
            approving.field.insert("\n");
            Vec::new()
        }
        KeyCode::Enter if approving.stage == ApprovalStage::Reason => {
            let reason = approving.field.take();
            let reason = (!reason.trim().is_empty()).then(|| reason.trim().to_string());
            decide(state, Approval::Denied { reason })
        }
        KeyCode::Enter => match approving.edited() {
            Ok(args) => decide(state, Approval::Edited(args)),
            Err(fault) => {
                approving.fault = Some(fault);
                Vec::new()
            }
        },
        KeyCode::Up | KeyCode::Down => {
            approving.field.move_row(key.code == KeyCode::Down, state.size.width.saturating_sub(4));
            Vec::new()
        }
        _ => {
            type_into(&mut approving.field, key);
            Vec::new()
        }
    }
}

fn decide(state: &mut UiState, approval: Approval) -> Vec<UiEffect> {
    let Some(Dialog::Approval(approving)) = state.dialogs.pop_front() else { return Vec::new() };
    let lines = view::decision(&approving, &approval, state.width());
    state.is_after_blank = true;
    vec![print(state, lines), answer(approving.id, UserReply::Approval(approval))]
}

/// Allows the call with the file as the user left it; an unchanged file is asked about again.
pub(super) fn apply_rewrite(
    state: &mut UiState,
    id: PromptId,
    text: Result<String, Notice>,
) -> Vec<UiEffect> {
    let width = state.width();
    let Some(Dialog::Approval(approving)) = state.dialogs.front() else { return Vec::new() };
    if approving.id != id {
        return Vec::new();
    }
    let proposed = approving.request.proposal.as_ref().map(|proposal| &proposal.text);
    match text {
        Ok(text) if Some(&text) != proposed => {
            let lines = view::rewrite(proposed.map_or("", String::as_str), &text, width);
            let shown = print(state, lines);
            std::iter::once(shown).chain(decide(state, Approval::Rewritten(text))).collect()
        }
        Ok(_) => {
            let notice = Notice::info("You changed nothing. Press y to write the file as proposed.");
            vec![print(state, view::notice(&notice, width))]
        }
        Err(notice) => vec![print(state, view::notice(&notice, width))],
    }
}

fn press_question(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let Some(Dialog::Question(answering)) = state.dialogs.front_mut() else { return Vec::new() };
    let QuestionDialog { question, selected, field, .. } = answering.as_mut();
    // The index after the last option stands for a typed answer.
    let count = question.options.len();
    let at = selected.unwrap_or(count);
    match key.code {
        KeyCode::Up => *selected = Some((at + count) % (count + 1)).filter(|at| *at < count),
        KeyCode::Down => *selected = Some((at + 1) % (count + 1)).filter(|at| *at < count),
        KeyCode::Esc => return close(state),
        KeyCode::Enter => {
            let typed = field.expanded();
            let text = match selected.and_then(|at| question.options.get(at)) {
                Some(option) if typed.trim().is_empty() => option.clone(),
                _ => typed.trim().to_string(),
            };
            if text.is_empty() {
                answering.guard.restart(state.now);
                return Vec::new();
            }
            let id = answering.id;
            state.dialogs.pop_front();
            let lines = view::user_message(&text, state.width());
            return vec![print(state, lines), answer(id, UserReply::Answer(Some(text)))];
        }
        _ => {
            if type_into(field, key) && !field.is_empty() {
                *selected = None;
            }
        }
    }
    Vec::new()
}

fn press_picker(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let Some(Dialog::Picker(picker)) = state.dialogs.front_mut() else { return Vec::new() };
    let count = picker.matching().len();
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => return close(state),
        KeyCode::Up => picker.selected = picker.selected.saturating_sub(1),
        KeyCode::Down => picker.selected = (picker.selected + 1).min(count.saturating_sub(1)),
        KeyCode::Char('p') if is_control => picker.selected = picker.selected.saturating_sub(1),
        KeyCode::Char('n') if is_control => {
            picker.selected = (picker.selected + 1).min(count.saturating_sub(1));
        }
        KeyCode::PageUp => picker.selected = picker.selected.saturating_sub(10),
        KeyCode::PageDown => picker.selected = (picker.selected + 10).min(count.saturating_sub(1)),
        KeyCode::Enter => {
            let picked = picker.matching().get(picker.selected).map(|item| item.pick.clone());
            return picked.map_or_else(Vec::new, |pick| choose(state, pick));
        }
        _ => {
            if type_into(&mut picker.query, key) {
                picker.selected = 0;
            }
        }
    }
    Vec::new()
}

fn choose(state: &mut UiState, pick: PickerValue) -> Vec<UiEffect> {
    state.dialogs.pop_front();
    match pick {
        PickerValue::Session(id) => vec![submit::send(state, DriverCommand::Resume(id))],
        PickerValue::Theme(name) => {
            let change = DriverCommand::ChangeSetting { key: "ui.theme".to_string(), value: Some(name) };
            // A turn that runs is not to look as if it had ended.
            if state.is_busy() {
                state.pending += 1;
                return vec![UiEffect::Send(change)];
            }
            vec![submit::send(state, change)]
        }
        PickerValue::Turn(id, text) => {
            // The message goes back into the input, to be rephrased.
            state.editor.set(&text);
            vec![submit::send(state, DriverCommand::RewindTo(id))]
        }
    }
}

fn press_search(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    let Some(Dialog::Search(search)) = state.dialogs.front_mut() else { return Vec::new() };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let mut before = state.history.len();
    match key.code {
        KeyCode::Esc => return close(state),
        KeyCode::Enter | KeyCode::Tab | KeyCode::Left | KeyCode::Right => {
            let found = search.found.take();
            state.dialogs.pop_front();
            if let Some((_, text)) = found {
                state.editor.set(&text);
            }
            return Vec::new();
        }
        KeyCode::Up => before = search.found.as_ref().map_or(before, |(place, _)| *place),
        KeyCode::Char('r') if is_control => {
            before = search.found.as_ref().map_or(before, |(place, _)| *place);
        }
        _ => {
            type_into(&mut search.query, key);
        }
    }
    let wanted = search.query.text();
    if wanted.is_empty() {
        search.found = None;
    } else if let Some((place, text)) = state.history.find(wanted, before) {
        search.found = Some((place, text.to_string()));
    } else if before == state.history.len() {
        search.found = None;
    }
    Vec::new()
}

impl Picker {
    /// A list with its first item selected.
    pub(super) fn new(title: &str, items: Vec<crate::state::PickerItem>) -> Self {
        Self { title: title.to_string(), items, query: Editor::default(), selected: 0 }
    }
}
