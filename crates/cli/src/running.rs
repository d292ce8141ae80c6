//! Runs what waits for the network, until it is done or the user has enough.

use anyhow::Context;
use tokio_util::sync::CancellationToken;

/// The user stopped the program.
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
pub(crate) struct Interrupted;

/// The exit code of a program that the user stopped.
pub(crate) const INTERRUPTED: u8 = 130;

/// A runtime for one thread. It is made only where something waits.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the system does not let the program wait for the network")
}

/// Does some work. Ctrl-C cancels its token, and ends the program if it is pressed again.
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

/// Listens for Ctrl-C on the current runtime.
pub(crate) fn watch(cancel: &CancellationToken) -> anyhow::Result<()> {
    let mut presses = Presses::new().context("could not listen for Ctrl-C")?;
    let cancel = cancel.clone();
    tokio::spawn(async move {
        presses.next().await;
        cancel.cancel();
        presses.next().await;
        std::process::exit(i32::from(INTERRUPTED));
    });
    Ok(())
}

/// Each time that the user presses Ctrl-C. From when it is made, none is missed.
struct Presses {
    #[cfg(unix)]
    signals: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Presses {
    fn new() -> std::io::Result<Self> {
        let kind = tokio::signal::unix::SignalKind::interrupt();
        Ok(Self { signals: tokio::signal::unix::signal(kind)? })
    }

    async fn next(&mut self) {
        self.signals.recv().await;
    }
}

#[cfg(not(unix))]
impl Presses {
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        // Without a way to listen nobody ever presses.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
