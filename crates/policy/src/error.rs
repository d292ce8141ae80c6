//! What can go wrong, divided by what a caller can do about it.

use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

use crate::ApprovalMode;

/// Why something about policies could not be done.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The mode is for trusted folders. The user trusts the folder or takes another mode.
    #[error("could not use the approval mode {mode} in a folder that is not trusted")]
    NeedsTrust {
        /// The mode that was asked for.
        mode: ApprovalMode,
    },
    /// A setting or an argument about tools says nothing that a rule can be made of. The user mends it.
    #[error("could not make a rule of {text:?}: {reason}")]
    NoRule {
        /// The text as it was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file of saved choices has mistakes, and adding to it would not take effect. The user mends it; it is left
    /// as it is.
    #[error("could not add to {}, line {line}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where the mistake is, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A choice could not be saved. It still counts for the rest of the session.
    #[error("could not save the choice")]
    NotSaved(#[from] WorkspaceError),
}
