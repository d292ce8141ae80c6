//! Delegation: runs sub-agents on tasks that another agent hands over, in its place or in the background of its turn.

mod approver;
mod background;
mod task;

pub(crate) use background::{BackgroundAgents, BackgroundResult};
pub(crate) use task::{SubagentEnd, SubagentReport, SubagentTask, run_alone};
