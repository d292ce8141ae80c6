//! Sources: the session files of agents, and what is kept of them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A session of an agent: a file, or a document that an agent's database holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The agent, in lower case: `claude`, `codex`, `gemini`, `longhaul`.
    pub agent: String,
    /// The name by which the session is found again.
    pub session: String,
    /// The folder that the agent worked in, if the place of the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The file; of a session in a database the path that stands for it.
    pub path: PathBuf,
    /// The database that it lies in, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentSource>,
}

/// A session in a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentSource {
    /// The database.
    pub database: PathBuf,
    /// A number that changes with the session.
    #[serde(skip)]
    pub version: u64,
    /// The time of its last change, in milliseconds.
    #[serde(skip)]
    pub changed: i64,
}

/// The state of a source when it was last copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceState {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// The time of the last change, in nanoseconds.
    pub(crate) changed: i64,
    /// The bytes that are copied.
    pub(crate) offset: u64,
    /// The hash of the first bytes.
    pub(crate) prefix: String,
    /// The version of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u64>,
    /// True if its database no longer has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_gone: bool,
}

/// A block of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockRef {
    pub(crate) hash: String,
    /// The size of its text.
    pub(crate) bytes: u64,
}

/// A session in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedSession {
    /// Its number, in the order of arrival.
    pub(crate) id: u64,
    /// Where it came from; its name is unique in the archive.
    pub source: Source,
    pub(crate) state: SourceState,
    pub(crate) blocks: Vec<BlockRef>,
    /// The time of the last copy, in milliseconds.
    pub copied_at: i64,
}

impl ArchivedSession {
    /// Its number in the archive.
    pub fn number(&self) -> u64 {
        self.id
    }

    /// The size of the copy before compression.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// The time when the agent last wrote to it before the last copy, in milliseconds.
    pub fn changed_at(&self) -> i64 {
        match self.state.changed {
            0 => self.copied_at,
            nanoseconds => nanoseconds / 1_000_000,
        }
    }

    /// True if the agent's own file is gone.
    pub fn is_deleted(&self) -> bool {
        let place = match &self.source.document {
            Some(_) if self.state.is_gone => return true,
            Some(document) => &document.database,
            None => &self.source.path,
        };
        std::fs::symlink_metadata(place).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }
}
