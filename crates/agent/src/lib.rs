//! The turn of Longhaul's agent, without tools so far: what the user says is recorded, room is made for it, the model is
//! asked, and its answer is recorded.
//!
//! An [`Agent`] owns a session. [`Agent::run_turn`] tells what happens in [`Event`]s and takes a cancellation token; however a
//! turn ends, the session can go on.
//!
//! ```
//! use longhaul_agent::{Agent, Event, Host, ModelProfile, PromptOptions, Settings, Surroundings, TurnEnd, render_prompt};
//! use longhaul_context::{BudgetSettings, Estimator};
//! use longhaul_conversation::{FinishReason, ScriptedModel, ScriptedReply, Timestamp, TokenCount};
//! use longhaul_engine::{Folder, Offline};
//! use longhaul_session::{Log, NewSession, SessionKind};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let at = Timestamp::from_millis(1_767_323_045_000);
//! let new = NewSession {
//!     id: "7d0f5a52-demo".into(),
//!     project_hash: "abc".into(),
//!     kind: SessionKind::Main,
//!     directories: Vec::new(),
//!     at,
//! };
//! let settings = Settings {
//!     model: ModelProfile {
//!         name: "some-model".into(),
//!         recorded_as: "some-model".into(),
//!         window: TokenCount(32_000),
//!         output_reserve: None,
//!     },
//!     system: render_prompt(&PromptOptions::default()),
//!     surroundings: Surroundings {
//!         at,
//!         system: "linux".into(),
//!         directory: "/home/dev/app".into(),
//!         workspace: Vec::new(),
//!         tree: None,
//!     },
//!     budget: BudgetSettings::default(),
//!     keep: None,
//!     compaction: longhaul_engine::Settings::default(),
//!     estimator: Estimator::default(),
//! };
//! let mut agent = Agent::on(Log::create(folder.path(), &new)?, settings);
//!
//! let model = ScriptedModel::new([ScriptedReply::text("Good day.")]);
//! let numbers = std::sync::atomic::AtomicU32::new(1);
//! let host = Host {
//!     model: &model,
//!     summariser: &Offline,
//!     files: &Folder::new(folder.path()),
//!     counter: None,
//!     telemetry: None,
//!     calibration: None,
//!     events: &|event| if let Event::TextDelta(text) = event { print!("{text}") },
//!     now: &|| at,
//!     new_id: &|| format!("id-{}", numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
//! };
//! let end = agent.run_turn("Hello.", &host, &CancellationToken::new()).await?;
//! assert_eq!(end, TurnEnd::Finished(FinishReason::Stop));
//! // Where it takes place, what was said, what was answered.
//! assert_eq!(agent.conversation().transcript().messages().len(), 3);
//! # Ok(())
//! # }
//! ```

mod environment;
mod error;
mod event;
mod overflow;
mod prompt;
mod turn;

pub use environment::{Surroundings, folder_tree};
pub use error::AgentError;
pub use event::{Event, Overflow, TurnEnd};
pub use prompt::{PromptOptions, Section, render_prompt};
pub use turn::{Agent, Host, ModelProfile, Settings};
