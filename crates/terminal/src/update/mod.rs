//! The update function: a key, a message or a frame changes the state and yields effects. Pure, so that it can be
//! tested without a terminal.

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
use crate::state::{Dialog, Files, LEAVING, Size, State};
use crate::style::Line;
use crate::view;

/// An input to the screen.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "each lives for one call")]
pub(crate) enum Input {
    /// A key was pressed.
    Key(KeyEvent, Arrival),
    /// Text was pasted.
    Paste(String),
    /// The terminal was resized.
    Resize(Size),
    /// A message from the driver.
    Message(Message),
    /// The files of the folder, once listed.
    Files(Vec<String>),
    /// The text as edited in the user's editor.
    Edited(String),
    /// The files were edited; the command follows.
    EditedFiles(Command),
    /// A notice about something that failed.
    Failed(Notice),
    /// A frame is about to be drawn.
    Frame,
    /// A request to leave.
    Leave,
}

/// The arrival of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Alone.
    Alone,
    /// Together with others.
    InBurst,
}

/// An effect to carry out.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Prints lines permanently.
    Print(Vec<Line>),
    /// Sends a command to the driver.
    Send(Command),
    /// Appends a line to the history file.
    Remember(String),
    /// Lists the files of the folder.
    FindFiles,
    /// Opens a text in the user's editor.
    Edit(String),
    /// Opens files in the user's editor, then sends the command.
    EditFiles(Vec<std::path::PathBuf>, Command),
    /// Copies a text to the clipboard.
    Copy(String),
    /// Clears the screen.
    ClearScreen,
    /// Suspends the program.
    Suspend,
    /// Rings the bell.
    Ring,
    /// Ends the program.
    Leave(Ended),
}

/// Handles an input: changes the state and returns the effects to carry out.
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

/// Handles Ctrl-C: stops the current work; pressed twice when idle, leaves.
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

/// Cancels the current work and every dialog that belongs to it.
fn cancel(state: &mut State) -> Vec<Effect> {
    let now = state.now;
    if let Some(work) = &mut state.work {
        *work = crate::state::Work { what: "stopping".into(), since: now, is_cancelled: true };
    }
    state.dialogs.retain(|dialog| !matches!(dialog, Dialog::Approval(_) | Dialog::Question(_)));
    // Stopping one message does not send the next: the queue goes back into the input.
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

/// Prints a folded text in full, the newest first.
fn unfold(state: &mut State) -> Vec<Effect> {
    let Some(place) = state.folded.len().checked_sub(state.unfolded + 1) else {
        return vec![print(state, view::notice(&Notice::info("Nothing more is folded."), state.width()))];
    };
    state.unfolded += 1;
    let lines = view::unfolded(&state.folded[place], state.width());
    vec![print(state, lines)]
}

/// Prints the finished lines of the answer before a frame.
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

/// Prints lines of a block that may have started before.
fn print_more(state: &mut State, lines: Vec<Line>) -> Effect {
    match std::mem::replace(&mut state.answer.has_begun, true) {
        false => print(state, lines),
        true => Effect::Print(lines),
    }
}
