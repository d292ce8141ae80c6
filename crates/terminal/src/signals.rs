//! Signals that end or suspend the process.

use std::io;

/// A stream of termination signals, from its creation on.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (terminate, hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        Ok(Self { terminate, hang_up, interrupt: None })
    }

    /// Includes interrupts, for raw mode: there Ctrl-C is a key, so that an interrupt comes from another process.
    pub(crate) fn with_interrupts() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: Some(signal(SignalKind::interrupt())?), ..Self::new()? })
    }

    /// The number of the next signal.
    pub(crate) async fn next(&mut self) -> i32 {
        use tokio::signal::unix::SignalKind;
        let interrupted = async {
            match &mut self.interrupt {
                Some(interrupt) => interrupt.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.hang_up.recv() => SignalKind::hangup().as_raw_value(),
            _ = interrupted => SignalKind::interrupt().as_raw_value(),
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(crate) fn with_interrupts() -> io::Result<Self> {
        Self::new()
    }

    pub(crate) async fn next(&mut self) -> i32 {
        std::future::pending().await
    }
}

/// Suspends the process until the shell resumes it.
pub(crate) fn suspend() {
    #[cfg(unix)]
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP).ok();
}
