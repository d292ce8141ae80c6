//! The types of a conversation between a person, a model and its tools.
//!
//! All crates of Longhaul share these types: a [`Message`] of [`Part`]s, each with an [`Origin`] that names its real
//! producer; a [`Transcript`] of messages that changes only through [`Change`]s; a [`Request`] to a [`Model`] and the
//! [`ResponseEvent`]s that come back. Vendor JSON does not appear here: it is read and written at the edges, and anything
//! not modelled is carried along as [`Opaque`] parts and [`Extra`] fields.
//!
//! The crate also owns the one law that every provider enforces, that calls and results pair up: [`find_faults`] checks it
//! and [`repair`] restores it.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Role, ToolCall, find_faults, repair};
//!
//! // An interrupted session: the model asked for a file and nothing ever answered.
//! let messages = vec![
//!     Message::new("u1", Role::User, vec![Part::user_text("What is in notes.txt?")]),
//!     Message::new("a1", Role::Model, vec![Part::call(ToolCall::new("c1", "read_file"))]),
//! ];
//! assert_eq!(find_faults(&messages).len(), 1);
//!
//! let repaired = repair(messages);
//! assert!(find_faults(&repaired.messages).is_empty());
//! assert_eq!(repaired.repairs.len(), 1);
//! ```

mod estimate;
mod fingerprint;
mod fragment;
mod ids;
mod json_size;
mod limits;
mod message;
mod meter;
mod model;
mod origin;
mod own_texts;
mod pairing;
mod part;
mod prompt;
mod request;
mod response_builder;
mod result_memory;
mod scripted;
mod sequence;
mod tags;
mod texts;
mod time;
mod tokens;
mod tool_call;
mod transcript;
mod trigger;
mod usage;

pub use estimate::{Estimate, EstimateProfile, Estimator, Weights};
pub use fingerprint::{Fingerprint, fingerprint_content, fingerprint_message};
pub use fragment::FragmentPlace;
pub use ids::{CallId, MessageId, Ordinal};
pub use json_size::{message_json_len, message_size};
pub use limits::{FALLBACK_WINDOW, WindowSource, context_window, known_models, window_for};
pub use message::{Message, Role};
pub use meter::{Consumption, SpendMeter};
pub use model::{AnswerLimit, FinishReason, Model, ModelError, ModelStream, ResponseEvent};
pub use origin::Origin;
pub use own_texts::{
    OWN_TAGS, SNAPSHOT_TAG, neutralise_snapshots, piped_input, quote_in_tag, snapshot_through, wrap_by_origin,
};
pub use pairing::{
    FaultKind, MessageShape, PairingFault, Repair, Repaired, RequestForm, find_faults, find_faults_in, repair,
};
pub use part::{Body, Extra, FileReference, Media, MediaData, Opaque, Part, Signature, Thought, Vendor};
pub use prompt::find_task;
pub use request::{CallLimits, Request, Sampling, ToolChoice, ToolDeclaration};
pub use response_builder::ResponseBuilder;
pub use result_memory::{
    DISCOVERED_MEMORY_MARKS, OUTPUT_END_NOTE, UPDATED_MEMORY_MARKS, imitates_memory, split_memory,
};
pub use scripted::{ScriptedModel, ScriptedReply};
pub use sequence::Sequence;
pub use tags::{neutralise_tags, replace_bytes, tag_places};
pub use texts::each_text;
pub use time::Timestamp;
pub use tokens::{TokenCount, grouped, plural};
pub use tool_call::{Output, ToolCall, ToolResult, ToolStatus};
pub use transcript::{Change, Transcript};
pub use trigger::Trigger;
pub use usage::Usage;

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
