//! Submitted messages: sent to the model, executed as a command, or queued.

use longhaul_policy::ApprovalMode;

use super::{UiEffect, leave, print, print_apart};
use crate::image::PastedImage;
use crate::notice::Notice;
use crate::protocol::DriverCommand;
use crate::slash::{self, SlashAction};
use crate::state::{Dialog, Picker, PickerItem, PickerValue, UiState};
use crate::status_line::Segment;
use crate::view;

/// Submits a line, now or once the agent is idle.
pub(super) fn submit(state: &mut UiState, typed: &str) -> Vec<UiEffect> {
    let mut effects = Vec::new();
    if state.history.add(typed) {
        effects.push(UiEffect::Remember(typed.to_string()));
    }
    effects.extend(if is_command(typed) { command(state, typed) } else { send_or_queue(state, typed) });
    effects
}

/// True if a line is a slash command; a path is not.
fn is_command(typed: &str) -> bool {
    let first = typed.split_whitespace().next().unwrap_or_default();
    first.strip_prefix('/').is_some_and(|name| !name.contains('/') && !name.is_empty())
}

/// The effect of a command. One that nobody knows may be a prompt of a server.
fn action_of(state: &UiState, typed: &str) -> SlashAction {
    let action = slash::parse(typed, &state.custom_commands(), &state.skill_commands());
    let SlashAction::Unknown(unknown) = &action else { return action };
    let typed = typed.trim().trim_start_matches('/');
    let (name, words) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if state.prompts.is_none() || slash::is_known(name) {
        return action;
    }
    SlashAction::Command(DriverCommand::UsePrompt {
        name: name.to_string(),
        words: words.trim().to_string(),
        unknown: unknown.clone(),
    })
}

fn command(state: &mut UiState, typed: &str) -> Vec<UiEffect> {
    match action_of(state, typed) {
        SlashAction::Quit => leave(state),
        SlashAction::Help => {
            let lines = view::help(&state.custom_commands(), &state.skill_commands(), state.width());
            vec![print_apart(state, lines)]
        }
        SlashAction::Themes => choose_theme(state),
        SlashAction::Vim => {
            let value = (!state.preferences.is_vim).to_string();
            let key = "general.vimMode".to_string();
            send_later_if_busy(state, typed, DriverCommand::ChangeSetting { key, value: Some(value) })
        }
        SlashAction::Thoughts => toggle_thoughts(state),
        SlashAction::Editor => vec![UiEffect::Edit(String::new())],
        SlashAction::Copy if state.last_answer.is_empty() => {
            vec![print(state, view::notice(&Notice::info("No answer to copy yet."), state.width()))]
        }
        SlashAction::Copy => {
            let notice = Notice::good("Copied the last answer, if your terminal allows it.");
            vec![
                UiEffect::Copy(state.last_answer.clone()),
                print(state, view::notice(&notice, state.width())),
            ]
        }
        SlashAction::Unknown(why) => {
            vec![print(state, view::notice(&Notice::error(why), state.width()))]
        }
        SlashAction::Command(DriverCommand::Compact { .. }) if state.compaction.is_some() => {
            let notice = Notice::warning("A compaction is already running. Press Esc to stop it.");
            vec![print(state, view::notice(&notice, state.width()))]
        }
        // What only shows something is answered while a turn runs.
        SlashAction::Command(command @ (DriverCommand::Show(_) | DriverCommand::ShowSettings(_)))
            if state.is_busy() && state.queue.is_empty() =>
        {
            state.pending += 1;
            vec![print_apart(state, view::user_message(typed, state.width())), UiEffect::Send(command)]
        }
        SlashAction::Command(_) => send_or_queue(state, typed),
    }
}

/// Sends a command that was typed, now or once the agent is idle.
fn send_later_if_busy(state: &mut UiState, typed: &str, command: DriverCommand) -> Vec<UiEffect> {
    if state.is_busy() {
        return send_or_queue(state, typed);
    }
    let shown = view::user_message(typed, state.width());
    vec![print(state, shown), send(state, command)]
}

/// Opens the list of themes.
fn choose_theme(state: &mut UiState) -> Vec<UiEffect> {
    let items: Vec<PickerItem> = state
        .offers
        .themes
        .iter()
        .map(|(name, does)| PickerItem {
            title: name.clone(),
            detail: does.clone(),
            pick: PickerValue::Theme(name.clone()),
        })
        .collect();
    if items.is_empty() {
        return vec![print(state, view::notice(&Notice::info("No themes here."), state.width()))];
    }
    state.dialogs.push_back(Dialog::Picker(Picker::new("Which theme?", items)));
    Vec::new()
}

