//! The event loop of the screen: keys, messages and frames.

use std::future::poll_fn;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_core::Stream;
use longhaul_display::StyledLine;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use crate::demo::{Player, PlayerMove};
use crate::history::{HistoryFile, InputHistory};
use crate::image::PastedImage;
use crate::notice::Notice;
use crate::protocol::{DriverCommand, DriverMessage};
use crate::screen::{InlineScreen, RawMode, unless_panicking};
use crate::services::{ExitReason, Options};
use crate::signals::Signals;
use crate::state::{TerminalSize, UiState};
use crate::update::{Arrival, UiEffect, UiInput, update};
use crate::{editor_program, files, image, view};

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// The time between two frames of an animation.
const TICK: Duration = Duration::from_millis(100);
/// The most messages handled before keys are read again.
const BATCH: usize = 4_096;

/// The event loop of the screen.
pub(crate) struct ScreenLoop<'a> {
    options: &'a Options,
    state: UiState,
    screen: InlineScreen<io::Stdout>,
    raw: Option<RawMode>,
    keys: Option<EventStream>,
    /// The demo player, which presses keys in the user's place.
    player: Option<Player>,
    commands: UnboundedSender<DriverCommand>,
    history: Option<HistoryFile>,
    /// Lines waiting to be printed.
    printed: Vec<StyledLine>,
    started: Instant,
    drawn: Instant,
    is_dirty: bool,
    listing: Option<JoinHandle<Vec<String>>>,
    pasting: Option<JoinHandle<Result<PastedImage, Notice>>>,
    exit: Option<ExitReason>,
}

impl<'a> ScreenLoop<'a> {
    pub(crate) fn enter(
        options: &'a Options,
        player: Option<Player>,
        commands: UnboundedSender<DriverCommand>,
    ) -> io::Result<Self> {
        let raw = RawMode::enter()?;
        let history = options.history.clone().map(HistoryFile::at);
        let mut state = UiState::start(options, InputHistory::load(history.as_ref()));
        state.size = size()?;
        if player.is_some() {
            // A script types nothing by accident.
            state.quiet_period = Duration::ZERO;
        }
        let now = Instant::now();
        let mut entered = Self {
            options,
            state,
            screen: InlineScreen::new(io::stdout(), options.preferences.palette.clone()),
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
            pasting: None,
            exit: None,
        };
        for notice in &options.greeting {
            entered.handle(UiInput::Failed(notice.clone()))?;
        }
        if let Some(prompt) = &options.first_prompt {
            entered.handle(UiInput::Submit(prompt.clone()))?;
        }
        entered.draw()?;
        Ok(entered)
    }

