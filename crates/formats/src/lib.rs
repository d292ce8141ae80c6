//! Reads the session files of coding agents, and writes conversations for them to read.
//!
//! [`read`] finds out by content which of the known [`Format`]s its input is and hands over one [`Event`] after the
//! other, so that a session of any size can be folded without holding it; [`read_session`] collects them into a
//! [`Session`]. Whatever is broken, torn or unknown becomes a [`Warning`] that names its line; what stands beside it
//! is still read.
//!
//! ```
//! let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}"#;
//! let session = longhaul_formats::read_session(file.as_bytes())?;
//! assert_eq!(session.info.format, longhaul_formats::Format::GeminiContents);
//! assert_eq!(session.transcript.messages()[0].parts[0].as_text(), Some("Hello"));
//! # Ok::<(), longhaul_formats::ReadError>(())
//! ```
//!
//! [`write_session`] goes the other way: it writes a session as the file of an agent or as a request of a provider, and
//! tells what that format has no place for.
//!
//! [`Replay`] has everything that a log of Gemini CLI or of Longhaul says, also what was compacted away or taken back. Both
//! have the same records; those of our own, which Gemini CLI passes over, are an [`Entry`] each. Appending to a log is for
//! `longhaul-sessions`.

mod detect;
mod error;
mod event;
mod format;
mod history;
mod info;
mod lines;
mod out;
mod read;
mod recorded;
mod records;
mod replay;
mod seen_parts;
mod sketch;
mod write;

pub use detect::detect_format;
pub use error::ReadError;
pub use event::{CountedCall, Event, Warning};
pub use format::Format;
pub use history::{HistoryStep, SessionHistory, read_history};
pub use info::{Question, SessionInfo, Skipped};
pub use read::{Session, SideChain, read, read_session, read_session_in, read_session_watched};
pub use recorded::{Recorded, read_recorded};
pub use records::{
    Compaction, CompactionReport, CompactionState, CompactionTokens, Entry, EntryKind, FragmentContent,
    HostRecord, IMPORTED, Mask, Masking, RecordedCompaction, RecordedFragment, RecordedNames, RecordedWait,
    RequestChange, Rewrite, RewriteKind, RewriteState, RuleChange, Setup, encode_exact, encode_state,
    encode_undo, is_legible, response_id, same_but_for_marks,
};
pub use replay::Replay;
pub use seen_parts::SeenParts;
pub use write::{WrittenSession, encode_answered, encode_compaction, new_opencode_session_id, write_session};

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
