//! Begins and opens logs, and mends what a crash left behind.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_formats::{Format, ReadError, Replay, detect_format, read_session};
use longhaul_wire::{Json, mend, object, text_of};
use serde_json::{Value, json};

use super::file::{LogFile, failed};
use super::{Log, LogError};
use crate::store::{sanitise_name, session_file_name, subagent_file_name};

/// A first line that is longer holds more than a header.
const LONGEST_HEADER: u64 = 1 << 16;

/// Metadata of a new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Names the session; the file's name is made of its first eight characters.
    pub id: String,
    /// The hash of the project's folder.
    pub project_hash: String,
    /// The owner of the session.
    pub kind: SessionKind,
    /// The folders it may work in.
    pub directories: Vec<String>,
    /// When it begins.
    pub at: Timestamp,
}

/// The owner of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKind {
    /// The user's.
    Main,
    /// A sub-agent's.
    Subagent {
        /// The id of the session that started it.
        parent: String,
    },
}

/// A repair made to open a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The last line broke off and was cut off.
    TornLineCut {
        /// The number of bytes removed.
        bytes: u64,
    },
    /// The last line was whole but for its end, which was added.
    LineClosed,
    /// The file was empty and was begun anew.
    EmptyFile,
    /// The file was no session. It was renamed, and a new one was begun in its place.
    Unreadable {
        /// The new path of the old file.
        renamed: PathBuf,
    },
}

/// For people, as a sentence without its end.
impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornLineCut { bytes } => {
                write!(f, "removed an incomplete last record ({bytes} bytes)")
            }
            Self::LineClosed => f.write_str("added the missing line end of the last record"),
            Self::EmptyFile => f.write_str("the file was empty; started it anew"),
            Self::Unreadable { renamed } => {
                write!(f, "the file was not a session; renamed it to {}", renamed.display())
            }
        }
    }
}

impl Log {
    /// Begins a session in the folder of a project's chats.
    ///
    /// # Errors
    /// [`LogError::BadId`], [`LogError::AlreadyThere`], or what prevents the file from being made and written, such as a
    /// full disk; then there is none.
    pub fn create(folder: &Path, new: &NewSession) -> Result<Self, LogError> {
        let path = folder.join(new.file_name()?);
        let mut log = Self::on(path.clone(), Some(LogFile::create(&path)?), new.header());
        match log.take_and_write(&new.header()) {
            Ok(()) => Ok(log),
            Err(error) => {
                log.remove();
                Err(error)
            }
        }
    }

    /// Begins a session that is kept in memory alone, by choice.
    ///
    /// # Errors
    /// [`LogError::BadId`].
    pub fn in_memory(new: &NewSession) -> Result<Self, LogError> {
        let mut log = Self::on(new.file_name()?, None, new.header());
        log.take_and_write(&new.header())?;
        Ok(log)
    }

    /// Takes back a file that was just made and that is not needed after all.
    pub(super) fn remove(self) {
        if self.file.is_some() {
            // A file that stays is a session in which nothing was said.
            let _ = std::fs::remove_file(self.path());
        }
    }

    /// Opens a session to continue it. What a crash left behind is mended, and [`Log::recovered`] tells what that was.
    /// If the file turns out to be no session at all, it is put aside and `new` begins in its place.
    ///
    /// # Errors
    /// [`LogError::InUse`] if another process has it open, [`LogError::OtherFormat`] if it is a session of another kind,
    /// or what prevents the file from being read.
    pub fn open(path: &Path, new: &NewSession) -> Result<Self, LogError> {
        let (mut log, length) = Self::load(path)?;
        if log.replay.is_empty() {
            return log.begin_anew(length, new);
        }
        log.mend_tail(length)?;
        Ok(log)
    }

    /// Opens a session to continue it, as [`Log::open`], but begins none: a file that is no session stays as it is.
    ///
    /// # Errors
    /// [`LogError::NoSession`], and as [`Log::open`].
    pub fn open_existing(path: &Path) -> Result<Self, LogError> {
        let (mut log, length) = Self::load(path)?;
        if log.replay.is_empty() {
            return Err(LogError::NoSession { path: path.to_path_buf() });
        }
        log.mend_tail(length)?;
        Ok(log)
    }

    /// The log with everything that can be read, and the length of its file.
    fn load(path: &Path) -> Result<(Self, u64), LogError> {
        refuse_foreign(path)?;
        let mut file = LogFile::open(path)?;
        let length = file.end();
        let replay = Replay::read(file.reader()?).map_err(|error| unreadable(path, error))?;
        if length > 0 && replay.said().is_empty() {
            refuse_silent(path, file.reader()?)?;
        }
        let header = header_of(file.reader()?).unwrap_or_else(|| header_from(&replay));
        let mut log = Self::on(path.to_path_buf(), Some(file), header);
        log.replay = replay;
        Ok((log, length))
    }

