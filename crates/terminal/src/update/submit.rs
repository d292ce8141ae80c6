//! What becomes of a message that was typed: words for the model, a command, or a place in the queue.

use longhaul_policy::ApprovalMode;

use super::{Effect, leave, print};
use crate::command::{Command, Notice, Segment};
use crate::slash::{self, Meant};
use crate::state::State;
use crate::view;

/// Does what was typed, now or when there is time.
pub(super) fn submit(state: &mut State, typed: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    if state.history.add(typed) {
        effects.push(Effect::Remember(typed.to_string()));
    }
    effects.extend(if is_command(typed) { command(state, typed) } else { later_or_now(state, typed) });
    effects
}

/// Whether a line is a command: one that begins with a path is not.
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

/// Sends the next message that was typed ahead.
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

/// Sends a command and says what is being done.
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

/// Shows or hides what the model thinks.
pub(super) fn toggle_thoughts(state: &mut State) -> Vec<Effect> {
    state.shows_thoughts = !state.shows_thoughts;
    let word = if state.shows_thoughts { "shown" } else { "hidden" };
    let notice = Notice::info(format!("Thoughts are {word} from now on."));
    vec![print(state, view::notice(&notice, state.width()))]
}

/// Goes on to the next way of being asked.
pub(super) fn next_mode(state: &mut State) -> Vec<Effect> {
    let mode = match state.standing.mode {
        ApprovalMode::Default => ApprovalMode::AutoEdit,
        ApprovalMode::AutoEdit => ApprovalMode::Plan,
        ApprovalMode::Plan | ApprovalMode::Yolo => ApprovalMode::Default,
    };
    // In a folder without trust, nothing is free.
    let mode = match mode {
        ApprovalMode::AutoEdit if !state.standing.is_trusted => ApprovalMode::Plan,
        mode => mode,
    };
    state.pending += 1;
    vec![Effect::Send(Command::SetMode(mode))]
}
