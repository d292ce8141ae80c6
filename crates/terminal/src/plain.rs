//! Lines alone, one after the other: for screen readers, and for terminals that cannot be drawn on.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::command::{Command, Message, Notice};
use crate::history::HistoryFile;
use crate::run::first_state;
use crate::services::{Ended, Options, Surface};
use crate::signals::Signals;
use crate::state::{ApprovalStage, Dialog, Size, State};
use crate::style::{Line, Style, paragraphs};
use crate::update::{Effect, Input, update};
use crate::{editor_program, files, spoken, view};

/// Reads lines and prints lines until the user leaves or there are no more.
pub(crate) async fn run(
    options: &Options,
    commands: UnboundedSender<Command>,
    mut messages: UnboundedReceiver<Message>,
) -> io::Result<Ended> {
    let (mut state, history) = first_state(options);
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
    };
    for notice in &options.greeting {
        plain.take(Input::Failed(notice.clone()))?;
    }
    plain.prompt()?;
    let mut is_reading = true;
    while plain.is_over.is_none() {
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
            () = interrupts.next() => {
                plain.take(Input::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)))?;
            }
            signal = signals.next() => {
                plain.commands.send(Command::Leave).ok();
                return Ok(Ended::Signal(signal));
            }
        }
        if !is_reading && !plain.state.is_busy() && plain.state.dialogs.is_empty() {
            plain.take(Input::Key(KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL)))?;
        }
    }
    Ok(plain.is_over.unwrap_or(Ended::Left))
}

/// How wide lines may be. Who hears them wants them whole.
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
    /// How many questions are open that were printed.
    asked: usize,
    /// What the user was told to wait for.
    awaited: String,
    /// How things stood when it was told last.
    stood: String,
}

impl Plain<'_> {
    /// A line was typed: an answer where something is asked, else a message.
    fn line(&mut self, line: &str) -> io::Result<()> {
        let key = |code| Input::Key(KeyEvent::new(code, KeyModifiers::NONE));
        match self.state.dialogs.front_mut() {
            // What is typed takes the place of what was there, as nobody can move in it.
            Some(Dialog::Approval(approving)) if approving.stage == ApprovalStage::Editing => {
                let is_changed = !line.trim().is_empty();
                approving.field.set(if is_changed { line } else { "" });
                self.take(key(if is_changed { KeyCode::Enter } else { KeyCode::Esc }))?;
            }
            Some(Dialog::Approval(approving)) if approving.stage == ApprovalStage::Choosing => {
                match line.trim().chars().next() {
                    Some(letter) => self.take(key(KeyCode::Char(letter)))?,
                    None => self.take(key(KeyCode::Esc))?,
                }
            }
            Some(Dialog::Picker(_) | Dialog::Question(_)) if line.trim().is_empty() => {
                self.take(key(KeyCode::Esc))?;
            }
            _ => {
                self.take(Input::Paste(line.to_string()))?;
                self.state.completion = None;
                self.take(key(KeyCode::Enter))?;
            }
        }
        self.asked = 0;
        self.ask()?;
        self.prompt()
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

    /// Says what is awaited, once: nothing moves here that would show it.
    fn tell_awaited(&mut self) -> io::Result<()> {
        let state = &self.state;
        let awaited = match (&state.compaction, state.tools.last(), &state.work) {
            _ if !state.is_busy() || !state.dialogs.is_empty() => String::new(),
            (Some(compacting), ..) => format!("making room: {}", compacting.stage),
            (None, Some(tool), _) => format!("{} runs: {}", tool.name, view::what(&tool.preview)),
            // What arrives is heard anyway.
            (None, None, Some(work)) if work.what.starts_with("waiting") => work.what.clone(),
            _ => return Ok(()),
        };
        if awaited != self.awaited && !awaited.is_empty() {
            self.print(&[Line::new(format!("… {awaited}"), Style::FAINT).fit(self.state.width())])?;
        }
        self.awaited = awaited;
        Ok(())
    }

    /// Says how things stand, where that has changed.
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
                    self.take(Input::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)))?;
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

    /// Prints what is asked, once; tells whether it did.
    fn ask(&mut self) -> io::Result<bool> {
        let open = self.state.dialogs.len();
        let is_new = open > 0 && self.asked != open;
        if is_new {
            let mut lines = view::dialog_lines(&self.state);
            // There is no such key in a line: who says nothing means it.
            for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                span.text = span.text.replace("Esc ", "an empty line ");
            }
            self.print(&lines)?;
        }
        self.asked = open;
        Ok(is_new)
    }

    fn prompt(&self) -> io::Result<()> {
        if self.state.is_busy() && self.state.dialogs.is_empty() {
            return Ok(());
        }
        let prompt = match (self.options.surface, self.state.dialogs.front()) {
            (Surface::Spoken, None) => "Your message: ",
            (Surface::Spoken, Some(Dialog::Approval(approving))) => match approving.stage {
                ApprovalStage::Choosing => "Your answer, one letter: ",
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

/// Each time that the user presses Ctrl-C.
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
