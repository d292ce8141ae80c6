//! Errors about a project's sessions.

use std::io;
use std::path::PathBuf;

use longhaul_workspace::Holder;

/// Errors about a project's sessions.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no session to choose from.
    #[error("this project has no sessions")]
    NoSessions,
    /// No session has this id or index. The user looks at the list.
    #[error("unknown session {given:?}")]
    UnknownSession {
        /// The given text.
        given: String,
    },
    /// This cannot be the id or the file name of a session; nothing was touched.
    #[error("invalid session name {given:?}: {reason}")]
    InvalidName {
        /// The given text.
        given: String,
        /// The reason.
        reason: &'static str,
    },
    /// More than one session is meant; the user gives the whole id.
    #[error("{given:?} is ambiguous; it matches {}", ids.join(", "))]
    Ambiguous {
        /// The given text.
        given: String,
        /// The sessions that it may be.
        ids: Vec<String>,
    },
    /// Another process writes the session. The user ends it first.
    #[error("session {file} is in use{}", holder.as_ref().map(|by| format!(": {by}")).unwrap_or_default())]
    InUse {
        /// The name of its file.
        file: String,
        /// The holder, if known.
        holder: Option<Holder>,
    },
    /// A link or something else stands where a file or folder of the project's own should be. It is left alone.
    #[error("cannot use {}: {reason}", path.display())]
    Misplaced {
        /// The path found.
        path: PathBuf,
        /// The fault.
        reason: &'static str,
    },
    /// The system refused.
    #[error("could not {act} {}", path.display())]
    Failed {
        /// The attempted action, as a verb.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
}

impl StoreError {
    /// The word that Gemini CLI has for a session that could not be found.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::NoSessions => Some("NO_SESSIONS_FOUND"),
            Self::UnknownSession { .. } | Self::InvalidName { .. } | Self::Ambiguous { .. } => {
                Some("INVALID_SESSION_IDENTIFIER")
            }
            _ => None,
        }
    }
}
