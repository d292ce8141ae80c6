//! The line mode: plain lines in and out, for screen readers and for terminals that cannot be drawn on.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::command::{Command, Message, Notice};
use crate::history::{History, HistoryFile};
use crate::services::{Ended, Options, Surface};
use crate::signals::Signals;
use crate::state::{ApprovalStage, Choice, Dialog, Focus, Size, State};
use crate::style::{Line, Style, paragraphs};
use crate::update::{Arrival, Effect, Input, update};
use crate::{editor_program, files, spoken, view};

/// Reads and prints lines until the user leaves or the input ends.
pub(crate) async fn run(
    options: &Options,
    commands: UnboundedSender<Command>,
    mut messages: UnboundedReceiver<Message>,
) -> io::Result<Ended> {
    let history = options.history.clone().map(HistoryFile::at);
    let mut state = State::start(options, History::load(history.as_ref()));
    state.size = Size { width: width(options.surface), height: 40 };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut signals = Signals::new()?;
    let mut interrupts = Interrupts::new()?;
    let mut plain = Plain {
        options,
        state,
        commands,
        history,
        started: Instant::now(),
        is_over: None,
        asked: 0,
        awaited: String::new(),
        stood: String::new(),
        is_prompt_due: false,
    };
    for notice in &options.greeting {
        plain.take(Input::Failed(notice.clone()))?;
    }
    plain.prompt()?;
    let mut is_reading = true;
    while plain.is_over.is_none() {
        let wait = plain.wait();
        tokio::select! {
            line = lines.next_line(), if is_reading => match line? {
                Some(line) => plain.line(&line)?,
                None => is_reading = false,
            },
            message = messages.recv() => {
                let Some(message) = message else { break };
                plain.take(Input::Message(message))?;
                plain.take(Input::Frame)?;
                if plain.ask()? {
                    plain.prompt()?;
                }
            }
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => plain.prompt()?,
            () = interrupts.next() => plain.take(key(KeyCode::Char('c'), KeyModifiers::CONTROL))?,
            signal = signals.next() => {
                plain.commands.send(Command::Leave).ok();
                return Ok(Ended::Signal(signal));
            }
        }
        // The input has ended: nothing is answered and nothing else is said.
        if !is_reading && !plain.state.dialogs.is_empty() {
            plain.take(key(KeyCode::Esc, KeyModifiers::NONE))?;
        } else if !is_reading && !plain.state.is_busy() {
            plain.take(key(KeyCode::Char('d'), KeyModifiers::CONTROL))?;
        }
    }
    Ok(plain.is_over.unwrap_or(Ended::Left))
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Key(KeyEvent::new(code, modifiers), Arrival::Alone)
}

