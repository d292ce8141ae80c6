//! The append-only log of a session: Gemini CLI's records, and beside them what Longhaul did with the conversation. The
//! shape of the records is that of `longhaul-formats`.

mod error;
mod file;
mod fork;
mod journal;
#[cfg(test)]
mod laws;
mod open;
mod recording;
mod retell;

pub use error::LogError;
pub use file::Durability;
pub use journal::Log;
pub use open::{NewSession, Recovery, SessionKind};
pub use recording::{PendingRecords, Recording};
