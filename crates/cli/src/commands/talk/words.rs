//! What the user says: what comes on standard input, and the prompt behind it.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::failure::hinted;

/// Some programs leave standard input open and say nothing. Longer than this nobody waits for its first byte.
const PATIENCE: Duration = Duration::from_millis(500);

/// No message is longer than this.
const LONGEST: u64 = 64 << 20;

/// The words for the model; none where nothing is said.
pub(super) fn compose(prompt: Option<&str>) -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    let piped = if stdin.is_terminal() { Vec::new() } else { read(io::stdin(), PATIENCE)? };
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

/// All that comes, unless nothing at all comes for a while.
fn read(mut source: impl Read + Send + 'static, patience: Duration) -> anyhow::Result<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 8 << 10];
        let first = source.read(&mut bytes);
        // Whoever has given up listening is gone, and so is the program soon.
        sender.send(Ok(Vec::new())).ok();
        let rest = first.and_then(|count| {
            bytes.truncate(count);
            source.take(LONGEST).read_to_end(&mut bytes)
        });
        sender.send(rest.map(|_| bytes)).ok();
    });
    let failed = "could not read standard input";
    match receiver.recv_timeout(patience) {
        Ok(_) => receiver.recv().context(failed)?.context(failed),
        Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
        Err(error @ RecvTimeoutError::Disconnected) => Err(error).context(failed),
    }
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

    /// Says something after a while, or never.
    struct Slow(Option<&'static [u8]>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(bytes) => {
                    buffer[..bytes.len()].copy_from_slice(bytes);
                    Ok(bytes.len())
                }
                None => loop {
                    thread::park();
                },
            }
        }
    }

    #[test]
    fn nobody_waits_for_a_pipe_that_says_nothing() {
        assert_eq!(read(Slow(None), Duration::from_millis(1)).expect("no failure"), b"");
        assert_eq!(read(&b"all of it"[..], Duration::from_secs(60)).expect("it reads"), b"all of it");
    }
}
