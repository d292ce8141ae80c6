//! Lines alone, one after the other: for screen readers, and for terminals that cannot be drawn on.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::command::{Command, Message, Notice};
use crate::history::HistoryFile;
use crate::run::first_state;
use crate::services::{Ended, Options};
use crate::signals::Signals;
use crate::state::{ApprovalStage, Dialog, Size, State};
use crate::style::Line;
use crate::update::{Effect, Input, update};
use crate::{editor_program, files, view};

/// Reads lines and prints lines until the user leaves or there are no more.
pub(crate) async fn run(
    options: &Options,
    commands: UnboundedSender<Command>,
    mut messages: UnboundedReceiver<Message>,
) -> io::Result<Ended> {
    let (mut state, history) = first_state(options);
    state.size = Size { width: 100, height: 40 };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut signals = Signals::new()?;
    let mut interrupts = Interrupts::new()?;
    let mut plain =
        Plain { options, state, commands, history, started: Instant::now(), is_over: None, asked: 0 };
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
                plain.ask()?;
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

struct Plain<'a> {
    options: &'a Options,
    state: State,
    commands: UnboundedSender<Command>,
    history: Option<HistoryFile>,
    started: Instant,
    is_over: Option<Ended>,
    /// How many questions are open that were printed.
    asked: usize,
}

impl Plain<'_> {
    /// A line was typed: an answer where something is asked, else a message.
    fn line(&mut self, line: &str) -> io::Result<()> {
        let key = |code| Input::Key(KeyEvent::new(code, KeyModifiers::NONE));
        match self.state.dialogs.front() {
            Some(Dialog::Approval(approving)) if approving.stage == ApprovalStage::Choosing => {
                match line.trim().chars().next() {
                    Some(letter) => self.take(key(KeyCode::Char(letter)))?,
                    None => self.take(key(KeyCode::Esc))?,
                }
            }
            Some(Dialog::Picker(_)) if line.trim().is_empty() => self.take(key(KeyCode::Esc))?,
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
        if is_done {
            self.prompt()?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Print(lines) => print(&lines, self.options.is_coloured)?,
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

    /// Prints what is asked, once.
    fn ask(&mut self) -> io::Result<()> {
        let open = self.state.dialogs.len();
        if open > 0 && self.asked != open {
            let frame = view::dialog_lines(&self.state);
            print(&frame, self.options.is_coloured)?;
        }
        self.asked = open;
        Ok(())
    }

    fn prompt(&self) -> io::Result<()> {
        if self.state.is_busy() && self.state.dialogs.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout();
        out.write_all(b"> ")?;
        out.flush()
    }
}

fn print(lines: &[Line], is_coloured: bool) -> io::Result<()> {
    let text: String = lines.iter().map(|line| line.render(is_coloured) + "\n").collect();
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
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
