//! Opens inputs, and shows progress when reading takes long.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_app::sessions::{self, Input};

pub(crate) use longhaul_app::sessions::{display_name, is_stdin};

/// An input whose progress is shown on a terminal.
struct ProgressShown {
    input: Input,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    on_terminal: bool,
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    sessions::open(path).map(showing_progress)
}

/// Shows progress on a terminal when reading takes long.
pub(crate) fn showing_progress(input: Input) -> Box<dyn Read> {
    let on_terminal = io::stderr().is_terminal();
    Box::new(ProgressShown { input, done: 0, started: Instant::now(), shown: None, on_terminal })
}

impl Read for ProgressShown {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.done += count as u64;
        if self.on_terminal && count > 0 {
            self.show_progress();
        }
        Ok(count)
    }
}

impl ProgressShown {
    fn show_progress(&mut self) {
        let quiet = self.shown.unwrap_or(self.started).elapsed();
        let wait = if self.shown.is_none() { Duration::from_secs(1) } else { Duration::from_millis(200) };
        if quiet < wait {
            return;
        }
        self.shown = Some(Instant::now());
        let megabytes = self.done / 1_000_000;
        let line = match self.input.size().filter(|size| *size > 0) {
            Some(size) => format!("\rreading: {megabytes} MB, {} %", self.done * 100 / size),
            None => format!("\rreading: {megabytes} MB"),
        };
        io::stderr().write_all(line.as_bytes()).ok();
    }
}

impl Drop for ProgressShown {
    fn drop(&mut self) {
        if self.shown.is_some() {
            io::stderr().write_all(b"\r\x1b[K").ok();
        }
    }
}
