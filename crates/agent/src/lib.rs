//! The agent: what the user says is recorded, room is made for it, the model is asked, the tools it calls run under the
//! user's rules, and everything is recorded, until the model has no more to do.
//!
//! An [`Agent`] owns a session. [`Agent::run_turn`] emits [`Event`]s and takes a cancellation token; however a turn ends, the
//! session can go on. [`AgentDeps`] holds what the application brings: the model, the tools, approvals, the user's hooks, the
//! clock.
//!
//! ```
//! use longhaul_agent::{
//!     Agent, AgentDeps, Event, ModelProfile, PromptOptions, SessionContext, Settings, TurnEnd, render_prompt,
//! };
//! use longhaul_conversation::{FinishReason, ScriptedModel, ScriptedReply, Timestamp, TokenCount};
//! use longhaul_engine::Folder;
//! use longhaul_sessions::{Log, NewSession, SessionKind};
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
//! let model = ModelProfile {
//!     name: "some-model".into(),
//!     recorded_as: "some-model".into(),
//!     window: TokenCount(32_000),
//!     output_reserve: None,
//! };
//! let context = SessionContext {
//!     at,
//!     system: "linux".into(),
//!     directory: "/home/dev/app".into(),
//!     workspace: Vec::new(),
//!     tree: None,
//! };
//! let system = render_prompt(&PromptOptions::default());
//! let settings = Settings { system, ..Settings::new(model, context) };
//! let mut agent = Agent::on(Log::create(folder.path(), &new)?, settings);
//!
//! let model = ScriptedModel::new([ScriptedReply::text("Good day.")]);
//! let numbers = std::sync::atomic::AtomicU32::new(1);
//! let new_id = || format!("id-{}", numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
//! let files = Folder::new(folder.path());
//! let now = move || at;
//! let deps = AgentDeps {
//!     events: &|event| if let Event::TextDelta(text) = event { print!("{text}") },
//!     ..AgentDeps::new(&model, &files, &now, &new_id)
//! };
//! let end = agent.run_turn("Hello.", &deps, &CancellationToken::new()).await?;
//! assert_eq!(end, TurnEnd::Finished(FinishReason::Stop));
//! // Where it takes place, what was said, what was answered.
//! assert_eq!(agent.conversation().transcript().messages().len(), 3);
//! # Ok(())
//! # }
//! ```

mod agent;
mod approval;
mod attachments;
mod commands;
mod delegation;
mod deps;
mod editor;
mod error;
mod event;
mod excerpt;
mod hooks;
mod learning;
mod memory;
mod models;
mod prompt;
mod reading;
mod settings;
mod side_model;
mod statistics;
mod subagents;
mod tools;
mod turn;

pub use agent::Agent;
pub use approval::{AlwaysOffer, Approval, ApprovalRequest, Approver, UserQuestion};
pub use attachments::{Attachments, attach_files};
pub use commands::{CommandPiece, FilledCommand};
pub use deps::AgentDeps;
pub use error::AgentError;
pub use event::{
    Event, Instruction, InstructionSource, LimitOf, MemoryNews, Overflow, OverflowCause, SourceState,
    Spending, ToolEnd, TurnEnd,
};
pub use hooks::HookPoints;
pub use learning::{
    ExtractorEnd, ExtractorReport, ExtractorTask, FactTargets, ReadSession, SessionNotes, Validation,
    run_extractor, summarise_session,
};
pub use memory::{MemoryManager, SaveMemory, SessionMemory};
pub use models::{LoopJudges, ModelProfile, ModelSource, NamedModel, Route, Router};
pub use prompt::{
    MemorySaving, PromptDetail, PromptOptions, PromptSection, SessionContext, folder_tree, render_prompt,
};
pub use reading::ReadingScope;
pub use settings::{OutputSettings, Permissions, Settings, StepLimits, ToolSelection};
pub use side_model::SideModel;
pub use statistics::{
    Activity, ActivityLog, ActivityStatistics, MemoryUse, SideCalls, Statistics, ToolStatistics,
};
pub use subagents::{
    LoadedSubagents, SubagentDefinition, SubagentModel, SubagentName, SubagentPlaces, SubagentSource,
    SubagentTools, Subagents, load_subagents,
};
pub use tools::{ActivateSkill, ActiveSkills, SearchSkills};
pub use turn::AgentView;
