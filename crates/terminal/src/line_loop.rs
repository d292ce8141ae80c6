//! The line mode: plain lines in and out, for screen readers and for terminals that cannot be drawn on.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_display::{Style, StyledLine, paragraphs};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::history::{HistoryFile, InputHistory};
use crate::notice::Notice;
use crate::protocol::{DriverCommand, DriverMessage};
use crate::services::{ExitReason, Options, Surface};
use crate::signals::Signals;
use crate::state::{ApprovalChoice, ApprovalStage, Dialog, Focus, TerminalSize, UiState};
use crate::update::{Arrival, UiEffect, UiInput, update};
use crate::{editor_program, files, image, spoken, view};

/// Reads and prints lines until the user leaves or the input ends.
pub(crate) async fn run(
    options: &Options,
    commands: UnboundedSender<DriverCommand>,
    mut messages: UnboundedReceiver<DriverMessage>,
) -> io::Result<ExitReason> {
    let history = options.history.clone().map(HistoryFile::at);
    let mut state = UiState::start(options, InputHistory::load(history.as_ref()));
    state.size = TerminalSize { width: width(options.surface), height: 40 };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut signals = Signals::new()?;
    let mut interrupts = Interrupts::new()?;
    let mut line_loop = LineLoop {
        options,
        state,
        commands,
        history,
        started: Instant::now(),
        exit: None,
        printed_dialogs: 0,
        printed_activity: String::new(),
        printed_status: String::new(),
        is_prompt_due: false,
    };
    for notice in &options.greeting {
        line_loop.handle(UiInput::Failed(notice.clone()))?;
    }
    if let Some(prompt) = &options.first_prompt {
        line_loop.handle(UiInput::Submit(prompt.clone()))?;
    }
    line_loop.prompt()?;
    let mut is_reading = true;
    while line_loop.exit.is_none() {
        let wait = line_loop.wait();
        tokio::select! {
            line = lines.next_line(), if is_reading => match line? {
                Some(line) => line_loop.handle_line(&line)?,
                None => is_reading = false,
            },
            message = messages.recv() => {
                let Some(message) = message else { break };
                line_loop.handle(UiInput::Message(message))?;
                line_loop.handle(UiInput::Frame)?;
                if line_loop.print_dialog()? {
                    line_loop.prompt()?;
                }
            }
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => line_loop.prompt()?,
            () = interrupts.next() => line_loop.handle(key(KeyCode::Char('c'), KeyModifiers::CONTROL))?,
            signal = signals.next() => {
                line_loop.commands.send(DriverCommand::Leave).ok();
                return Ok(ExitReason::Signal(signal));
            }
        }
        // The input has ended: nothing is answered and nothing else is said.
        if !is_reading && !line_loop.state.dialogs.is_empty() {
            line_loop.handle(key(KeyCode::Esc, KeyModifiers::NONE))?;
        } else if !is_reading && !line_loop.state.is_busy() {
            line_loop.handle(key(KeyCode::Char('d'), KeyModifiers::CONTROL))?;
        }
    }
    Ok(line_loop.exit.unwrap_or(ExitReason::Left))
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> UiInput {
    UiInput::Key(KeyEvent::new(code, modifiers), Arrival::Alone)
}

/// The key of the choice that a line names by letter, number or word.
fn answer(line: &str, choices: &[ApprovalChoice]) -> Option<char> {
    let line = line.trim().to_lowercase();
    let is_meant = |(place, choice): &(usize, &ApprovalChoice)| {
        let word = match choice {
            ApprovalChoice::Once => "yes",
            ApprovalChoice::Always => "always",
            ApprovalChoice::Edit => "edit",
            ApprovalChoice::Deny => "no",
            ApprovalChoice::Reach(reach) => reach.name(),
            ApprovalChoice::Back => "back",
        };
        line == word || line == choice.key().to_string() || line == (place + 1).to_string()
    };
    choices.iter().enumerate().find(is_meant).map(|(_, choice)| choice.key())
}

/// The width of lines. Screen readers get whole lines.
fn width(surface: Surface) -> usize {
    match surface {
        Surface::Spoken => 2_000,
        _ => crossterm::terminal::size().map_or(100, |(width, _)| usize::from(width).max(20)),
    }
}

struct LineLoop<'a> {
    options: &'a Options,
    state: UiState,
    commands: UnboundedSender<DriverCommand>,
    history: Option<HistoryFile>,
    started: Instant,
    exit: Option<ExitReason>,
    /// The number of open dialogs that were printed.
    printed_dialogs: usize,
    /// The wait notice that was printed last.
    printed_activity: String,
    /// The status that was printed last.
    printed_status: String,
    /// True while the prompt waits until a line may answer the current dialog.
    is_prompt_due: bool,
}

