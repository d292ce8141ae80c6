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