/// The key of the choice that a line names by letter, number or word.
fn answer(line: &str, choices: &[Choice]) -> Option<char> {
    let line = line.trim().to_lowercase();
    let is_meant = |(place, choice): &(usize, &Choice)| {
        let word = match choice {
            Choice::Once => "yes",
            Choice::Always => "always",
            Choice::Edit => "edit",
            Choice::Deny => "no",
            Choice::Reach(reach) => reach.name(),
            Choice::Back => "back",
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

struct Plain<'a> {
    options: &'a Options,
    state: State,
    commands: UnboundedSender<Command>,
    history: Option<HistoryFile>,
    started: Instant,
    is_over: Option<Ended>,
    /// The number of open dialogs that were printed.
    asked: usize,
    /// The wait notice that was printed last.
    awaited: String,
    /// The status that was printed last.
    stood: String,
    /// True while the prompt waits until a line may answer the current dialog.
    is_prompt_due: bool,
}

impl Plain<'_> {
    /// Handles a line: an answer if a dialog is open, else a message. Only a line typed after the prompt answers a
    /// dialog; an earlier one was typed ahead.
    fn line(&mut self, line: &str) -> io::Result<()> {
        let press = |code| key(code, KeyModifiers::NONE);
        self.state.now = self.started.elapsed();
        let focus = self.state.focus();
        let choices = match self.state.dialogs.front() {
            Some(Dialog::Approval(approving)) => approving.choices(),
            _ => Vec::new(),
        };
        match self.state.dialogs.front_mut() {
            Some(_) if focus == Focus::Soon && line.trim().is_empty() => self.take(press(KeyCode::Enter))?,
            Some(_) if focus == Focus::Soon && answer(line, &choices).is_some() => {
                self.take(press(KeyCode::Enter))?;
                self.say("That came before the question could be read. Answer once more.")?;
            }
            Some(_) if focus == Focus::Soon => self.queue(line)?,
            // The line replaces the old text, because there is no cursor to edit it with.
            Some(Dialog::Approval(approving)) if approving.stage == ApprovalStage::Editing => {
                let is_changed = !line.trim().is_empty();
                approving.field.set(if is_changed { line } else { "" });
                self.take(press(if is_changed { KeyCode::Enter } else { KeyCode::Esc }))?;
            }
            Some(Dialog::Approval(_)) if !choices.is_empty() => match answer(line, &choices) {
                Some(letter) => self.take(press(KeyCode::Char(letter)))?,
                None if line.trim().is_empty() => self.take(press(KeyCode::Esc))?,
                None => self.queue(line)?,
            },
            Some(Dialog::Picker(_) | Dialog::Question(_)) if line.trim().is_empty() => {
                self.take(press(KeyCode::Esc))?;
            }
            _ => self.enter(line)?,
        }
        self.asked = 0;
        self.ask()?;
        self.prompt()
    }

    /// Types a line and submits it.
    fn enter(&mut self, line: &str) -> io::Result<()> {
        self.take(Input::Paste(line.to_string()))?;
        self.state.completion = None;
        self.take(key(KeyCode::Enter, KeyModifiers::NONE))
    }

    /// Queues a line that does not answer the current dialog as the next message.
    fn queue(&mut self, line: &str) -> io::Result<()> {
        let before = self.state.queue.len();
        self.enter(line)?;
        if self.state.queue.len() > before {
            self.say("This is your next message, and no answer.")?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.take(Input::Failed(Notice::info(text)))
    }

    /// The time until the prompt is due, if it is waiting.
    fn wait(&self) -> Option<Duration> {
        let armed_at = self.state.guard().filter(|_| self.is_prompt_due)?.armed_at(self.state.quiet)?;
        Some(armed_at.saturating_sub(self.started.elapsed()))
    }

    fn take(&mut self, input: Input) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        let is_done = matches!(input, Input::Message(Message::Done));
        for effect in update(&mut self.state, input) {
            self.carry_out(effect)?;
        }
        self.tell_awaited()?;
        if is_done {
            self.tell_standing()?;
            self.prompt()?;
        }
        Ok(())
    }

    /// Prints the current activity once, since nothing animates here.
    fn tell_awaited(&mut self) -> io::Result<()> {
        let state = &self.state;
        let awaited = match (&state.compaction, state.tools.last(), &state.work) {
            _ if !state.is_busy() || !state.dialogs.is_empty() => String::new(),
            (Some(compacting), ..) => format!("making room: {}", compacting.stage),
            (None, Some(tool), _) => format!("{} runs: {}", tool.name, view::what(&tool.preview)),
            // An arriving answer is printed anyway.
            (None, None, Some(work)) if work.what.starts_with("waiting") => work.what.clone(),
            _ => return Ok(()),
        };
        if awaited != self.awaited && !awaited.is_empty() {
            self.print(&[Line::new(format!("… {awaited}"), Style::FAINT).fit(self.state.width())])?;
        }
        self.awaited = awaited;
        Ok(())
    }

    /// Prints the status if it has changed.
    fn tell_standing(&mut self) -> io::Result<()> {
        let standing = spoken::standing(&self.state.standing);
        if self.state.is_busy() || standing == self.stood {
            return Ok(());
        }
        self.print(&paragraphs(&format!("[{standing}]"), Style::FAINT, self.state.width()))?;
        self.stood = standing;
        Ok(())
    }

    fn print(&self, lines: &[Line]) -> io::Result<()> {
        let text: String = match self.options.surface {
            Surface::Spoken => lines.iter().filter_map(spoken::words).map(|line| line + "\n").collect(),
            _ => lines.iter().map(|line| line.render(self.options.is_coloured) + "\n").collect(),
        };
        let mut out = io::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Print(lines) => self.print(&lines)?,
            Effect::Send(command) => {
                if self.commands.send(command).is_err() {
                    self.is_over = Some(Ended::Left);
                }
            }
            Effect::Remember(text) => {
                if self.history.as_ref().is_some_and(|file| file.append(&text).is_err()) {
                    self.history = None;
                }
            }
            Effect::FindFiles => {
                let files = files::list(&self.options.folder);
                self.take(Input::Files(files))?;
            }
            Effect::Edit(text) => match editor_program::edit(&self.options.editor, &text) {
                Ok(text) => {
                    self.take(Input::Edited(text))?;
                    self.take(key(KeyCode::Enter, KeyModifiers::NONE))?;
                }
                Err(notice) => self.take(Input::Failed(notice))?,
            },
            Effect::EditFiles(files, then) => {
                let edited = editor_program::edit_files(&self.options.editor, &files);
                self.take(edited.map_or_else(Input::Failed, |()| Input::EditedFiles(then)))?;
            }
            Effect::Copy(_) => {
                let notice = Notice::warning("There is no clipboard here.");
                self.take(Input::Failed(notice))?;
            }
            Effect::ClearScreen | Effect::Suspend | Effect::Ring => {}
            Effect::Leave(ended) => self.is_over = Some(ended),
        }
        Ok(())
    }

    /// Prints the current dialog once; returns true if it did.
    fn ask(&mut self) -> io::Result<bool> {
        let open = self.state.dialogs.len();
        let is_new = open > 0 && self.asked != open;
        if is_new {
            self.take(Input::Frame)?;
            let mut lines = view::dialog_lines(&self.state);
            // There is no Esc key in line mode: an empty line takes its place.
            for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                span.text = span.text.replace("Esc ", "an empty line ");
            }
            self.print(&lines)?;
        }
        self.asked = open;
        Ok(is_new)
    }

    fn prompt(&mut self) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        self.is_prompt_due = self.state.focus() == Focus::Soon;
        if self.is_prompt_due || self.state.is_busy() && self.state.dialogs.is_empty() {
            return Ok(());
        }
        let prompt = match (self.options.surface, self.state.dialogs.front()) {
            (Surface::Spoken, None) => "Your message: ",
            (Surface::Spoken, Some(Dialog::Approval(approving))) => match approving.stage {
                ApprovalStage::Choosing | ApprovalStage::Always => "Your answer, one letter: ",
                ApprovalStage::Reason => "Your reason: ",
                ApprovalStage::Editing => "Your change: ",
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
        let choices = [Choice::Once, Choice::Always, Choice::Edit, Choice::Deny];
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
        let reaches = [Choice::Reach(Reach::Session), Choice::Reach(Reach::Everywhere), Choice::Back];
        assert_eq!(answer("everywhere", &reaches), Some('e'));
        assert_eq!(answer("2", &reaches), Some('e'));
        assert_eq!(answer("yes", &reaches), None);
    }
}
