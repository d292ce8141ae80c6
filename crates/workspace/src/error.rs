//! The error of the crate: variants are divided by what a caller can do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::Holder;

/// An error of the home, a project, the trust rules or a file.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The environment names no home. The user sets `LONGHAUL_HOME`.
    #[error("could not find a home folder")]
    NoHome,
    /// A path must begin at the root. The caller completes it or tells the user.
    #[error("{what} is not an absolute path: {}", path.display())]
    NotAbsolute {
        /// The name of what the path stands for, such as a variable.
        what: &'static str,
        /// The path as it was given.
        path: PathBuf,
    },
    /// JSON holds only Unicode, and this path is none.
    #[error("could not save the path {}: it is not valid Unicode", path.display())]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// A name would lead out of its folder or is no file name.
    #[error("unsafe file name {name:?}")]
    UnsafeName {
        /// The name as it was given.
        name: String,
    },
    /// The place may not be written. The caller goes on without saving, or the user changes the permissions.
    #[error("could not write {}", path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The place may not be read. Nothing is ever written over what could not be read.
    #[error("could not read {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// There is no room. The user frees some; what was there before is whole.
    #[error("could not write {}: the disk is full", path.display())]
    DiskFull {
        /// The file that did not fit.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// Another process works on the file. The caller waits longer or does without.
    #[error("could not lock {}{}", path.display(), holder.as_ref().map(|by| format!(": {by}")).unwrap_or_default())]
    Locked {
        /// The file that the lock protects.
        path: PathBuf,
        /// The holder, as far as known.
        holder: Option<Holder>,
    },
    /// A file that users edit has mistakes. The user mends it; it is left as it is.
    #[error("invalid file {}: {}", path.display(), problems.join("; "))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Every mistake, in the order of the file.
        problems: Vec<String>,
    },
    /// A project cannot take over the id of another one.
    #[error("could not move the project {}: {reason}", from.display())]
    NotMoved {
        /// The former folder of the project.
        from: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// Anything else that the system reports.
    #[error("could not {act} {}", path.display())]
    Failed {
        /// The act that was tried, as a verb.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
}

impl WorkspaceError {
    /// A failure to read `path`.
    pub(crate) fn reading(path: &Path, cause: io::Error) -> Self {
        let path = path.to_path_buf();
        match cause.kind() {
            ErrorKind::PermissionDenied => Self::Unreadable { path, cause },
            _ => Self::Failed { act: "read", path, cause },
        }
    }

    /// A failure to change `path` or something in it.
    pub(crate) fn writing(path: &Path, cause: io::Error) -> Self {
        let path = path.to_path_buf();
        match cause.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, cause },
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull { path, cause }
            }
            _ => Self::Failed { act: "write", path, cause },
        }
    }

    /// True if nothing is wrong but that nothing can be saved, so that a caller can do without.
    pub(crate) fn is_about_saving(&self) -> bool {
        matches!(self, Self::ReadOnly { .. } | Self::DiskFull { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ErrorKind, message: &str, is_about_saving: bool) {
        let error = WorkspaceError::writing(Path::new("f"), kind.into());
        assert_eq!((error.to_string().as_str(), error.is_about_saving()), (message, is_about_saving));
    }

    #[test]
    fn what_a_caller_can_do_tells_errors_apart() {
        check(ErrorKind::PermissionDenied, "could not write f", true);
        check(ErrorKind::ReadOnlyFilesystem, "could not write f", true);
        check(ErrorKind::StorageFull, "could not write f: the disk is full", true);
        check(ErrorKind::NotADirectory, "could not write f", false);
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_missing() {
        let error = WorkspaceError::reading(Path::new("f"), ErrorKind::PermissionDenied.into());
        assert!(matches!(error, WorkspaceError::Unreadable { .. }));
        assert!(!error.is_about_saving());
    }
}
