//! Trust in folders: rules, decisions, and the contents that were trusted.

mod contents;
mod decide;
mod file;
mod rule;

pub use contents::{ContentChange, Contents, Fingerprint, TrustedContents, changes_between};
pub use decide::{Decider, Trust, TrustQuery};
pub use file::TrustedFolders;
pub use rule::{TrustLevel, TrustRule};
