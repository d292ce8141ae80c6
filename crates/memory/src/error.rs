//! The error of writing memory; reading never fails, it reports what it had to leave out.

use std::path::PathBuf;

use longhaul_redact::SecretKind;
use longhaul_workspace::WorkspaceError;

/// An error that keeps a fact from being saved.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is nothing to remember. The caller asks for words.
    #[error("Parameter \"fact\" must be a non-empty string.")]
    BlankFact,
    /// The fact holds a secret, which belongs in no file that models read. The user takes it out.
    #[error("the fact holds a secret ({}), and secrets are not remembered", kind.name())]
    Secret {
        /// The kind of secret.
        kind: SecretKind,
    },
    /// There is no place for memory of this scope. The caller chooses another scope.
    #[error("there is no place for {scope} memory")]
    NoPlace {
        /// The scope that was asked for.
        scope: &'static str,
    },
    /// The file is a link, which may lead anywhere. The user writes to where it leads.
    #[error("could not add to {}, which is a link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The file is no text, and is left as it is. The user looks at it.
    #[error("could not add to {}, which is no text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than memory may be. The user makes it smaller.
    #[error("could not add to {}, which is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// Somebody changed the file after its new contents were shown to the user. The caller shows them again.
    #[error("{} has changed since its new contents were shown", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be locked, read or written.
    #[error("could not save to {}", path.display())]
    Files {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: WorkspaceError,
    },
}
