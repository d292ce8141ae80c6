//! The archive of a team, in PostgreSQL: what its members have pushed, seen by one tenant.

mod connection;
mod migrate;
mod push;
mod remote_text;
mod store;
mod team;

pub use push::{PushOptions, PushReport};
pub use team::{TeamArchive, TeamOptions, TeamSession};