impl LineLoop<'_> {
    /// Handles a line: an answer if a dialog is open, else a message. Only a line typed after the prompt answers a
    /// dialog; an earlier one was typed ahead.
    fn handle_line(&mut self, line: &str) -> io::Result<()> {
        let press = |code| key(code, KeyModifiers::NONE);
        self.state.now = self.started.elapsed();
        let focus = self.state.focus();
        let choices = match self.state.dialogs.front() {
            Some(Dialog::Approval(approving)) => approving.choices(),
            _ => Vec::new(),
        };
        match self.state.dialogs.front_mut() {
            Some(_) if focus == Focus::Pending && line.trim().is_empty() => {
                self.handle(press(KeyCode::Enter))?;
            }
            Some(_) if focus == Focus::Pending && answer(line, &choices).is_some() => {
                self.handle(press(KeyCode::Enter))?;
                self.notify("You answered before the question was shown. Answer again.")?;
            }
            Some(_) if focus == Focus::Pending => self.queue(line)?,
            // The line replaces the old text, because there is no cursor to edit it with.
            Some(Dialog::Approval(approving)) if approving.stage == ApprovalStage::Editing => {
                let is_changed = !line.trim().is_empty();
                approving.field.set(if is_changed { line } else { "" });
                self.handle(press(if is_changed { KeyCode::Enter } else { KeyCode::Esc }))?;
            }
            Some(Dialog::Approval(_)) if !choices.is_empty() => match answer(line, &choices) {
                Some(letter) => self.handle(press(KeyCode::Char(letter)))?,
                None if line.trim().is_empty() => self.handle(press(KeyCode::Esc))?,
                None => self.queue(line)?,
            },
            Some(Dialog::Picker(_) | Dialog::Question(_)) if line.trim().is_empty() => {
                self.handle(press(KeyCode::Esc))?;
            }
            _ => self.enter(line)?,
        }
        self.printed_dialogs = 0;
        self.print_dialog()?;
        self.prompt()
    }

    /// Types a line and submits it.
    fn enter(&mut self, line: &str) -> io::Result<()> {
        self.handle(UiInput::Paste(line.to_string()))?;
        self.state.completion = None;
        self.handle(key(KeyCode::Enter, KeyModifiers::NONE))
    }

    /// Queues a line that does not answer the current dialog as the next message.
    fn queue(&mut self, line: &str) -> io::Result<()> {
        let before = self.state.queue.len();
        self.enter(line)?;
        if self.state.queue.len() > before {
            self.notify("Not an answer: queued as your next message.")?;
        }
        Ok(())
    }

    fn notify(&mut self, text: &str) -> io::Result<()> {
        self.handle(UiInput::Failed(Notice::info(text)))
    }

    /// The time until the prompt is due, if it is waiting.
    fn wait(&self) -> Option<Duration> {
        let armed_at =
            self.state.guard().filter(|_| self.is_prompt_due)?.armed_at(self.state.quiet_period)?;
        Some(armed_at.saturating_sub(self.started.elapsed()))
    }

    fn handle(&mut self, input: UiInput) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        let is_done = matches!(input, UiInput::Message(DriverMessage::Done));
        for effect in update(&mut self.state, input) {
            self.run_effect(effect)?;
        }
        self.print_activity()?;
        if is_done {
            self.print_status()?;
            self.prompt()?;
        }
        Ok(())
    }

    /// Prints the current activity once, since nothing animates here.
    fn print_activity(&mut self) -> io::Result<()> {
        let state = &self.state;
        let awaited = match (&state.compaction, state.tools.last(), &state.activity) {
            _ if !state.is_busy() || !state.dialogs.is_empty() => String::new(),
            (Some(compacting), ..) => format!("compacting: {}", compacting.stage),
            (None, Some(tool), _) => format!("running {}: {}", tool.name, view::describe_call(&tool.preview)),
            // An arriving answer is printed anyway.
            (None, None, Some(work)) if work.description.starts_with("waiting") => work.description.clone(),
            _ => return Ok(()),
        };
        if awaited != self.printed_activity && !awaited.is_empty() {
            self.print(&[StyledLine::new(format!("… {awaited}"), Style::FAINT).fit(self.state.width())])?;
        }
        self.printed_activity = awaited;
        Ok(())
    }

    /// Prints the status if it has changed.
    fn print_status(&mut self) -> io::Result<()> {
        let status = spoken::status(&self.state.status);
        if self.state.is_busy() || status == self.printed_status {
            return Ok(());
        }
        self.print(&paragraphs(&format!("[{status}]"), Style::FAINT, self.state.width()))?;
        self.printed_status = status;
        Ok(())
    }

    fn print(&self, lines: &[StyledLine]) -> io::Result<()> {
        let text: String = match self.options.surface {
            Surface::Spoken => lines.iter().filter_map(spoken::words).map(|line| line + "\n").collect(),
            _ => {
                let palette = self.state.preferences.palette.as_ref();
                lines.iter().map(|line| line.render(palette) + "\n").collect()
            }
        };
        let mut out = io::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn run_effect(&mut self, effect: UiEffect) -> io::Result<()> {
        match effect {
            UiEffect::Print(lines) => self.print(&lines)?,
            UiEffect::Send(command) => {
                if self.commands.send(command).is_err() {
                    self.exit = Some(ExitReason::Left);
                }
            }
            UiEffect::Remember(text) => {
                if self.history.as_ref().is_some_and(|file| file.append(&text).is_err()) {
                    self.history = None;
                }
            }
            UiEffect::FindFiles => {
                let files = files::list(&self.options.folder);
                self.handle(UiInput::Files(files))?;
            }
            UiEffect::Edit(text) => match editor_program::edit(&self.options.editor, &text) {
                Ok(text) => {
                    self.handle(UiInput::Edited(text))?;
                    self.handle(key(KeyCode::Enter, KeyModifiers::NONE))?;
                }
                Err(notice) => self.handle(UiInput::Failed(notice))?,
            },
            UiEffect::EditFiles(files, then) => {
                let edited = editor_program::edit_files(&self.options.editor, &files);
                self.handle(edited.map_or_else(UiInput::Failed, |()| UiInput::EditedFiles(then)))?;
            }
            UiEffect::EditProposal(id, proposal) => {
                let edited = editor_program::edit_proposal(&self.options.editor, &proposal);
                self.handle(UiInput::EditedProposal(id, edited))?;
            }
            UiEffect::LoadImage(path, text) => {
                let image = image::load(&path, self.options.user_home.as_deref());
                self.handle(UiInput::Image(image, text))?;
            }
            UiEffect::Copy(_) => {
                let notice = Notice::warning("No clipboard in line mode.");
                self.handle(UiInput::Failed(notice))?;
            }
            UiEffect::ClearScreen
            | UiEffect::Suspend
            | UiEffect::Ring
            | UiEffect::Notify(_)
            | UiEffect::PasteImage => {}
            UiEffect::Leave(ended) => self.exit = Some(ended),
        }
        Ok(())
    }

    /// Prints the current dialog once; returns true if it did.
    fn print_dialog(&mut self) -> io::Result<bool> {
        let open = self.state.dialogs.len();
        let is_new = open > 0 && self.printed_dialogs != open;
        if is_new {
            self.handle(UiInput::Frame)?;
            let mut lines = view::dialog_lines(&self.state);
            // There is no Esc key in line mode: an empty line takes its place.
            for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                span.text = span.text.replace("Esc ", "an empty line ");
            }
            self.print(&lines)?;
        }
        self.printed_dialogs = open;
        Ok(is_new)
    }

    fn prompt(&mut self) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        self.is_prompt_due = self.state.focus() == Focus::Pending;
        if self.is_prompt_due || self.state.is_busy() && self.state.dialogs.is_empty() {
            return Ok(());
        }
        let prompt = match (self.options.surface, self.state.dialogs.front()) {
            (Surface::Spoken, None) => "Your message: ",
            (Surface::Spoken, Some(Dialog::Approval(approving))) => match approving.stage {
                ApprovalStage::Choosing | ApprovalStage::Always => "Your answer, one letter: ",
                ApprovalStage::Reason => "Your reason: ",
                ApprovalStage::Editing => "Your edit: ",
            },
            (Surface::Spoken, Some(_)) => "Your answer: ",
            _ => "> ",
        };
        let mut out = io::stdout();
        out.write_all(prompt.as_bytes())?;
        out.flush()
    }
}

