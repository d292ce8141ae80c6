//! Errors of the engine beside a compaction itself, which never fails.

use std::io;
use std::path::PathBuf;

use longhaul_sessions::LogError;
use longhaul_workspace::WorkspaceError;

/// Error of something that could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The calibration of models cannot be read.
    #[error("could not read the token calibration in {path}")]
    Calibration {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The log of what compactions did cannot be written.
    #[error("could not write to {path}")]
    Telemetry {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The session could not be opened, recorded or undone.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file could not be locked or written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}