    pub(crate) async fn run(
        mut self,
        mut messages: UnboundedReceiver<DriverMessage>,
    ) -> io::Result<ExitReason> {
        let mut signals = Signals::with_interrupts()?;
        while self.exit.is_none() {
            let wait = self.wait();
            let now = self.started.elapsed();
            let next_move = self.player.as_mut().and_then(|player| player.wait(&self.state, now));
            tokio::select! {
                biased;
                event = next(&mut self.keys) => match event {
                    Some(event) => {
                        let mut events = vec![event?];
                        events.extend(ready(&mut self.keys).await?);
                        self.handle_events(events)?;
                    }
                    // The terminal is gone.
                    None => self.send(DriverCommand::Leave),
                },
                signal = signals.next() => {
                    self.send(DriverCommand::Leave);
                    self.close()?;
                    return Ok(ExitReason::Signal(signal));
                }
                message = messages.recv() => {
                    let Some(message) = message else { break };
                    self.handle(UiInput::Message(message))?;
                    for _ in 0..BATCH {
                        let Ok(message) = messages.try_recv() else { break };
                        self.handle(UiInput::Message(message))?;
                    }
                    self.is_dirty = true;
                }
                files = finished(&mut self.listing) => {
                    self.listing = None;
                    // A failed listing counts as an empty one.
                    self.handle(UiInput::Files(files.unwrap_or_default()))?;
                    self.is_dirty = true;
                }
                image = finished(&mut self.pasting) => {
                    self.pasting = None;
                    let failed = |_| Err(Notice::error("Could not read the clipboard."));
                    self.handle(UiInput::Image(image.unwrap_or_else(failed), String::new()))?;
                    self.is_dirty = true;
                }
                () = tokio::time::sleep(next_move.unwrap_or(TICK)), if next_move.is_some() => self.make_move()?,
                () = tokio::time::sleep(wait.unwrap_or(TICK)), if wait.is_some() => self.draw()?,
            }
        }
        self.close()?;
        Ok(self.exit.unwrap_or(ExitReason::Left))
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
    fn handle_events(&mut self, events: Vec<TerminalEvent>) -> io::Result<()> {
        let is_press = |event: &&TerminalEvent| matches!(event, TerminalEvent::Key(key) if key.kind != KeyEventKind::Release);
        let arrival = match events.iter().filter(is_press).count() {
            0 | 1 => Arrival::Alone,
            _ => Arrival::InBurst,
        };
        // Only the last of several sizes is that of the terminal now.
        let is_resized = events.iter().any(|event| matches!(event, TerminalEvent::Resize(..)));
        for event in events {
            match event {
                TerminalEvent::Key(key) if self.player.is_some() => self.interrupt(key)?,
                TerminalEvent::Key(key) => self.handle(UiInput::Key(key, arrival))?,
                TerminalEvent::Paste(_) if self.player.is_some() => {}
                TerminalEvent::Paste(text) => self.handle(UiInput::Paste(text))?,
                _ => {}
            }
        }
        if is_resized {
            self.follow_size()?;
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
                self.player.iter().for_each(Player::speed_up);
                Ok(())
            }
        }
    }

    /// Performs the script's next move.
    fn make_move(&mut self) -> io::Result<()> {
        let now = self.started.elapsed();
        match self.player.as_mut().map(|player| player.make_move(now)) {
            Some(PlayerMove::Press(key)) => self.handle(UiInput::Key(key, Arrival::Alone))?,
            Some(PlayerMove::Leave) => self.leave()?,
            Some(PlayerMove::GoOn) | None => {}
        }
        self.draw()
    }

    /// Ends the demo.
    fn leave(&mut self) -> io::Result<()> {
        self.player = None;
        self.handle(UiInput::Leave)
    }

    fn handle(&mut self, input: UiInput) -> io::Result<()> {
        self.state.now = self.started.elapsed();
        for effect in update(&mut self.state, input) {
            self.run_effect(effect)?;
        }
        Ok(())
    }

    fn run_effect(&mut self, effect: UiEffect) -> io::Result<()> {
        match effect {
            UiEffect::Print(lines) => self.printed.extend(lines),
            UiEffect::Send(command) => self.send(command),
            UiEffect::Remember(text) => {
                if let Some(Err(error)) = self.history.as_ref().map(|file| file.append(&text)) {
                    self.history = None;
                    let text = format!("Could not save the input history: {error}");
                    self.handle(UiInput::Failed(Notice::warning(text)))?;
                }
            }
            UiEffect::FindFiles => {
                let folder = self.options.folder.clone();
                self.listing = Some(tokio::task::spawn_blocking(move || files::list(&folder)));
            }
            UiEffect::Edit(text) => self.edit(&text)?,
            UiEffect::EditFiles(files, then) => {
                self.release_terminal()?;
                let edited = editor_program::edit_files(&self.options.editor, &files);
                self.reclaim_terminal()?;
                self.handle(edited.map_or_else(UiInput::Failed, |()| UiInput::EditedFiles(then)))?;
            }
            UiEffect::EditProposal(id, proposal) => {
                self.release_terminal()?;
                let edited = editor_program::edit_proposal(&self.options.editor, &proposal);
                self.reclaim_terminal()?;
                self.handle(UiInput::EditedProposal(id, edited))?;
            }
            UiEffect::PasteImage if self.pasting.is_none() => {
                self.pasting = Some(tokio::task::spawn_blocking(image::of_clipboard));
            }
            UiEffect::PasteImage => {}
            UiEffect::LoadImage(path, text) => {
                let image = image::load(&path, self.options.user_home.as_deref());
                self.handle(UiInput::Image(image, text))?;
            }
            UiEffect::Notify(text) => self.screen.notify(self.state.preferences.notification, &text)?,
            UiEffect::Copy(text) => self.screen.copy(&text)?,
            UiEffect::ClearScreen => self.screen.clear_all()?,
            UiEffect::Suspend => self.suspend()?,
            UiEffect::Ring => self.screen.ring()?,
            UiEffect::Leave(ended) => self.exit = Some(ended),
        }
        Ok(())
    }

