//! Runs work that waits for the network, until it is done or interrupted.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::Context;
use longhaul_app::runtime::runtime;
use longhaul_terminal::ExitReason;
use tokio_util::sync::CancellationToken;

/// The program was interrupted.
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
pub(crate) struct Interrupted;

/// The exit code of a program that the user stopped with Ctrl-C.
const BY_USER: u8 = 130;
/// The exit code after a termination signal.
#[cfg(unix)]
const BY_REQUEST: u8 = 143;

/// The exit code of the last interruption. Signals are for the whole program, and so is this.
static STOPPED: AtomicU8 = AtomicU8::new(BY_USER);

impl Interrupted {
    /// The exit code for the kind of interruption.
    pub(crate) fn exit_code() -> u8 {
        STOPPED.load(Ordering::Relaxed)
    }
}

/// The exit code for how the interactive agent ended.
pub(crate) fn exit_code(ended: ExitReason) -> ExitCode {
    match ended {
        ExitReason::Left => ExitCode::SUCCESS,
        ExitReason::Failed => ExitCode::FAILURE,
        // As shells tell it.
        ExitReason::Signal(signal) => {
            ExitCode::from(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)))
        }
    }
}

/// Does some work. Ctrl-C, or a request to end, cancels its token; the second one ends the program.
pub(crate) fn until_interrupted<T>(work: impl AsyncFnOnce(&CancellationToken) -> T) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    let done = runtime.block_on(async {
        watch(&cancel)?;
        Ok(work(&cancel).await)
    });
    // A name that is still being looked up must not hold up the end.
    runtime.shutdown_background();
    done
}

/// Listens for Ctrl-C, and for requests to end, on the current runtime.
pub(crate) fn watch(cancel: &CancellationToken) -> anyhow::Result<()> {
    let mut stops = Stops::new().context("could not listen for Ctrl-C")?;
    let cancel = cancel.clone();
    tokio::spawn(async move {
        STOPPED.store(stops.next().await, Ordering::Relaxed);
        cancel.cancel();
        std::process::exit(i32::from(stops.next().await));
    });
    Ok(())
}

/// Interruptions, each with its exit code. None is missed once this exists.
struct Stops {
    #[cfg(unix)]
    interrupts: tokio::signal::unix::Signal,
    #[cfg(unix)]
    requests: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Stops {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { interrupts: signal(SignalKind::interrupt())?, requests: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> u8 {
        use std::task::Poll;

        std::future::poll_fn(|context| {
            if self.interrupts.poll_recv(context).is_ready() {
                Poll::Ready(BY_USER)
            } else {
                self.requests.poll_recv(context).map(|_| BY_REQUEST)
            }
        })
        .await
    }
}

#[cfg(not(unix))]
impl Stops {
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) -> u8 {
        // Without a way to listen nobody ever presses.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        BY_USER
    }
}
