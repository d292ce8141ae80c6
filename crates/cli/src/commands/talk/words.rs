//! What the user says: what comes on standard input, and the prompt behind it.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::failure::hinted;
use crate::output::print_aside;

/// How long standard input may say nothing before anything is done about that.
const PATIENCE: Duration = Duration::from_millis(500);

/// No message is longer than this.
const LONGEST: u64 = 64 << 20;

/// What to do where standard input is open and says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// Wait: whatever writes to it may take its time. The user is told.
    IsWaitedFor,
    /// Take it for empty: nobody asked for anything to be read.
    IsTheEnd,
}

/// The words for the model; none where nothing is said.
pub(super) fn compose(prompt: Option<&str>, silence: Silence) -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    let piped = if stdin.is_terminal() { Vec::new() } else { read(stdin, silence)? };
    if piped.len() as u64 > LONGEST {
        let error = anyhow!("standard input is longer than {} MB", LONGEST >> 20);
        return Err(hinted(error, "name the file in the prompt, or send a part of it"));
    }
    Ok(joined(&String::from_utf8_lossy(&piped), prompt.unwrap_or_default()))
}

/// Both, with a line between them; none where both are empty.
fn joined(piped: &str, prompt: &str) -> Option<String> {
    let piped = piped.strip_prefix('\u{feff}').unwrap_or(piped);
    match (piped.trim().is_empty(), prompt.trim().is_empty()) {
        (true, true) => None,
        (true, false) => Some(prompt.to_string()),
        (false, true) => Some(piped.trim_end().to_string()),
        (false, false) => Some(format!("{}\n\n{prompt}", piped.trim_end())),
    }
}

/// All that comes.
fn read(mut source: impl Read + Send + 'static, silence: Silence) -> anyhow::Result<Vec<u8>> {
    let (begun, beginning) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    let take_in = move || {
        let mut bytes = vec![0; 8 << 10];
        let first = source.read(&mut bytes);
        // Whoever has given up listening is gone, and so is the program soon.
        begun.send(()).ok();
        let rest = first.and_then(|count| {
            bytes.truncate(count);
            source.take(LONGEST).read_to_end(&mut bytes)
        });
        sender.send(rest.map(|_| bytes)).ok();
    };
    let failed = "could not read standard input";
    thread::Builder::new().spawn(take_in).context(failed)?;
    if beginning.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        if silence == Silence::IsTheEnd {
            return Ok(Vec::new());
        }
        print_aside("note: waiting for standard input; < /dev/null leaves it out\n");
    }
    receiver.recv().context(failed)?.context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(piped: &str, prompt: &str, expected: Option<&str>) {
        assert_eq!(joined(piped, prompt).as_deref(), expected);
    }

    #[test]
    fn what_is_piped_stands_before_the_prompt() {
        check("", "", None);
        check(" \n", "\t", None);
        check("", "hi ", Some("hi "));
        check("a\nb\n", "", Some("a\nb"));
        check("\u{feff}log\n", "What is this?", Some("log\n\nWhat is this?"));
    }

    /// Says nothing until its time has come.
    struct Slow(Duration);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            thread::sleep(std::mem::take(&mut self.0));
            buffer[0] = b'x';
            Ok(1)
        }
    }

    #[test]
    fn silence_is_waited_for_only_where_something_was_asked_for() {
        let slow = || Slow(PATIENCE + Duration::from_millis(200)).take(1);
        assert_eq!(read(slow(), Silence::IsTheEnd).expect("no failure"), b"");
        assert_eq!(read(slow(), Silence::IsWaitedFor).expect("no failure"), b"x");
        assert_eq!(read(&b"all of it"[..], Silence::IsTheEnd).expect("no failure"), b"all of it");
    }
}
