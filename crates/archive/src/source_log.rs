//! The log of sources: says which blocks a session is made of. Lines are only added; a torn last one is dropped.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::ArchiveError;
use crate::source::{ArchivedSession, BlockRef, Source, SourceState};

/// A line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LogLine {
    /// A session is new.
    Begin { id: u64, source: Source },
    /// More of it was copied.
    Copy { id: u64, blocks: Vec<BlockRef>, state: SourceState, at: i64, is_first: bool },
    /// The file was written anew: what was copied of it stays under another name.
    Keep { id: u64, session: String },
    /// Its database no longer has it.
    Gone { id: u64 },
    /// It was deleted from the archive.
    Delete { id: u64 },
}

/// The log and what it says.
#[derive(Debug)]
pub(crate) struct SourceLog {
    path: PathBuf,
    sessions: BTreeMap<u64, ArchivedSession>,
    /// The numbers by name.
    names: HashMap<String, u64>,
    next: u64,
    /// The whole lines, in bytes.
    length: u64,
}

impl SourceLog {
    /// Reads the log; it need not exist.
    pub(crate) fn load(path: &Path) -> Result<Self, ArchiveError> {
        let (sessions, names) = (BTreeMap::new(), HashMap::new());
        let mut log = Self { path: path.to_path_buf(), sessions, names, next: 1, length: 0 };
        log.refresh()?;
        Ok(log)
    }

    /// Reads what another process has added.
    pub(crate) fn refresh(&mut self) -> Result<(), ArchiveError> {
        let failed = |cause| ArchiveError::file("read", &self.path, cause);
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.length)).map_err(failed)?;
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // A line of a later version is not ours to judge.
            if let Ok(line) = serde_json::from_slice(line) {
                self.apply(line);
            }
        }
        self.length += whole as u64;
        Ok(())
    }

    fn apply(&mut self, line: LogLine) {
        match line {
            LogLine::Begin { id, source } => {
                self.next = self.next.max(id + 1);
                let state = SourceState::default();
                self.names.insert(source.session.clone(), id);
                self.sessions
                    .insert(id, ArchivedSession { id, source, state, blocks: Vec::new(), copied_at: 0 });
            }
            LogLine::Copy { id, blocks, state, at, is_first } => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    if is_first {
                        session.blocks.clear();
                    }
                    session.blocks.extend(blocks);
                    session.state = state;
                    session.copied_at = at;
                }
            }
            LogLine::Keep { id, session: name } => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    self.names.remove(&session.source.session);
                    self.names.insert(name.clone(), id);
                    session.source.session = name;
                    session.source.path = PathBuf::new();
                }
            }
            LogLine::Gone { id } => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.state.is_gone = true;
                }
            }
            LogLine::Delete { id } => {
                if let Some(session) = self.sessions.remove(&id) {
                    self.names.remove(&session.source.session);
                }
            }
        }
    }

    /// Adds lines with one write. The caller holds the lock of the archive.
    fn add(&mut self, lines: Vec<LogLine>) -> Result<(), ArchiveError> {
        let failed = |cause| ArchiveError::file("write", &self.path, cause);
        let mut text = String::new();
        for line in &lines {
            text.push_str(&serde_json::to_string(line).map_err(|error| failed(error.into()))?);
            text.push('\n');
        }
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path).map_err(failed)?;
        // What stands behind the last whole line is torn.
        file.set_len(self.length).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if let Err(cause) = written {
            let _ = file.set_len(self.length);
            return Err(failed(cause));
        }
        self.length += text.len() as u64;
        lines.into_iter().for_each(|line| self.apply(line));
        Ok(())
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &ArchivedSession> + Clone {
        self.sessions.values()
    }

    pub(crate) fn session(&self, id: u64) -> Option<&ArchivedSession> {
        self.sessions.get(&id)
    }

    /// The session with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&ArchivedSession> {
        self.sessions.get(self.names.get(name)?)
    }

    /// Begins a session under a name that no other has.
    pub(crate) fn begin(&mut self, source: &Source) -> Result<u64, ArchiveError> {
        let id = self.next;
        let mut source = source.clone();
        source.session = self.free_name(&source.session);
        self.add(vec![LogLine::Begin { id, source }])?;
        Ok(id)
    }

    fn free_name(&self, name: &str) -> String {
        let is_free = |name: &str| self.named(name).is_none();
        let other = || (2..).map(|number| format!("{name}~{number}")).find(|name| is_free(name));
        if is_free(name) { name.to_owned() } else { other().unwrap_or_else(|| name.to_owned()) }
    }

    /// Notes a state and the blocks that were added, or with which a session begins anew.
    pub(crate) fn copied(
        &mut self,
        id: u64,
        blocks: Vec<BlockRef>,
        state: SourceState,
        at: i64,
        is_first: bool,
    ) -> Result<(), ArchiveError> {
        self.add(vec![LogLine::Copy { id, blocks, state, at, is_first }])
    }

    /// Keeps what was copied under another name, as its file was written anew, and begins again.
    pub(crate) fn keep_and_begin(&mut self, id: u64) -> Result<u64, ArchiveError> {
        let Some(source) = self.session(id).map(|session| session.source.clone()) else { return Ok(id) };
        let new = self.next;
        let session = self.free_name(&source.session);
        self.add(vec![LogLine::Keep { id, session }, LogLine::Begin { id: new, source }])?;
        Ok(new)
    }

    /// Notes that databases no longer have these sessions.
    pub(crate) fn gone(&mut self, ids: &[u64]) -> Result<(), ArchiveError> {
        self.add(ids.iter().map(|id| LogLine::Gone { id: *id }).collect())
    }

    pub(crate) fn delete(&mut self, ids: &[u64]) -> Result<(), ArchiveError> {
        self.add(ids.iter().map(|id| LogLine::Delete { id: *id }).collect())
    }
}
