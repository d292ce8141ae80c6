//! What follows from a key, a message or the passing of time: pure, so that it can be tested without a terminal.

mod dialog;
mod guard;
mod hear;
mod prompt;
mod review;
mod submit;

#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod review_tests;
#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::command::{Command, Message, Notice};
use crate::services::Ended;
use crate::state::{Dialog, Files, Size, State};
use crate::style::Line;
use crate::view;

pub(crate) use dialog::Choice;

/// Something that happens.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "each lives for one call")]
pub(crate) enum Input {
    /// A key was pressed.
    Key(KeyEvent, Arrival),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(Size),
    /// Whoever holds the agent has something to say.
    Message(Message),
    /// The files of the folder were listed.
    Files(Vec<String>),
    /// The user has left the editor with this text.
    Edited(String),
    /// The user has left the editor, and wants this done.
    EditedFiles(Command),
    /// Something could not be done.
    Failed(Notice),
    /// The screen is about to be drawn.
    Frame,
    /// It is time to leave.
    Leave,
}

/// How a key arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// By itself.
    Alone,
    /// Together with others.
    InBurst,
}

/// Something to be done.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// These lines are shown for good.
    Print(Vec<Line>),
    /// Whoever holds the agent is to do this.
    Send(Command),
    /// This is kept for later sessions.
    Remember(String),
    /// The files of the folder are to be listed.
    FindFiles,
    /// This is opened in the user's editor.
    Edit(String),
    /// These files are opened in the user's editor, and this is done if that goes well.
    EditFiles(Vec<std::path::PathBuf>, Command),
    /// This goes to the clipboard.
    Copy(String),
    /// The screen is cleared.
    ClearScreen,
    /// The program gives the terminal back until it is wanted again.
    Suspend,
    /// The user is to be called.
    Ring,
    /// The program ends.
    Leave(Ended),
}

/// After so long, pressing Ctrl-C again does not leave.
pub(crate) const LEAVING: std::time::Duration = std::time::Duration::from_secs(2);

/// What follows from something that happens.
pub(crate) fn update(state: &mut State, input: Input) -> Vec<Effect> {
    match input {
        Input::Key(key, _) if key.kind == KeyEventKind::Release => Vec::new(),
        Input::Key(key, arrival) => press(state, key, arrival),
        Input::Paste(text) if state.guard().is_some() => guard::paste(state, &text),
        Input::Paste(text) => {
            match state.dialogs.front_mut().and_then(dialog::field) {
                Some(field) => field.insert(&text),
                None => state.editor.paste(&text),
            }
            prompt::complete(state)
        }
        Input::Resize(size) => {
            state.size = size;
            Vec::new()
        }
        Input::Message(message) => hear::hear(state, message),
        Input::Files(files) => {
            state.files = Files::Known(files);
            prompt::complete(state)
        }
        Input::Edited(text) => {
            state.editor.set(text.trim_end());
            Vec::new()
        }
        Input::EditedFiles(then) => vec![submit::send(state, then)],
        Input::Failed(notice) => vec![print(state, view::notice(&notice, state.width()))],
        Input::Frame => frame(state),
        Input::Leave => leave(state),
    }
}

fn press(state: &mut State, key: KeyEvent, arrival: Arrival) -> Vec<Effect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if is_control => return stop(state),
        KeyCode::Char('l') if is_control => return vec![Effect::ClearScreen],
        KeyCode::Char('z') if is_control => return vec![Effect::Suspend],
        KeyCode::Char('o') if is_control => return unfold(state),
        KeyCode::Char('t') if is_control => return submit::toggle_thoughts(state),
        _ => {}
    }
    state.leaving = None;
    match state.dialogs.front() {
        Some(_) => guard::press(state, key, arrival),
        None => prompt::press(state, key),
    }
}

/// Ctrl-C: the current thing ends, and where there is none, the program does when it is pressed again.
fn stop(state: &mut State) -> Vec<Effect> {
    if let Some(dialog) = state.dialogs.front()
        && !matches!(dialog, Dialog::Approval(_))
    {
        return dialog::close(state);
    }
    if state.is_busy() {
        return cancel(state);
    }
    if !state.editor.is_empty() {
        state.completion = None;
        state.editor.cut(crate::editor::Move::End);
        state.editor.cut(crate::editor::Move::Start);
        return Vec::new();
    }
    match state.leaving.replace(state.now) {
        Some(first) if state.now.saturating_sub(first) < LEAVING => leave(state),
        _ => Vec::new(),
    }
}

/// Ends what is being done, and every question that belongs to it.
fn cancel(state: &mut State) -> Vec<Effect> {
    let now = state.now;
    if let Some(work) = &mut state.work {
        *work = crate::state::Work { what: "stopping".into(), since: now, is_cancelled: true };
    }
    state.dialogs.retain(|dialog| !matches!(dialog, Dialog::Approval(_) | Dialog::Question(_)));
    // Who stops one thing has not asked for the next: it can be changed first.
    if state.editor.is_empty() && !state.queue.is_empty() {
        let typed: Vec<String> = state.queue.drain(..).collect();
        state.editor.set(&typed.join("\n"));
    }
    vec![Effect::Send(Command::Cancel)]
}

pub(super) fn leave(state: &mut State) -> Vec<Effect> {
    state.queue.clear();
    state.dialogs.clear();
    state.doing("ending the session");
    vec![Effect::Send(Command::Leave)]
}

/// Shows in whole what was folded, the newest first.
fn unfold(state: &mut State) -> Vec<Effect> {
    let Some(place) = state.folded.len().checked_sub(state.unfolded + 1) else {
        return vec![print(state, view::notice(&Notice::info("Nothing more is folded."), state.width()))];
    };
    state.unfolded += 1;
    let lines = view::unfolded(&state.folded[place], state.width());
    vec![print(state, lines)]
}

/// What is finished is shown for good before the screen is drawn.
fn frame(state: &mut State) -> Vec<Effect> {
    if state.leaving.is_some_and(|first| state.now.saturating_sub(first) >= LEAVING) {
        state.leaving = None;
    }
    let (width, now) = (state.width(), state.now);
    if let Some(guard) = state.dialogs.front_mut().and_then(Dialog::guard_mut) {
        guard.see(now);
    }
    let lines = state.answer.streaming.finished_lines(width);
    if lines.is_empty() { Vec::new() } else { vec![print_more(state, lines)] }
}

/// Prints a block of lines.
fn print(state: &mut State, lines: Vec<Line>) -> Effect {
    Effect::Print(state.block(lines))
}

/// Prints lines of a block that may have begun before.
fn print_more(state: &mut State, lines: Vec<Line>) -> Effect {
    match std::mem::replace(&mut state.answer.has_begun, true) {
        false => print(state, lines),
        true => Effect::Print(lines),
    }
}
