//! The update function: a key, a message or a frame changes the state and yields effects. Pure, so that it can be
//! tested without a terminal.

mod dialog;
mod guard;
mod messages;
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
use longhaul_display::StyledLine;
use longhaul_tools::Proposal;

use crate::image::PastedImage;
use crate::notice::Notice;
use crate::protocol::{DriverCommand, DriverMessage, PromptId};
use crate::services::ExitReason;
use crate::state::{Dialog, EXIT_WINDOW, FileList, TerminalSize, UiState};
use crate::view;

/// An input to the screen.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "each lives for one call")]
pub(crate) enum UiInput {
    /// A key was pressed.
    Key(KeyEvent, Arrival),
    /// Text was pasted.
    Paste(String),
    /// The terminal was resized.
    Resize(TerminalSize),
    /// A message from the driver.
    Message(DriverMessage),
    /// The files of the folder, once listed.
    Files(Vec<String>),
    /// The text as edited in the user's editor.
    Edited(String),
    /// The proposed file as edited in the user's editor.
    EditedProposal(PromptId, Result<String, Notice>),
    /// An image that was pasted, or the reason why there is none with the pasted text.
    Image(Result<PastedImage, Notice>, String),
    /// The files were edited; the command follows.
    EditedFiles(DriverCommand),
    /// A notice about something that failed.
    Failed(Notice),
    /// A line that the program submits for the user.
    Submit(String),
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
pub(crate) enum UiEffect {
    /// Prints lines permanently.
    Print(Vec<StyledLine>),
    /// Sends a command to the driver.
    Send(DriverCommand),
    /// Appends a line to the history file.
    Remember(String),
    /// Lists the files of the folder.
    FindFiles,
    /// Opens a text in the user's editor.
    Edit(String),
    /// Opens a proposed file in the user's editor.
    EditProposal(PromptId, Proposal),
    /// Reads an image from the clipboard.
    PasteImage,
    /// Reads an image from a file whose path was pasted as this text.
    LoadImage(std::path::PathBuf, String),
    /// Shows a message outside of the terminal's text, as the user prefers.
    Notify(String),
    /// Opens files in the user's editor, then sends the command.
    EditFiles(Vec<std::path::PathBuf>, DriverCommand),
    /// Copies a text to the clipboard.
    Copy(String),
    /// Clears the screen.
    ClearScreen,
    /// Suspends the program.
    Suspend,
    /// Rings the bell.
    Ring,
    /// Ends the program.
    Leave(ExitReason),
}

/// Handles an input: changes the state and returns the effects to carry out.
pub(crate) fn update(state: &mut UiState, input: UiInput) -> Vec<UiEffect> {
    match input {
        UiInput::Key(key, _) if key.kind == KeyEventKind::Release => Vec::new(),
        UiInput::Key(key, arrival) => press(state, key, arrival),
        UiInput::Paste(text) if state.guard().is_some() => guard::paste(state, &text),
        UiInput::Paste(text) => {
            match state.dialogs.front_mut().and_then(dialog::field) {
                Some(field) => field.insert(&text),
                None => return prompt::paste(state, text),
            }
            prompt::complete(state)
        }
        UiInput::Resize(size) => {
            state.size = size;
            Vec::new()
        }
        UiInput::Message(message) => messages::handle_message(state, message),
        UiInput::Files(files) => {
            state.files = FileList::Known(files);
            prompt::complete(state)
        }
        UiInput::Edited(text) => {
            state.editor.set(text.trim_end());
            Vec::new()
        }
        UiInput::EditedProposal(id, text) => dialog::apply_rewrite(state, id, text),
        UiInput::Image(image, text) => prompt::take_image(state, image, &text),
        UiInput::EditedFiles(then) => vec![submit::send(state, then)],
        UiInput::Failed(notice) => vec![print(state, view::notice(&notice, state.width()))],
        UiInput::Submit(typed) => submit::submit(state, &typed),
        UiInput::Frame => frame(state),
        UiInput::Leave => leave(state),
    }
}

fn press(state: &mut UiState, key: KeyEvent, arrival: Arrival) -> Vec<UiEffect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if is_control => return stop(state),
        KeyCode::Char('l') if is_control => return vec![UiEffect::ClearScreen],
        KeyCode::Char('z') if is_control => return vec![UiEffect::Suspend],
        KeyCode::Char('o') if is_control => return unfold(state),
        KeyCode::Char('t') if is_control => return submit::toggle_thoughts(state),
        _ => {}
    }
    state.exit_pressed = None;
    match state.dialogs.front() {
        Some(_) => guard::press(state, key, arrival),
        None => prompt::press(state, key),
    }
}

