//! The entry points: the agent runs on a thread of its own and the screen on the caller's, so that typing never waits.

use std::io;

use longhaul_workspace::{check_descriptors, check_threads};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::demo::{DemoScript, Player};
use crate::driver::{Driver, WorkingFolder};
use crate::line_loop;
use crate::notice::Notice;
use crate::protocol::{DriverCommand, DriverMessage};
use crate::screen::restore_on_panic;
use crate::screen_loop::ScreenLoop;
use crate::services::{ExitReason, NoticeSender, OpenedSession, Options, Services, Surface};

/// Runs the interactive agent until the user leaves. `start` opens the session on the agent's thread, while the user
/// can already type.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub fn run<S: Services>(
    start: impl FnOnce(&NoticeSender) -> Result<(S, OpenedSession), Notice> + Send,
    options: &Options,
) -> io::Result<ExitReason> {
    run_with(start, options, None)
}

/// Runs the interactive agent as a demo that plays a script at the keyboard. Any key speeds it up, Esc and Ctrl-C end
/// it.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub fn play<S: Services>(
    start: impl FnOnce(&NoticeSender) -> Result<(S, OpenedSession), Notice> + Send,
    options: &Options,
    script: DemoScript,
) -> io::Result<ExitReason> {
    run_with(start, options, Some(Player::new(script)))
}

fn run_with<S: Services>(
    start: impl FnOnce(&NoticeSender) -> Result<(S, OpenedSession), Notice> + Send,
    options: &Options,
    player: Option<Player>,
) -> io::Result<ExitReason> {
    let (commands, orders) = mpsc::unbounded_channel();
    let (reports, messages) = mpsc::unbounded_channel();
    let folder = WorkingFolder { path: options.folder.clone(), name: options.folder_name.clone() };
    if options.surface == Surface::Screen {
        restore_on_panic();
    }
    std::thread::scope(|scope| {
        let drive = move || drive(start, orders, reports, folder);
        let driver = std::thread::Builder::new().spawn_scoped(scope, drive)?;
        let shown = runtime().and_then(|runtime| {
            let shown = runtime.block_on(show(options, player, commands, messages));
            // A folder that is still being listed, or a blocked read from stdin, must not delay the exit.
            runtime.shutdown_background();
            shown
        });
        match driver.join() {
            Ok(driven) => driven.and(shown),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

async fn show(
    options: &Options,
    player: Option<Player>,
    commands: UnboundedSender<DriverCommand>,
    messages: UnboundedReceiver<DriverMessage>,
) -> io::Result<ExitReason> {
    match options.surface {
        Surface::Screen => ScreenLoop::enter(options, player, commands)?.run(messages).await,
        Surface::Lines | Surface::Spoken => line_loop::run(options, commands, messages).await,
    }
}

fn drive<S: Services>(
    start: impl FnOnce(&NoticeSender) -> Result<(S, OpenedSession), Notice>,
    orders: UnboundedReceiver<DriverCommand>,
    reports: UnboundedSender<DriverMessage>,
    folder: WorkingFolder,
) -> io::Result<()> {
    let runtime = runtime()?;
    match start(&NoticeSender(reports.clone())) {
        Ok((services, opened)) => {
            runtime.block_on(Driver::new(services, opened, orders, reports, folder).run());
        }
        Err(notice) => {
            // A closed channel means that the screen is gone.
            reports.send(DriverMessage::Failed(notice)).ok();
        }
    }
    // A pending name lookup must not delay the exit.
    runtime.shutdown_background();
    Ok(())
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    // Without these checks the runtime itself would panic, here or later.
    check_descriptors()?;
    check_threads()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
