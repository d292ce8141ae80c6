//! Reads the sessions that coding agents leave behind, and writes conversations for others to read.
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
//! [`write()`] goes the other way: it writes a request in a provider's wire format and tells what that format has no place
//! for. [`write_session`] does the same for a whole session as the file of an agent.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Request, Role};
//! use longhaul_session::{Target, write};
//!
//! let hello = Message::new("u1", Role::User, vec![Part::user_text("Hello")]);
//! let written = write(Target::OpenAiChat, &Request { messages: vec![hello], ..Request::default() });
//! assert_eq!(written.value.to_string(), r#"{"messages":[{"role":"user","content":"Hello"}]}"#);
//! assert!(written.lost.is_empty());
//! ```

mod detect;
mod error;
mod event;
mod format;
mod info;
mod json;
mod lines;
mod log;
mod origins;
mod out;
mod read;
mod write;

pub use error::ReadError;
pub use event::{Event, Warning};
pub use format::Format;
pub use info::{Question, SessionInfo, Skipped};
pub use log::{
    Compaction, CompactionReport, CompactionTokens, Durability, Entry, EntryKind, FragmentContent,
    HostRecord, Log, LogError, LogHealth, Mask, Masking, NewSession, PinChange, RecordedCompaction,
    RecordedFragment, Recovery, Replay, Rewrite, RewriteKind, RewriteState, SessionKind, Setup,
};
pub use read::{Session, SideChain, read, read_session, read_session_watched};
pub use write::{Loss, LossKind, Target, Written, WrittenSession, response_id, write, write_session};