/// Handles Ctrl-C: stops the current work; pressed twice when idle, leaves.
fn stop(state: &mut UiState) -> Vec<UiEffect> {
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
        state.editor.cut(crate::editor::CursorMove::End);
        state.editor.cut(crate::editor::CursorMove::Start);
        return Vec::new();
    }
    match state.exit_pressed.replace(state.now) {
        Some(first) if state.now.saturating_sub(first) < EXIT_WINDOW => leave(state),
        _ => Vec::new(),
    }
}

/// Cancels the current work and every dialog that belongs to it.
fn cancel(state: &mut UiState) -> Vec<UiEffect> {
    let now = state.now;
    if let Some(work) = &mut state.activity {
        *work =
            crate::state::CurrentActivity { description: "stopping".into(), since: now, is_cancelled: true };
    }
    state.dialogs.retain(|dialog| !matches!(dialog, Dialog::Approval(_) | Dialog::Question(_)));
    // Stopping one message does not send the next: the queue goes back into the input.
    if state.editor.is_empty() && !state.queue.is_empty() {
        let typed: Vec<String> = state.queue.drain(..).collect();
        state.editor.set(&typed.join("\n"));
    }
    vec![UiEffect::Send(DriverCommand::Cancel)]
}

pub(super) fn leave(state: &mut UiState) -> Vec<UiEffect> {
    state.queue.clear();
    state.dialogs.clear();
    state.set_activity("ending the session");
    vec![UiEffect::Send(DriverCommand::Leave)]
}

/// Prints a folded text in full, the newest first.
fn unfold(state: &mut UiState) -> Vec<UiEffect> {
    let Some(place) = state.folded.len().checked_sub(state.unfolded + 1) else {
        return vec![print(state, view::notice(&Notice::info("Nothing more to unfold."), state.width()))];
    };
    state.unfolded += 1;
    let lines = view::unfolded(&state.folded[place], state.width());
    vec![print(state, lines)]
}

/// Prints the finished lines of the answer before a frame.
fn frame(state: &mut UiState) -> Vec<UiEffect> {
    if state.exit_pressed.is_some_and(|first| state.now.saturating_sub(first) >= EXIT_WINDOW) {
        state.exit_pressed = None;
    }
    let (width, now) = (state.width(), state.now);
    if let Some(guard) = state.dialogs.front_mut().and_then(Dialog::guard_mut) {
        guard.mark_drawn(now);
    }
    let lines = state.answer.streaming.finished_lines(width);
    if lines.is_empty() { Vec::new() } else { vec![print_more(state, lines)] }
}

/// Prints a block of lines.
fn print(state: &mut UiState, lines: Vec<StyledLine>) -> UiEffect {
    UiEffect::Print(state.block(lines))
}

/// Prints a block that is no part of an arriving answer.
fn print_apart(state: &mut UiState, lines: Vec<StyledLine>) -> UiEffect {
    // What follows of the answer is separated from it.
    state.answer.has_begun = false;
    print(state, lines)
}

/// Prints lines of a block that may have started before.
fn print_more(state: &mut UiState, lines: Vec<StyledLine>) -> UiEffect {
    match std::mem::replace(&mut state.answer.has_begun, true) {
        false => print(state, lines),
        true => UiEffect::Print(lines),
    }
}
