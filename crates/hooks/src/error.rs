//! The errors of this crate. A failed hook is not one: see [`crate::HookRun::failure`].

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

/// An error about hooks.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The announced hooks could not be recorded. They are announced again next time.
    #[error("could not record the announced hooks")]
    NotNoted(#[from] WorkspaceError),
    /// The file holds something else. It is left for the user to correct or delete.
    #[error("{} is not a list of announced hooks", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
}
