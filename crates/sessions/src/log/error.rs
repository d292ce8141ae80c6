//! Errors of opening and writing a log, divided by what a caller can do.

use std::io;
use std::path::PathBuf;

use longhaul_conversation::MessageId;
use longhaul_formats::Format;
use longhaul_workspace::{Holder, WorkspaceError};

/// An error of opening or writing a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Another process writes this session. The caller can offer a fork.
    #[error("session {} is in use{}", path.display(), holder.as_ref().map(|by| format!(": {by}")).unwrap_or_default())]
    InUse {
        /// The log.
        path: PathBuf,
        /// The writing process, if known.
        holder: Option<Holder>,
    },
    /// There is a log of that name already. The caller chooses another id.
    #[error("session {} already exists", path.display())]
    AlreadyThere {
        /// The log.
        path: PathBuf,
    },
    /// The file is a session in a form that nothing can be appended to. The caller imports it.
    #[error("session {} cannot be continued: its format is {format}", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: Format,
    },
    /// Nothing in the file is a session. The caller names another file.
    #[error("{} is not a session", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
    },
    /// The id of a session says nothing that a file could be named by.
    #[error("invalid session id {id:?}")]
    BadId {
        /// The id as it was given.
        id: String,
    },
    /// No message of the current branch has this id. The caller chooses another.
    #[error("unknown message {id}")]
    NoSuchMessage {
        /// The id.
        id: MessageId,
    },
    /// There is no compaction or masking to undo, or not this one.
    #[error("nothing to undo{}", id.as_ref().map(|id| format!(": no active compaction {id}")).unwrap_or_default())]
    NothingToUndo {
        /// The compaction that was asked for.
        id: Option<String>,
    },
    /// A value in the message is nested so deep that no reader would take it. Nothing was recorded.
    #[error("message {id} is nested too deeply to record")]
    TooDeep {
        /// The message.
        id: MessageId,
    },
    /// The system refused to read or write. What was to be recorded is kept and written with the next record.
    #[error("could not {act} {}", path.display())]
    Io {
        /// The attempted action, as a verb.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The folder or the lock could not be made.
    #[error(transparent)]
    Workspace(WorkspaceError),
}

impl From<WorkspaceError> for LogError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Locked { path, holder } => Self::InUse { path, holder },
            other => Self::Workspace(other),
        }
    }
}
