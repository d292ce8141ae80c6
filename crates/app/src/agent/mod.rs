//! An agent's dependencies: models, tools, rules, hooks and memory, as options, settings and files have them.

mod compose;
mod helpers;
mod hooks;
mod options;
mod permissions;
mod resources;
mod skills;
mod subagents;
mod summaries;
mod system_prompt;
mod toolkit;
mod tools;

pub use helpers::{HelperModels, OPEN_CHOICE};
pub use options::{AgentOptions, Attendance};
pub use permissions::load_current_permissions;
pub use resources::AgentResources;
pub use subagents::{SubagentModels, load as load_subagents};
pub use summaries::{ClosingNotes, SessionSummariser, write_notes_on_previous};
pub use toolkit::Toolkit;
