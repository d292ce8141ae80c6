//! Opens what the user named, and shows progress where reading takes long.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::failure::hinted;

/// What a command reads: a file or standard input.
pub(crate) struct Input {
    source: Box<dyn Read>,
    size: Option<u64>,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    on_terminal: bool,
}

/// How the user names standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an input for messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Input> {
    let name = display_name(path);
    let (source, size): (Box<dyn Read>, _) = if is_stdin(path) {
        (Box::new(io::stdin().lock()), None)
    } else {
        let failed = || format!("could not open {name}");
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if path.is_symlink() && !is_forbidden(&error) => {
                let error = anyhow!(error).context(format!("could not follow the link {name}"));
                return Err(hinted(error, "it leads to itself or to nothing; name the file that is meant"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(hinted(
                    anyhow!("there is no file {name}"),
                    "check the path; - reads standard input",
                ));
            }
            Err(error) => return Err(error).with_context(failed),
        };
        let meta = file.metadata().with_context(failed)?;
        if meta.is_dir() {
            return Err(hinted(anyhow!("{name} is a folder"), folder_hint(path)));
        }
        (Box::new(file), Some(meta.len()).filter(|_| meta.is_file()))
    };
    let on_terminal = io::stderr().is_terminal();
    Ok(Input { source, size, done: 0, started: Instant::now(), shown: None, on_terminal })
}

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Names a session in the folder, if there is one.
fn folder_hint(folder: &Path) -> String {
    let sessions = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sessions: Vec<_> = sessions
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl" || end == "json" || end == "traj"))
        .collect();
    sessions.sort();
    match sessions.first() {
        Some(first) => format!("name a file in it, such as {}", first.display()),
        None => "name a session file".into(),
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.done += count as u64;
        if self.on_terminal && count > 0 {
            self.show_progress();
        }
        Ok(count)
    }
}

impl Input {
    fn show_progress(&mut self) {
        let quiet = self.shown.unwrap_or(self.started).elapsed();
        let wait = if self.shown.is_none() { Duration::from_secs(1) } else { Duration::from_millis(200) };
        if quiet < wait {
            return;
        }
        self.shown = Some(Instant::now());
        let megabytes = self.done / 1_000_000;
        let line = match self.size.filter(|size| *size > 0) {
            Some(size) => format!("\rreading: {megabytes} MB, {} %", self.done * 100 / size),
            None => format!("\rreading: {megabytes} MB"),
        };
        io::stderr().write_all(line.as_bytes()).ok();
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if self.shown.is_some() {
            io::stderr().write_all(b"\r\x1b[K").ok();
        }
    }
}
