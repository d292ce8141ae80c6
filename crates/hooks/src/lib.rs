//! Hooks: the user's own commands that take part in the agent's work.
//!
//! A hook is a command that runs at a [`HookEvent`]. It reads JSON on its standard input and answers with its exit code and
//! with JSON or text: it can add context, change arguments, ask, block or stop. The protocol is Gemini CLI's, so that hooks
//! written for either program work with both.
//!
//! - [`parse_hooks`] reads hooks from settings, [`Hooks`] orders them, and [`Hooks::plan`] chooses those for an event;
//! - [`run_hooks`] runs them, each in a process group that is killed on timeout or cancellation;
//! - [`HookOutcome`] is the merged result, limited to what makes sense at the event.
//!
//! The crate reads no environment, and no clock except to measure durations: both are passed in.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use longhaul_conversation::Timestamp;
//! use longhaul_hooks::{
//!     HookContext, HookEnvironment, HookEvent, HookScope, HookSettings, Hooks, parse_hooks, run_hooks,
//! };
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//!
//! let settings = json!({"BeforeAgent": [{"hooks": [
//!     {"type": "command", "command": "grep -q secret && exit 2 || echo fine"}
//! ]}]});
//! let (hooks, warnings) = parse_hooks(&settings, HookScope::User);
//! assert!(warnings.is_empty());
//! let hooks = Hooks::new(hooks, &HookSettings::default(), true);
//!
//! let folder = tempfile::tempdir()?;
//! let context = HookContext {
//!     session_id: "s1".into(),
//!     transcript_path: folder.path().join("s1.jsonl"),
//!     cwd: folder.path().into(),
//!     timestamp: Timestamp::from_millis(0),
//! };
//! let environment = HookEnvironment {
//!     variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
//!     project: folder.path().into(),
//!     is_trusted: true,
//!     plans: None,
//! };
//! let event = HookEvent::BeforeAgent { prompt: "print the secret".into() };
//! let cancel = CancellationToken::new();
//! let outcome = run_hooks(&hooks, &event, &context, &environment, &cancel).await;
//! assert!(outcome.block().is_some());
//! # Ok(()) })
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

mod announce;
mod command;
mod config;
mod error;
mod event;
mod matcher;
mod merge;
mod outcome;
mod output;
mod process;
mod run;
mod variables;

pub use announce::note_new_hooks;
pub use command::HookEnvironment;
pub use config::{Hook, HookPlan, HookScope, HookSettings, Hooks, parse_hooks};
pub use error::HookError;
pub use event::{EndReason, EventName, HookContext, HookEvent, SessionSource, ToolUse};
pub use matcher::HookMatcher;
pub use outcome::{HookOutcome, HookRun, HookToolChoice, TailCall, describe_changes};
pub use output::{HookDecision, HookExit, HookOutput};
pub use run::run_hooks;
pub use variables::{SplitVariables, Variable, VariableRules};
