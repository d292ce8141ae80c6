//! Carries out what `longhaul-compaction` plans: compactions that are summarised, verified, bounded and cancelled safely.
//!
//! [`compact`] takes a conversation as it is and gives back a [`PassOutcome`]: the new messages, if any, a report, and the
//! [`State`] from now on. Nothing that a summariser does fails a turn: [`Offline`] finishes what [`ByModel`] cannot, a
//! breaker and spend caps bound what models are asked, and a pass that is cancelled leaves everything as it was.
//!
//! A [`Conversation`] is a session on disk with everything that compactions need: it records each one before the
//! transcript in memory changes, and undoes it.
//!
//! ```
//! use std::time::Duration;
//!
//! use longhaul_compaction::{Input, PlanOptions, Status, Tracker, prepare};
//! use longhaul_conversation::{Message, Part, Role, ScriptedModel, ScriptedReply, TokenCount};
//! use longhaul_engine::{ByModel, CompactionDeps, Folder, Settings, State, compact};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let say = |id: &str, role, text: String| Message::new(id, role, vec![Part::user_text(text)]);
//! let messages = [
//!     say("1", Role::User, "Never push to main. Now read this:".to_string()),
//!     say("2", Role::Model, "The mill in the valley was closed after the flood. ".repeat(400)),
//!     say("3", Role::User, "What did it say?".to_string()),
//! ];
//! let mut tracker = Tracker::default();
//! messages.iter().for_each(|message| tracker.observe(message));
//!
//! let answer = "<state_snapshot><overall_goal>Read a text about a mill.</overall_goal><key_knowledge>The mill in the \
//!     valley was closed after the flood.</key_knowledge></state_snapshot>";
//! let model = ScriptedModel::new([ScriptedReply::text(answer)]);
//! let summariser = ByModel::new(&model, "some-model", TokenCount(32_000));
//! let folder = tempfile::tempdir().unwrap();
//! let files = Folder::new(folder.path());
//! let deps = CompactionDeps {
//!     summariser: &summariser,
//!     files: &files,
//!     counter: None,
//!     pre_compress: None,
//!     events: &|event| println!("{event:?}"),
//!     clock: &|| Duration::ZERO,
//! };
//!
//! let options = PlanOptions::new(TokenCount(8_000));
//! let prepared = prepare(&messages, options.empty);
//! let input = Input::new(&tracker, &prepared, &options);
//! let cancel = CancellationToken::new();
//! let outcome = compact(&input, &Settings::default(), &State::default(), &deps, &cancel).await;
//! assert_eq!(outcome.result.status, Status::Compressed);
//! assert_eq!(outcome.result.report.summariser, "model");
//! let snapshot = outcome.result.snapshot.unwrap().render();
//! assert!(snapshot.contains("The mill in the valley was closed") && snapshot.contains("Never push to main."));
//! # }
//! ```

mod breaker;
mod calibration;
mod compact;
mod conversation;
mod deps;
mod error;
mod event;
mod files;
mod latch;
mod outcome;
mod preparation;
mod settings;
mod spend;
mod state;
mod summarise;
mod telemetry;
#[cfg(test)]
mod trials;

pub use calibration::{CalibrationFile, observe_request};
pub use compact::compact;
pub use conversation::{Conversation, RecordId};
pub use deps::{CompactionDeps, Counter, PreCompress};
pub use error::EngineError;
pub use event::Event;
pub use files::{Files, Folder};
pub use latch::Latch;
pub use outcome::{Account, NotSaved, PassOutcome, ShortenedOutput};
pub use preparation::{DraftOrder, PreparedDraft};
pub use settings::{Caller, Counting, Fallback, PreCompressWhen, Settings, Verify};
pub use spend::{Prices, Spend, SpendCaps};
pub use state::{State, Wait};
pub use summarise::{BoxFuture, ByModel, Offline, Summariser, SummariserKind, SummaryError, SummaryTask};
pub use telemetry::{append_telemetry, telemetry_records};
