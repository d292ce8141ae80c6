//! The event loop of the screen: keys, messages and frames.

use std::future::poll_fn;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use crate::command::{Command, Message, Notice};
use crate::history::{History, HistoryFile};
use crate::screen::{RawMode, Screen, unless_panicking};
use crate::script::{Move, Player};
use crate::services::{Ended, Options};
use crate::signals::Signals;
use crate::state::{Size, State};
use crate::style::Line;
use crate::update::{Arrival, Effect, Input, update};
use crate::{editor_program, files, view};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// The time between two frames of an animation.
const TICK: Duration = Duration::from_millis(100);
/// The most messages handled before keys are read again.
const BATCH: usize = 4_096;

/// The event loop of the screen.
pub(crate) struct Loop<'a> {
    options: &'a Options,
    state: State,
    screen: Screen<io::Stdout>,
    raw: Option<RawMode>,
    keys: Option<EventStream>,
    /// The demo player, which presses keys in the user's place.
    player: Option<Player>,
    commands: UnboundedSender<Command>,
    history: Option<HistoryFile>,
    /// Lines waiting to be printed.
    printed: Vec<Line>,
    started: Instant,
    drawn: Instant,
    is_dirty: bool,
    listing: Option<JoinHandle<Vec<String>>>,
    is_over: Option<Ended>,
}

impl<'a> Loop<'a> {
    pub(crate) fn enter(
        options: &'a Options,
        player: Option<Player>,
        commands: UnboundedSender<Command>,
    ) -> io::Result<Self> {
        let raw = RawMode::enter()?;
        let history = options.history.clone().map(HistoryFile::at);
        let mut state = State::start(options, History::load(history.as_ref()));
        state.size = size()?;
        if player.is_some() {
            // A script types nothing by accident.
            state.quiet = Duration::ZERO;
        }
        let now = Instant::now();
        let mut entered = Self {
            options,
            state,
            screen: Screen::new(io::stdout(), options.is_coloured),
            raw: Some(raw),
            keys: Some(EventStream::new()),
            player,
            commands,
            history,
            printed: Vec::new(),
            started: now,
            drawn: now,
            is_dirty: true,
            listing: None,
            is_over: None,
        };
        for notice in &options.greeting {
            entered.take(Input::Failed(notice.clone()))?;
        }
        entered.draw()?;
        Ok(entered)
    }

    pub(crate) async fn run(mut self, mut messages: UnboundedReceiver<Message>) -> io::Result<Ended> {
        let mut signals = Signals::with_interrupts()?;
        while self.is_over.is_none() {
            let wait = self.wait();
            let now = self.started.elapsed();
            let next_move = self.player.as_mut().and_then(|player| player.wait(&self.state, now));
            tokio::select! {
                biased;
                event = next(&mut self.keys) => match event {
                    Some(event) => {
                        let mut events = vec![event?];
                        events.extend(ready(&mut self.keys).await?);
                        self.take_events(events)?;
                    }
                    // The terminal is gone.
                    None => self.send(Command::Leave),
                },
                signal = signals.next() => {
                    self.send(Command::Leave);
                    self.close()?;
                    return Ok(Ended::Signal(signal));
                }
                message = messages.recv() => {
                    let Some(message) = message else { break };
                    self.take(Input::Message(message))?;
                    for _ in 0..BATCH {
                        let Ok(message) = messages.try_recv() else { break };
                        self.take(Input::Message(message))?;
                    }
                    self.is_dirty = true;
                }
                files = listed(&mut self.listing) => {
                    self.listing = None;
                    self.take(Input::Files(files))?;
                    self.is_dirty = true;
                }
                () = tokio::time::sleep(next_move.unwrap_or(TICK)), if next_move.is_some() => self.make_move()?,
                () = tokio::time::sleep(wait.unwrap_or(TICK)), if wait.is_some() => self.draw()?,
            }
        }
        self.close()?;
        Ok(self.is_over.unwrap_or(Ended::Left))
    }

    /// The time until the next frame; none if nothing changes.
    fn wait(&self) -> Option<Duration> {
        let interval = match (self.is_dirty, self.state.is_moving()) {
            (true, _) => FRAME,
            (false, true) => TICK,
            (false, false) => return None,
        };
        Some(interval.saturating_sub(self.drawn.elapsed()))
    }

    /// Handles events that arrived together. Several keys at once were typed ahead or pasted: no one types that fast.
    fn take_events(&mut self, events: Vec<TerminalEvent>) -> io::Result<()> {
        let is_press = |event: &&TerminalEvent| matches!(event, TerminalEvent::Key(key) if key.kind != KeyEventKind::Release);
        let arrival = match events.iter().filter(is_press).count() {
            0 | 1 => Arrival::Alone,
            _ => Arrival::InBurst,
        };
        for event in events {
            match event {
                TerminalEvent::Key(key) if self.player.is_some() => self.interrupt(key)?,
                TerminalEvent::Key(key) => self.take(Input::Key(key, arrival))?,
                TerminalEvent::Paste(_) if self.player.is_some() => {}
                TerminalEvent::Paste(text) => self.take(Input::Paste(text))?,
                TerminalEvent::Resize(width, height) => {
                    let size = Size { width: width.into(), height: height.into() };
                    if size.width != self.state.size.width {
                        self.screen.resize(size.width)?;
                    }
                    self.take(Input::Resize(size))?;
                }
                _ => {}
            }
        }
        // Typed text is drawn at once.
        self.draw()
    }

