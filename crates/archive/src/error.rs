//! Errors.

use std::io;
use std::path::{Path, PathBuf};

use longhaul_workspace::WorkspaceError;

/// A failure of the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file of the archive could not be read or written.
    #[error("could not {act} {path}", path = path.display())]
    File {
        /// The act, such as `write`.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The disk is full; what was copied before is safe.
    #[error("the disk is full: stopped after {sources} sessions and {bytes} bytes, which are safe")]
    DiskFull {
        /// The sessions that were copied.
        sources: usize,
        /// The bytes that were copied.
        bytes: u64,
    },
    /// A lock, or another file operation of the workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The index.
    #[error("the index of the archive failed")]
    Index(#[from] rusqlite::Error),
    /// A block is not what its name says.
    #[error("block {hash} of the archive is damaged")]
    Damaged {
        /// Its name.
        hash: String,
    },
    /// The server of the team's archive cannot be reached, or refuses.
    #[cfg(feature = "postgres")]
    #[error("could not connect to the team's archive")]
    Connect {
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server of the team's archive failed.
    #[cfg(feature = "postgres")]
    #[error("the team's archive failed")]
    Server(#[from] tokio_postgres::Error),
    /// A later version has migrated the team's archive.
    #[cfg(feature = "postgres")]
    #[error("the team's archive has schema {found}, and this program knows only {known}")]
    NewerSchema {
        /// The version of the schema.
        found: i32,
        /// The newest version that is known.
        known: i32,
    },
    /// The schema is missing or old, and this user may not change it.
    #[cfg(feature = "postgres")]
    #[error("the team's archive has schema {found} instead of {known}")]
    OlderSchema {
        /// The version of the schema; 0 for none.
        found: i32,
        /// The version that is needed.
        known: i32,
    },
    /// Row-level security does not hold for this user.
    #[cfg(feature = "postgres")]
    #[error("{role} is above row-level security and would see every tenant")]
    AboveSecurity {
        /// The role.
        role: String,
    },
    /// The user is no member of the tenant.
    #[cfg(feature = "postgres")]
    #[error("this user is no member of the tenant {tenant}")]
    NoTenant {
        /// The tenant.
        tenant: String,
    },
    /// The index of the team's archive splits texts in another way.
    #[cfg(feature = "postgres")]
    #[error("the index of the team's archive is of another version")]
    OtherTokens,
    /// A push ended early.
    #[cfg(feature = "postgres")]
    #[error("the push stopped after {sessions} sessions, which are safe")]
    PushStopped {
        /// The sessions that were pushed.
        sessions: usize,
        /// The cause.
        #[source]
        cause: Box<ArchiveError>,
    },
    /// No archived session has this name.
    #[error("no archived session named {0}")]
    Unknown(String),
}

impl ArchiveError {
    pub(crate) fn file(act: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::File { act, path: path.to_path_buf(), cause }
    }

    /// True if the cause is a full disk.
    pub(crate) fn is_full(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>().map(io::Error::kind);
            if matches!(io, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)) {
                return true;
            }
            if let Some(rusqlite::Error::SqliteFailure(failure, _)) = error.downcast_ref::<rusqlite::Error>()
                && failure.code == rusqlite::ErrorCode::DiskFull
            {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// True if the index itself is damaged, so that it must be made anew.
    pub(crate) fn is_corrupt_index(&self) -> bool {
        matches!(self, Self::Index(rusqlite::Error::SqliteFailure(failure, _))
            if matches!(failure.code, rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase))
    }
}
