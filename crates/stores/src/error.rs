//! Errors of reading a store.

use std::io;

/// An error that keeps sessions from being read.
#[derive(Debug, thiserror::Error)]
pub enum StoreReadError {
    /// A file or a folder cannot be read.
    #[error("not readable")]
    Io(#[from] io::Error),
    /// It is no session of a known format.
    #[error(transparent)]
    Format(#[from] longhaul_formats::ReadError),
    /// Another program holds the database.
    #[error("the database is locked by another program")]
    Locked,
    /// The database is not as the agent makes it, or is damaged.
    #[error("not a database of this agent: {reason}")]
    Foreign {
        /// What is wrong.
        reason: String,
    },
    /// The database has no session with this id.
    #[error("no session {id} in this database")]
    NoSession {
        /// The id.
        id: String,
    },
}

impl From<rusqlite::Error> for StoreReadError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Locked,
            _ => Self::Foreign { reason: error.to_string() },
        }
    }
}
