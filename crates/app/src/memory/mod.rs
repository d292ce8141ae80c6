//! Memory beyond its files: facts that a user adds, and proposed changes.

mod inbox;
mod placing;

pub use inbox::{MemoryInbox, diff_of, failure};
pub use placing::{folder, save};
