//! Whether the files of a workspace may tell Longhaul what to do.

mod contents;
mod decide;
mod file;
mod rule;

pub use contents::{ContentChange, Contents, Fingerprint, TrustedContents, changes_between};
pub use decide::{Decider, Trust, TrustQuery};
pub use file::TrustedFolders;
pub use rule::{TrustLevel, TrustRule};
