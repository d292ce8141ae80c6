//! Reads the sessions that coding agents leave behind, writes conversations for others to read, and keeps a log of our own.
//!
//! [`read`] finds out by content which of the known [`Format`]s its input is and hands over one [`Event`] after the
//! other, so that a session of any size can be folded without holding it; [`read_session`] collects them into a
//! [`Session`]. Whatever is broken, torn or unknown becomes a [`Warning`] that names its line; what stands beside it
//! is still read.
//!
//! ```
//! let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}"#;
//! let session = longhaul_session::read_session(file.as_bytes())?;
//! assert_eq!(session.info.format, longhaul_session::Format::GeminiContents);
//! assert_eq!(session.transcript.messages()[0].parts[0].as_text(), Some("Hello"));
//! # Ok::<(), longhaul_session::ReadError>(())
//! ```
//!
//! [`write_session`] goes the other way: it writes a session as the file of an agent or as a request of a provider, and
//! tells what that format has no place for.
//!
//! [`Store`] keeps the sessions of one project: it lists them without reading what was said, finds the one that a user
//! means, and deletes those that are not wanted any more with all that belongs to them.

//!
//! [`Log`] keeps a session of our own: an append-only file in Gemini CLI's records, which also holds what was done to the
//! conversation. Nothing is lost by a compaction, and undoing one brings back the transcript as it was.
//!
//! ```
//! use longhaul_conversation::{Message, Origin, Part, Role, Timestamp};
//! use longhaul_session::{Compaction, CompactionReport, Entry, EntryKind, Log, NewSession, SessionKind};
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

mod detect;
mod error;
mod event;
mod format;
mod info;
mod lines;
mod log;
mod out;
mod read;
mod sketch;
mod store;
mod write;

pub use error::ReadError;
pub use event::{Event, Warning};
pub use format::Format;
pub use info::{Question, SessionInfo, Skipped};
pub use log::{
    Compaction, CompactionReport, CompactionState, CompactionTokens, Durability, Entry, EntryKind,
    FragmentContent, HostRecord, Log, LogError, Mask, Masking, NewSession, PendingRecords, PinChange,
    RecordedCompaction, RecordedFragment, RecordedWait, Recording, Recovery, Replay, Rewrite, RewriteKind,
    RewriteState, SessionKind, Setup,
};
pub use read::{
    Recorded, Session, SideChain, read, read_recorded, read_session, read_session_in, read_session_watched,
};
pub use store::{
    Counts, Deletion, Doomed, DoomedItem, Flaw, FlawedFile, ListedSession, Listing, Pruned, Retention,
    RetentionConfig, RetentionLimits, RetentionPlan, RetentionReason, Scratchpad, SessionMetadata,
    SessionRole, Store, StoreError, ToolOutput, load_metadata, parse_period, plan_retention, sanitise_name,
    session_file_name, subagent_file_name,
};
pub use write::{WrittenSession, response_id, write_session, write_session_taking};
