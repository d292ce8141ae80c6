//! Submitted messages: sent to the model, executed as a command, or queued.

use longhaul_policy::ApprovalMode;

use super::{Effect, leave, print};
use crate::command::{Command, Notice, Segment};
use crate::slash::{self, Meant};
use crate::state::State;
use crate::view;

/// Submits a line, now or once the agent is idle.
pub(super) fn submit(state: &mut State, typed: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    if state.history.add(typed) {
        effects.push(Effect::Remember(typed.to_string()));
    }
    effects.extend(if is_command(typed) { command(state, typed) } else { later_or_now(state, typed) });
    effects
}

/// True if a line is a slash command; a path is not.
fn is_command(typed: &str) -> bool {
    let first = typed.split_whitespace().next().unwrap_or_default();
    first.strip_prefix('/').is_some_and(|name| !name.contains('/') && !name.is_empty())
}

fn command(state: &mut State, typed: &str) -> Vec<Effect> {
    match slash::parse(typed, &state.skill_commands()) {
        Meant::Quit => leave(state),
        Meant::Help => vec![print(state, view::help(&state.skill_commands(), state.width()))],
        Meant::Thoughts => toggle_thoughts(state),
        Meant::Editor => vec![Effect::Edit(String::new())],
        Meant::Copy if state.last_answer.is_empty() => {
            vec![print(state, view::notice(&Notice::info("There is no answer to copy yet."), state.width()))]
        }
        Meant::Copy => {
            let notice = Notice::good("The last answer is in the clipboard, if your terminal allows it.");
            vec![Effect::Copy(state.last_answer.clone()), print(state, view::notice(&notice, state.width()))]
        }
        Meant::Unknown(why) => {
            vec![print(state, view::notice(&Notice::error(why), state.width()))]
        }
        Meant::Command(Command::Compact { .. }) if state.compaction.is_some() => {
            let notice = Notice::warning("A compaction is running already; Esc stops it.");
            vec![print(state, view::notice(&notice, state.width()))]
        }
        Meant::Command(_) => later_or_now(state, typed),
    }
}

fn later_or_now(state: &mut State, typed: &str) -> Vec<Effect> {
    if state.is_busy() {
        state.queue.push_back(typed.to_string());
        return Vec::new();
    }
    send_typed(state, typed)
}

/// Sends the next queued message.
pub(super) fn next_in_queue(state: &mut State) -> Vec<Effect> {
    if state.is_busy() {
        return Vec::new();
    }
    state.queue.pop_front().map_or_else(Vec::new, |typed| send_typed(state, &typed))
}

fn send_typed(state: &mut State, typed: &str) -> Vec<Effect> {
    let shown = view::typed(typed, state.width());
    let shown = print(state, shown);
    if is_command(typed) {
        let Meant::Command(command) = slash::parse(typed, &state.skill_commands()) else {
            return command_again(state, typed);
        };
        return vec![shown, send(state, command)];
    }
    let command = match typed.trim().strip_prefix('!') {
        Some(line) if !line.trim().is_empty() => Command::Run(line.trim().to_string()),
        _ => Command::Submit(typed.to_string()),
    };
    vec![shown, send(state, command)]
}

fn command_again(state: &mut State, typed: &str) -> Vec<Effect> {
    command(state, typed)
}

/// Sends a command and sets the activity.
pub(super) fn send(state: &mut State, command: Command) -> Effect {
    state.work = None;
    state.doing(match &command {
        Command::Submit(_) | Command::UseSkill { .. } | Command::Init | Command::Retry => {
            format!("waiting for {}", state.standing.model)
        }
        Command::Run(line) => format!("running {line}"),
        Command::Compact { .. } => "making room".to_string(),
        Command::ListSessions => "looking for sessions".to_string(),
        Command::Resume(_) => "opening the session".to_string(),
        _ => "working".to_string(),
    });
    if let Command::Submit(text) = &command {
        state.standing.meter.grow(Segment::History, text);
    }
    state.wants_compaction = matches!(command, Command::Compact { .. });
    state.pending += 1;
    Effect::Send(command)
}

/// Shows or hides the model's thoughts.
pub(super) fn toggle_thoughts(state: &mut State) -> Vec<Effect> {
    state.shows_thoughts = !state.shows_thoughts;
    let word = if state.shows_thoughts { "shown" } else { "hidden" };
    let notice = Notice::info(format!("Thoughts are {word} from now on."));
    vec![print(state, view::notice(&notice, state.width()))]
}

/// Switches to the next approval mode.
pub(super) fn next_mode(state: &mut State) -> Vec<Effect> {
    let mode = match state.standing.mode {
        ApprovalMode::Default => ApprovalMode::AutoEdit,
        ApprovalMode::AutoEdit => ApprovalMode::Plan,
        ApprovalMode::Plan | ApprovalMode::Yolo => ApprovalMode::Default,
    };
    // Auto-edit is not available in an untrusted folder.
    let mode = match mode {
        ApprovalMode::AutoEdit if !state.standing.is_trusted => ApprovalMode::Plan,
        mode => mode,
    };
    state.pending += 1;
    vec![Effect::Send(Command::SetMode(mode))]
}