fn send_or_queue(state: &mut UiState, typed: &str) -> Vec<UiEffect> {
    if state.is_busy() {
        state.queue.push_back(typed.to_string());
        return Vec::new();
    }
    send_typed(state, typed)
}

/// Sends the next queued message.
pub(super) fn next_in_queue(state: &mut UiState) -> Vec<UiEffect> {
    if state.is_busy() {
        return Vec::new();
    }
    state.queue.pop_front().map_or_else(Vec::new, |typed| send_typed(state, &typed))
}

fn send_typed(state: &mut UiState, typed: &str) -> Vec<UiEffect> {
    let shown = view::user_message(typed, state.width());
    let shown = print(state, shown);
    if is_command(typed) {
        let SlashAction::Command(command) = action_of(state, typed) else {
            return self::command(state, typed);
        };
        return vec![shown, send(state, command)];
    }
    let command = match typed.trim().strip_prefix('!') {
        Some(line) if !line.trim().is_empty() => DriverCommand::Run(line.trim().to_string()),
        _ => DriverCommand::Submit(typed.to_string()),
    };
    let mut effects = vec![shown];
    let named = state.images.iter().filter(|(name, _)| typed.contains(name.as_str()));
    let images: Vec<PastedImage> = named.map(|(_, image)| image.clone()).collect();
    if matches!(command, DriverCommand::Submit(_)) {
        state.pending += images.len();
        effects.extend(images.into_iter().map(|image| UiEffect::Send(DriverCommand::AttachImage(image))));
    }
    effects.push(send(state, command));
    effects
}

/// Sends a command and sets the activity.
pub(super) fn send(state: &mut UiState, command: DriverCommand) -> UiEffect {
    state.activity = None;
    state.set_activity(match &command {
        DriverCommand::Submit(_)
        | DriverCommand::UseSkill { .. }
        | DriverCommand::UsePrompt { .. }
        | DriverCommand::RunCustom { .. }
        | DriverCommand::Init
        | DriverCommand::Retry => {
            format!("waiting for {}", state.status.model)
        }
        DriverCommand::Run(line) => format!("running {line}"),
        DriverCommand::Compact { .. } => "compacting".to_string(),
        DriverCommand::ListSessions => "looking for sessions".to_string(),
        DriverCommand::Resume(_) => "opening the session".to_string(),
        _ => "working".to_string(),
    });
    let begun = match &command {
        DriverCommand::Submit(text) => Some(text.clone()),
        DriverCommand::RunCustom { name, words } => Some(format!("/{name} {words}")),
        DriverCommand::UseSkill { skill, words } => Some(format!("/{skill} {words}")),
        _ => None,
    };
    state.work = begun.map(|text| (state.now, text));
    if let DriverCommand::Submit(text) = &command {
        state.status.meter.grow(Segment::History, text);
    }
    state.is_compaction_requested = matches!(command, DriverCommand::Compact { .. });
    state.pending += 1;
    UiEffect::Send(command)
}

/// Shows or hides the model's thoughts.
pub(super) fn toggle_thoughts(state: &mut UiState) -> Vec<UiEffect> {
    state.shows_thoughts = !state.shows_thoughts;
    let word = if state.shows_thoughts { "shown" } else { "hidden" };
    let notice = Notice::info(format!("Thoughts are now {word}."));
    vec![print(state, view::notice(&notice, state.width()))]
}

/// Switches to the next approval mode.
pub(super) fn next_mode(state: &mut UiState) -> Vec<UiEffect> {
    let mode = match state.status.mode {
        ApprovalMode::Default => ApprovalMode::AutoEdit,
        ApprovalMode::AutoEdit => ApprovalMode::Plan,
        ApprovalMode::Plan | ApprovalMode::Yolo => ApprovalMode::Default,
    };
    // Auto-edit is not available in an untrusted folder.
    let mode = match mode {
        ApprovalMode::AutoEdit if !state.status.is_trusted => ApprovalMode::Plan,
        mode => mode,
    };
    state.pending += 1;
    vec![UiEffect::Send(DriverCommand::SetMode(mode))]
}
