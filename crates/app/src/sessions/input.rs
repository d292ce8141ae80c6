//! Opens a file or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, anyhow};
use longhaul_conversation::plural;
use longhaul_stores::{list_database, read_session_document, split_session_path};

use crate::failure::hinted;

/// A file or standard input, open for reading.
pub struct Input {
    source: Box<dyn Read>,
    size: Option<u64>,
}

/// Returns true if the path stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an input for messages.
pub fn display_name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`.
pub fn open(path: &Path) -> anyhow::Result<Input> {
    let name = display_name(path);
    let (source, size): (Box<dyn Read>, _) = if is_stdin(path) {
        (Box::new(io::stdin().lock()), None)
    } else if let Some((database, id)) = split_session_path(path) {
        let document = read_session_document(&database, &id);
        let document =
            document.with_context(|| format!("could not read a session of {}", database.display()))?;
        let size = document.len() as u64;
        (Box::new(io::Cursor::new(document)), Some(size))
    } else {
        let failed = || format!("could not open {name}");
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if path.is_symlink() && !is_forbidden(&error) => {
                let error = anyhow!(error).context(format!("could not follow the link {name}"));
                return Err(hinted(error, "it points to itself or to nothing; pass the file itself"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(hinted(
                    anyhow!("no such file: {name}"),
                    "check the path, or use - for standard input",
                ));
            }
            Err(error) => return Err(error).with_context(failed),
        };
        let meta = file.metadata().with_context(failed)?;
        if meta.is_dir() {
            return Err(hinted(anyhow!("{name} is a folder"), folder_hint(path)));
        }
        if is_database(path)
            && let Ok(ids) = list_database(path)
        {
            let sessions = plural(ids.len(), "session", "sessions");
            let hint = ids.first().map_or_else(
                || "there is nothing in it yet".into(),
                |id| format!("pass one of them: {name}#{id}"),
            );
            return Err(hinted(anyhow!("{name} is a database of {sessions}"), hint));
        }
        (Box::new(file), Some(meta.len()).filter(|_| meta.is_file()))
    };
    Ok(Input { source, size })
}

/// True if the name is that of a database; what is in it decides.
fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "db" || end == "vscdb" || end == "sqlite")
}

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Suggests a session in the folder, if there is one.
fn folder_hint(folder: &Path) -> String {
    let sessions = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sessions: Vec<_> = sessions
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl" || end == "json" || end == "traj"))
        .collect();
    sessions.sort();
    match sessions.first() {
        Some(first) => format!("pass a file in it, such as {}", first.display()),
        None => "pass a session file".into(),
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}

impl Input {
    /// Its size in bytes, where that is known before it is read.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
}

/// Wraps an input so that a front end can show progress.
pub type ProgressReader<'w> = &'w dyn Fn(Input) -> Box<dyn Read>;

/// Reads an input without showing anything.
pub fn without_progress(input: Input) -> Box<dyn Read> {
    Box::new(input)
}
