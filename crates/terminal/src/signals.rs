//! What the system asks of the program.

use std::io;

/// Each signal that asks the program to end. From when it is made, none is missed.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, hang_up: signal(SignalKind::hangup())? })
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> i32 {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.hang_up.recv() => SignalKind::hangup().as_raw_value(),
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(crate) async fn next(&mut self) -> i32 {
        std::future::pending().await
    }
}

/// Stops the program until the shell lets it go on.
pub(crate) fn suspend() {
    #[cfg(unix)]
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP).ok();
}
