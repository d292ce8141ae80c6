//! Copies of every agent's sessions, and an index to search them.
//!
//! Bytes first: [`Archive::sync`] copies what is new of each [`Source`] into compressed blocks that are named by their
//! content, redacted before they are written. A log of sources says which blocks a session is made of; blocks and log only
//! grow, so a sync may be killed at any moment, and what an agent deletes stays readable. The index is made from the blocks
//! and may be thrown away: [`Archive::rebuild`] makes it anew.
//!
//! ```
//! use longhaul_archive::{Archive, Question, Redaction, Source, SyncOptions};
//! use longhaul_conversation::Timestamp;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("7c1d.jsonl");
//! std::fs::write(&path, "{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"7c1d\",\"message\":{\"role\":\"user\",\"content\":\"Use a ring buffer.\"}}\n")?;
//!
//! let mut archive = Archive::open(&folder.path().join("archive"))?;
//! let source = Source { agent: "claude".into(), session: "7c1d".into(), project: None, path: path.clone(), document: None };
//! archive.sync(&[source], &SyncOptions::default())?;
//! std::fs::remove_file(path)?;
//!
//! let hits = archive.recall(&Question::new("ring buffer", Timestamp::from_millis(0)), 5)?;
//! assert_eq!(hits[0].session.as_str(), "7c1d");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod blocks;
mod error;
mod fetch;
#[cfg(feature = "postgres")]
mod postgres;
mod question;
mod rank;
mod redaction;
mod source;
mod source_log;
mod sqlite;
mod status;
mod store;
mod sync;
mod writer;

pub use archive::Archive;
pub use error::ArchiveError;
#[cfg(feature = "postgres")]
pub use postgres::{PushOptions, PushReport, TeamArchive, TeamOptions, TeamSession};
pub use question::Question;
pub use redaction::Redaction;
pub use source::{ArchivedSession, DocumentSource, Source};
pub use status::{ArchiveStatus, Retention};
pub use sync::{SkippedSource, SyncOptions, SyncReport};
