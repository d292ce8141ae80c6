//! The team's archive, in PostgreSQL: what is pushed, and what everybody may find there. A program that was built without the
//! feature `postgres` says so.

mod folders;
#[cfg(not(feature = "postgres"))]
#[path = "missing.rs"]
mod server;
#[cfg(feature = "postgres")]
mod server;

use std::collections::BTreeMap;
use std::io::Write;

use longhaul_archive::{ArchivedSession, Question, Retention};
use longhaul_conversation::Timestamp;
use longhaul_recall::Hit;

pub use folders::{pushed_folders, set_pushed};

use crate::settings::Settings;

/// A session in the team's archive.
#[derive(Clone, Debug)]
pub struct TeamSession {
    /// The origin of the push: `user@host`.
    pub machine: String,
    /// The session. Its path is that of the machine.
    pub session: ArchivedSession,
}

/// Hits in the team's archive.
#[derive(Clone, Debug, Default)]
pub struct TeamAnswer {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// All sessions, by name.
    pub sessions: BTreeMap<String, TeamSession>,
}

/// The result of a push, or of one that was only tried.
#[derive(Clone, Debug, Default)]
pub struct PushSummary {
    /// The sessions of enabled folders.
    pub sessions: usize,
    /// Those with something new.
    pub pushed: usize,
    /// The new bytes before compression.
    pub bytes: u64,
    /// Those that were deleted from the team's archive and stay out.
    pub deleted: usize,
}

/// Makes the tables, or brings them up to date; the versions before and after.
///
/// # Errors
/// The server cannot be reached, or the user may not change them.
pub fn migrate(settings: &Settings) -> anyhow::Result<(i32, i32)> {
    server::migrate(settings)
}

/// The sessions of the team's archive.
///
/// # Errors
/// It cannot be read.
pub fn sessions(settings: &Settings) -> anyhow::Result<Vec<TeamSession>> {
    server::sessions(settings)
}

/// Searches the team's archive.
///
/// # Errors
/// It cannot be read.
pub fn recall(settings: &Settings, question: &Question, limit: usize) -> anyhow::Result<TeamAnswer> {
    server::recall(settings, question, limit)
}

/// Writes the copy of a session.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn export(settings: &Settings, name: &str, into: &mut dyn Write) -> anyhow::Result<()> {
    server::export(settings, name, into)
}

/// Deletes sessions; `agree` may refuse.
///
/// # Errors
/// A session is not there, `agree` fails, or the server does.
pub fn delete(
    settings: &Settings,
    names: &[String],
    agree: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    server::delete(settings, names, agree)
}

/// The sessions that a retention would remove.
///
/// # Errors
/// The server fails.
pub fn expired(
    settings: &Settings,
    retention: &Retention,
    now: Timestamp,
) -> anyhow::Result<Vec<ArchivedSession>> {
    server::expired(settings, retention, now)
}

/// Removes what a retention says; the sessions that are gone.
///
/// # Errors
/// The server fails.
pub fn prune(
    settings: &Settings,
    retention: &Retention,
    now: Timestamp,
) -> anyhow::Result<Vec<ArchivedSession>> {
    server::prune(settings, retention, now)
}

/// Makes the index of the tenant anew; the number of sessions.
///
/// # Errors
/// The server fails.
pub fn rebuild(settings: &Settings) -> anyhow::Result<usize> {
    server::rebuild(settings)
}

/// Brings the own archive up to date and pushes the sessions of enabled folders.
///
/// # Errors
/// The server fails. What was pushed is safe, and the next push goes on.
pub fn push(settings: &Settings) -> anyhow::Result<PushSummary> {
    server::push(settings)
}

/// Brings the own archive up to date and tells which sessions of it a push would look at.
///
/// # Errors
/// The archive cannot be read.
pub fn plan_push(settings: &Settings) -> anyhow::Result<Vec<(ArchivedSession, String)>> {
    folders::plan_push(settings)
}
