//! The sessions of a project: logs that only grow, and the store that lists, finds and deletes them.
//!
//! [`Log`] keeps a session of our own: an append-only file in Gemini CLI's records, which also holds what was done to the
//! conversation. Nothing is lost by a compaction, and undoing one brings back the transcript as it was.
//!
//! ```
//! use longhaul_conversation::{Message, Origin, Part, Role, Timestamp};
//! use longhaul_formats::{Compaction, CompactionReport, Entry, EntryKind};
//! use longhaul_sessions::{Log, NewSession, SessionKind};
//!
//! let folder = tempfile::tempdir()?;
//! let at = Timestamp::from_millis(1_767_323_045_000);
//! let new = NewSession {
//!     id: "7d0f5a52-demo".into(),
//!     project_hash: "abc".into(),
//!     kind: SessionKind::Main,
//!     directories: vec!["/home/dev/app".into()],
//!     at,
//! };
//! let mut log = Log::create(folder.path(), &new)?;
//! log.append(&Message::new("u1", Role::User, vec![Part::user_text("Hello")]))?;
//! log.append(&Message::new("m1", Role::Model, vec![Part::model_text("Good day")]))?;
//!
//! let snapshot = Message::new("s1", Role::User, vec![Part::text(Origin::Summary, "They greeted.")]);
//! let compaction = Compaction { report: CompactionReport::default(), messages: vec![snapshot] };
//! log.record(&Entry { id: "k1".into(), at: None, kind: EntryKind::Compaction(compaction) })?;
//! assert_eq!(log.replay().transcript().messages().len(), 1);
//!
//! log.undo(None, Some(at))?;
//! assert_eq!(log.replay().transcript().messages().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Store`] keeps the sessions of one project: it lists them without reading what was said, finds the one that a user
//! means, and deletes those that are not wanted any more with all that belongs to them.

mod log;
mod store;

pub use log::{Durability, Log, LogError, NewSession, PendingRecords, Recording, Recovery, SessionKind};
pub use store::{
    Counts, Deletion, Doomed, DoomedItem, Flaw, FlawedFile, ListedSession, Listing, Pruned, Retention,
    RetentionConfig, RetentionLimits, RetentionPlan, RetentionReason, Scratchpad, SessionMetadata,
    SessionRole, Store, StoreError, ToolOutput, load_metadata, parse_period, plan_retention,
    session_file_name, title_from,
};
