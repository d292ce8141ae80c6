//! Why something could not be done with a project's sessions.

use std::io;
use std::path::PathBuf;

use longhaul_workspace::Holder;

/// Why something could not be done with a project's sessions.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no session to choose from.
    #[error("this project has no sessions")]
    NoSessions,
    /// No session has this id or index. The user looks at the list.
    #[error("unknown session {given:?}")]
    UnknownSession {
        /// What was given.
        given: String,
    },
    /// This cannot be the id or the file name of a session; nothing was touched.
    #[error("invalid session name {given:?}: {reason}")]
    InvalidName {
        /// What was given.
        given: String,
        /// What speaks against it.
        reason: &'static str,
    },
    /// More than one session is meant; the user gives the whole id.
    #[error("{given:?} is ambiguous; it matches {}", ids.join(", "))]
    Ambiguous {
        /// What was given.
        given: String,
        /// The sessions that it may be.
        ids: Vec<String>,
    },
    /// Another process writes the session. The user ends it first.
    #[error("session {file} is in use{}", holder.as_ref().map(|by| format!(": {by}")).unwrap_or_default())]
    InUse {
        /// The name of its file.
        file: String,
        /// Who has it, as far as known.
        holder: Option<Holder>,
    },
    /// A link or something else stands where a file or folder of the project's own should be. It is left alone.
    #[error("cannot use {}: {reason}", path.display())]
    Misplaced {
        /// What was found.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system refused.
    #[error("could not {act} {}", path.display())]
    Failed {
        /// What was tried, as a verb.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
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