/// A stream of Ctrl-C presses.
struct Interrupts {
    #[cfg(unix)]
    signals: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    fn new() -> io::Result<Self> {
        let kind = tokio::signal::unix::SignalKind::interrupt();
        Ok(Self { signals: tokio::signal::unix::signal(kind)? })
    }

    async fn next(&mut self) {
        self.signals.recv().await;
    }
}

#[cfg(not(unix))]
impl Interrupts {
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_policy::Reach;

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<char>) {
        let choices =
            [ApprovalChoice::Once, ApprovalChoice::Always, ApprovalChoice::Edit, ApprovalChoice::Deny];
        assert_eq!(answer(line, &choices), expected, "{line:?}");
    }

    #[test]
    fn a_line_answers_with_nothing_beside_the_answer() {
        check("y", Some('y'));
        check(" Yes ", Some('y'));
        check("2", Some('a'));
        check("always", Some('a'));
        check("N", Some('n'));
        check("no", Some('n'));
        check("and please also add a test for that, and a changelog entry as always", None);
        check("yes please", None);
        check("yy", None);
        check("5", None);
        check("", None);
        check("s", None);
        let reaches = [
            ApprovalChoice::Reach(Reach::Session),
            ApprovalChoice::Reach(Reach::Everywhere),
            ApprovalChoice::Back,
        ];
        assert_eq!(answer("everywhere", &reaches), Some('e'));
        assert_eq!(answer("2", &reaches), Some('e'));
        assert_eq!(answer("yes", &reaches), None);
    }
}