    /// Handles a key during a demo: Esc and Ctrl-C leave, any other key speeds it up.
    fn interrupt(&mut self, key: KeyEvent) -> io::Result<()> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => Ok(()),
            KeyCode::Esc => self.leave(),
            KeyCode::Char('c' | 'd') if is_control => self.leave(),
            _ => {
                self.player.iter().for_each(Player::hasten);
                Ok(())
            }
        }
    }

    /// Performs the script's next move.
    fn make_move(&mut self) -> io::Result<()> {
        let now = self.started.elapsed();
        match self.player.as_mut().map(|player| player.make_move(now)) {
            Some(Move::Press(key)) => self.take(Input::Key(key, Arrival::Alone))?,
            Some(Move::Leave) => self.leave()?,
            Some(Move::GoOn) | None => {}
        }
        self.draw()
    }

    /// Ends the demo.
    fn leave(&mut self) -> io::Result<()> {
        self.player = None;
        self.take(Input::Leave)
    }

    fn take(&mut self, input: Input) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        for effect in update(&mut self.state, input) {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Print(lines) => self.printed.extend(lines),
            Effect::Send(command) => self.send(command),
            Effect::Remember(text) => {
                if let Some(Err(error)) = self.history.as_ref().map(|file| file.append(&text)) {
                    self.history = None;
                    let text = format!("What you type is not kept for later sessions: {error}");
                    self.take(Input::Failed(Notice::warning(text)))?;
                }
            }
            Effect::FindFiles => {
                let folder = self.options.folder.clone();
                self.listing = Some(tokio::task::spawn_blocking(move || files::list(&folder)));
            }
            Effect::Edit(text) => self.edit(&text)?,
            Effect::EditFiles(files, then) => {
                self.step_back()?;
                let edited = editor_program::edit_files(&self.options.editor, &files);
                self.step_forward()?;
                self.take(edited.map_or_else(Input::Failed, |()| Input::EditedFiles(then)))?;
            }
            Effect::Copy(text) => self.screen.copy(&text)?,
            Effect::ClearScreen => self.screen.clear_all()?,
            Effect::Suspend => self.suspend()?,
            Effect::Ring => self.screen.ring()?,
            Effect::Leave(ended) => self.is_over = Some(ended),
        }
        Ok(())
    }

    fn send(&mut self, command: Command) {
        // A closed channel means that the driver is gone.
        if self.commands.send(command).is_err() {
            self.is_over = Some(Ended::Left);
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.take(Input::Frame)?;
        let frame = view::frame(&self.state);
        let printed = std::mem::take(&mut self.printed);
        unless_panicking(|| self.screen.draw(&printed, &frame))?;
        self.drawn = Instant::now();
        self.is_dirty = false;
        Ok(())
    }

    /// Opens a text in the user's editor.
    fn edit(&mut self, text: &str) -> io::Result<()> {
        self.step_back()?;
        let edited = editor_program::edit(&self.options.editor, text);
        self.step_forward()?;
        match edited {
            Ok(text) => self.take(Input::Edited(text)),
            Err(notice) => self.take(Input::Failed(notice)),
        }
    }

    /// Suspends the program until the shell resumes it.
    fn suspend(&mut self) -> io::Result<()> {
        self.step_back()?;
        crate::signals::suspend();
        self.step_forward()
    }

    fn step_back(&mut self) -> io::Result<()> {
        self.screen.clear_block()?;
        self.keys = None;
        self.raw = None;
        Ok(())
    }

    fn step_forward(&mut self) -> io::Result<()> {
        self.raw = Some(RawMode::enter()?);
        self.keys = Some(EventStream::new());
        self.state.size = size()?;
        self.is_dirty = true;
        Ok(())
    }

    /// Prints the remaining lines and restores the terminal.
    fn close(&mut self) -> io::Result<()> {
        let lines = self.printed.drain(..).map(|line| line.render(self.options.is_coloured) + "\r\n");
        let text: String = lines.collect();
        unless_panicking(|| {
            self.screen.clear_block()?;
            io::stdout().write_all(text.as_bytes())?;
            io::stdout().flush()
        })?;
        self.keys = None;
        self.raw = None;
        Ok(())
    }
}

fn size() -> io::Result<Size> {
    let (width, height) = crossterm::terminal::size()?;
    Ok(Size { width: usize::from(width).max(20), height: usize::from(height).max(6) })
}

/// The next terminal event.
async fn next(keys: &mut Option<EventStream>) -> Option<io::Result<TerminalEvent>> {
    match keys {
        Some(keys) => poll_fn(|context| Pin::new(&mut *keys).poll_next(context)).await,
        None => std::future::pending().await,
    }
}

/// The terminal events that have already arrived.
async fn ready(keys: &mut Option<EventStream>) -> io::Result<Vec<TerminalEvent>> {
    poll_fn(|context| {
        let mut events = Vec::new();
        while let Some(keys) = keys
            && let Poll::Ready(Some(event)) = Pin::new(keys).poll_next(context)
        {
            events.push(event);
        }
        Poll::Ready(events.into_iter().collect())
    })
    .await
}

/// The files of the folder, once listed.
async fn listed(listing: &mut Option<JoinHandle<Vec<String>>>) -> Vec<String> {
    match listing {
        // A failed listing counts as an empty one.
        Some(listing) => listing.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}
