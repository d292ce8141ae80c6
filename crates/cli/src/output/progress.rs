//! Progress on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The time before progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

/// Does some work. After a second, a terminal shows `line` meanwhile.
pub(crate) fn with_progress<T>(line: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        // The work is over when its end of the channel is gone.
        let (working, ended) = mpsc::channel::<()>();
        let line = &line;
        let show = move || {
            let mut wait = PATIENCE;
            let mut erase: &[u8] = b"";
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                io::stderr().write_all(format!("\r\x1b[K{}", line()).as_bytes()).ok();
                (wait, erase) = (INTERVAL, b"\r\x1b[K");
            }
            io::stderr().write_all(erase).ok();
        };
        // Work goes on, shown or not.
        let _ = thread::Builder::new().spawn_scoped(scope, show);
        let done = work();
        drop(working);
        done
    })
}
