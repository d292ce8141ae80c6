//! What can go wrong around hooks. A hook that fails is no error: see [`crate::HookRun::failure`].

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

/// Why something about hooks could not be done.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// Which hooks were announced could not be noted. They are announced again next time.
    #[error("could not note which hooks were announced")]
    NotNoted(#[from] WorkspaceError),
    /// The file holds something else. The user mends or deletes it; it is left as it is.
    #[error("could not understand {}, which should list announced hooks", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
}