    /// Nothing in the file is a session's.
    fn begin_anew(mut self, length: u64, new: &NewSession) -> Result<Self, LogError> {
        let Some(file) = &mut self.file else { return Ok(self) };
        if length == 0 {
            self.recovered.push(Recovery::EmptyFile);
        } else {
            let renamed = file.start_over(&format!(".unreadable-{}", new.at.as_millis()))?;
            self.recovered.push(Recovery::Unreadable { renamed });
        }
        self.replay = Replay::default();
        self.header = new.header();
        self.take_and_write(&new.header())?;
        Ok(self)
    }

    /// Closes the last line if it is whole, and cuts it off if it is not.
    fn mend_tail(&mut self, length: u64) -> Result<(), LogError> {
        let path = self.path().to_path_buf();
        let Some(file) = &mut self.file else { return Ok(()) };
        let tail = tail_of(file.reader()?, length).map_err(|cause| failed("read", &path, cause))?;
        if tail.is_empty() {
            return Ok(());
        }
        if is_whole(&tail) {
            file.append(b"\n")?;
            self.recovered.push(Recovery::LineClosed);
        } else {
            file.cut(length - tail.len() as u64)?;
            self.recovered.push(Recovery::TornLineCut { bytes: tail.len() as u64 });
        }
        Ok(())
    }
}

impl NewSession {
    /// The name of its file below the folder of chats.
    fn file_name(&self) -> Result<PathBuf, LogError> {
        let given = |id: &str| match id {
            "" => Err(LogError::BadId { id: id.to_string() }),
            _ => Ok(()),
        };
        given(&self.id)?;
        Ok(match &self.kind {
            SessionKind::Main => session_file_name(&self.id, self.at).into(),
            SessionKind::Subagent { parent } => {
                given(parent)?;
                Path::new(&sanitise_name(parent)).join(subagent_file_name(&self.id))
            }
        })
    }

    pub(super) fn header(&self) -> Value {
        let kind = match self.kind {
            SessionKind::Main => "main",
            SessionKind::Subagent { .. } => "subagent",
        };
        let at = self.at.to_string();
        let mut header = object([
            ("sessionId", self.id.as_str().into()),
            ("projectHash", self.project_hash.as_str().into()),
            ("startTime", at.as_str().into()),
            ("lastUpdated", at.into()),
            ("kind", kind.into()),
        ]);
        if !self.directories.is_empty() {
            header.insert("directories".into(), json!(self.directories));
        }
        Value::Object(header)
    }
}

/// The record that a log begins with, if it is one.
fn header_of(file: &File) -> Option<Value> {
    let mut first = String::new();
    BufReader::new(file.take(LONGEST_HEADER)).read_line(&mut first).ok()?;
    let header: Value = serde_json::from_str(&first).ok()?;
    (header.get("sessionId").is_some() && header.get("messages").is_none()).then_some(header)
}

/// A header that says what is known of a session.
fn header_from(replay: &Replay) -> Value {
    let info = replay.info();
    let at = info.started.map(|at| at.to_string());
    json!({
        "sessionId": info.session_id, "projectHash": info.project, "startTime": at, "lastUpdated": at, "kind": "main",
        "directories": info.directory.iter().collect::<Vec<_>>(),
    })
}

/// A session of another kind is told from a log before anything, also a lock, is made beside it.
fn refuse_foreign(path: &Path) -> Result<(), LogError> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    match detect_format(file) {
        Ok(format) if format != Format::GeminiJsonl => {
            Err(LogError::OtherFormat { path: path.to_path_buf(), format })
        }
        _ => Ok(()),
    }
}

/// Other agents name their sessions in the same way, but what is said in them cannot be read here; such a session is not for
/// us to continue, nor to put aside.
fn refuse_silent(path: &Path, input: impl Read) -> Result<(), LogError> {
    match read_session(input) {
        Ok(session) if session.info.format != Format::GeminiJsonl => {
            Err(LogError::OtherFormat { path: path.to_path_buf(), format: session.info.format })
        }
        _ => Ok(()),
    }
}

fn unreadable(path: &Path, error: ReadError) -> LogError {
    let cause = match error {
        ReadError::Io(cause) => cause,
        other => std::io::Error::other(other),
    };
    failed("read", path, cause)
}

/// The bytes after the last line end.
fn tail_of(mut file: impl Read + Seek, length: u64) -> std::io::Result<Vec<u8>> {
    const CHUNK: u64 = 1 << 16;
    let mut tail = Vec::new();
    let mut start = length;
    while start > 0 {
        let from = start.saturating_sub(CHUNK);
        let mut chunk = vec![0; usize::try_from(start - from).expect("a chunk is small")];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut chunk)?;
        if let Some(end) = memchr::memrchr(b'\n', &chunk) {
            chunk.drain(..=end);
            tail.splice(..0, chunk);
            break;
        }
        tail.splice(..0, chunk);
        start = from;
    }
    Ok(tail)
}

/// True if a line that has no end yet is a whole record all the same.
fn is_whole(line: &[u8]) -> bool {
    let (text, _) = text_of(line);
    let is_record = |text: &str| Json::parse(text).is_ok();
    is_record(&text) || mend(&text).is_some_and(|mended| is_record(&mended))
}