    fn send(&mut self, command: DriverCommand) {
        // A closed channel means that the driver is gone.
        if self.commands.send(command).is_err() {
            self.exit = Some(ExitReason::Left);
        }
    }

    /// Takes over the terminal's size, if it has changed.
    fn follow_size(&mut self) -> io::Result<()> {
        let now = size()?;
        if now == self.state.size {
            return Ok(());
        }
        if now.width != self.state.size.width {
            self.screen.resize(now.width)?;
        }
        self.handle(UiInput::Resize(now))
    }

    fn draw(&mut self) -> io::Result<()> {
        // The event of a new size may still be on its way, and rows for the old one would be wrapped.
        self.follow_size()?;
        self.handle(UiInput::Frame)?;
        self.screen.set_palette(self.state.preferences.palette.clone());
        match self.state.preferences.shows_title {
            true => self.screen.set_title(&view::title(&self.state))?,
            false => self.screen.restore_title()?,
        }
        let mut frame = view::frame(&self.state);
        // A size that came meanwhile is followed as late as can be.
        if size()? != self.state.size {
            self.follow_size()?;
            self.handle(UiInput::Frame)?;
            frame = view::frame(&self.state);
        }
        let printed = std::mem::take(&mut self.printed);
        unless_panicking(|| self.screen.draw(&printed, &frame))?;
        self.drawn = Instant::now();
        self.is_dirty = false;
        Ok(())
    }

    /// Opens a text in the user's editor.
    fn edit(&mut self, text: &str) -> io::Result<()> {
        self.release_terminal()?;
        let edited = editor_program::edit(&self.options.editor, text);
        self.reclaim_terminal()?;
        match edited {
            Ok(text) => self.handle(UiInput::Edited(text)),
            Err(notice) => self.handle(UiInput::Failed(notice)),
        }
    }

    /// Suspends the program until the shell resumes it.
    fn suspend(&mut self) -> io::Result<()> {
        self.release_terminal()?;
        crate::signals::suspend();
        self.reclaim_terminal()
    }

    fn release_terminal(&mut self) -> io::Result<()> {
        self.screen.clear_block()?;
        self.keys = None;
        self.raw = None;
        Ok(())
    }

    fn reclaim_terminal(&mut self) -> io::Result<()> {
        self.raw = Some(RawMode::enter()?);
        self.keys = Some(EventStream::new());
        self.state.size = size()?;
        self.is_dirty = true;
        Ok(())
    }

    /// Prints the remaining lines and restores the terminal.
    fn close(&mut self) -> io::Result<()> {
        let palette = self.state.preferences.palette.clone();
        let lines = self.printed.drain(..).map(|line| line.render(palette.as_ref()) + "\r\n");
        let text: String = lines.collect();
        unless_panicking(|| {
            self.screen.clear_block()?;
            self.screen.restore_title()?;
            io::stdout().write_all(text.as_bytes())?;
            io::stdout().flush()
        })?;
        self.keys = None;
        self.raw = None;
        Ok(())
    }
}

fn size() -> io::Result<TerminalSize> {
    let (width, height) = crossterm::terminal::size()?;
    Ok(TerminalSize { width: usize::from(width).max(20), height: usize::from(height).max(6) })
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

/// The result of some work on another thread, once it is there.
async fn finished<T>(work: &mut Option<JoinHandle<T>>) -> Result<T, tokio::task::JoinError> {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
