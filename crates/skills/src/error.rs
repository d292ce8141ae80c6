//! The error of the crate: variants are divided by what a caller can do.

use std::io;
use std::path::PathBuf;

use longhaul_workspace::WorkspaceError;

use crate::{ManifestError, SkillName};

/// An error of a skill or of the inbox.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The file is no SKILL.md. Its author corrects it.
    #[error("{} is not a valid skill", path.display())]
    NoSkill {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: ManifestError,
    },
    /// There is nothing to install or link there. The caller names another path.
    #[error("no skill in {}: {reason}", path.display())]
    NothingThere {
        /// The path.
        path: PathBuf,
        /// The reason, in words.
        reason: String,
    },
    /// Something in a folder must not be copied. The author takes it out.
    #[error("cannot use {}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason, in words.
        reason: String,
    },
    /// The address of a source is not one that is fetched. The caller names another.
    #[error("cannot fetch {address:?}: {reason}")]
    Source {
        /// The address as it was given.
        address: String,
        /// The reason, in words.
        reason: String,
    },
    /// A repository could not be fetched. The caller checks the address, or tries again.
    #[error("could not fetch {address}: {reason}")]
    Fetch {
        /// The address.
        address: String,
        /// The reason, in words.
        reason: String,
    },
    /// A skill of this name is there already. The caller removes it, or chooses another place.
    #[error("skill {name:?} already exists at {}", path.display())]
    Exists {
        /// The name.
        name: String,
        /// The path.
        path: PathBuf,
    },
    /// No skill has this name. The caller looks at the list.
    #[error("unknown skill {name:?}")]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// Nothing of this name waits. The caller looks at the list.
    #[error("nothing named {name:?} is pending")]
    NothingWaits {
        /// The name that was given.
        name: String,
    },
    /// The skill came in another way and leaves the same way.
    #[error("{name} is {tier} and cannot be removed on its own")]
    NotOurs {
        /// The skill.
        name: SkillName,
        /// The tier, in words.
        tier: &'static str,
    },
    /// A patch does not fit what it is to change, or is none. The user dismisses it.
    #[error("the patch cannot be applied: {reason}")]
    Patch {
        /// The reason, in words.
        reason: String,
    },
    /// The waiting item is not what it should be. The user looks at it, or dismisses it.
    #[error("{name:?} cannot be accepted: {reason}")]
    NotAcceptable {
        /// The waiting item.
        name: String,
        /// The reason, in words.
        reason: String,
    },
    /// The last acceptance stays. The user changes by hand what is to be changed.
    #[error("could not undo the last acceptance: {reason}")]
    NotUndone {
        /// The reason, in words.
        reason: String,
    },
    /// Files could not be read or written.
    #[error("could not {act} {}", path.display())]
    Files {
        /// The act that was tried.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// A file of Longhaul's own could not be locked or written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl SkillError {
    pub(crate) fn files(act: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Files { act, path, cause }
    }
}
