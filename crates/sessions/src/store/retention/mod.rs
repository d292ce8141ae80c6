//! Retention: the sessions to keep, and for how long.

mod plan;
mod run;
mod settings;

pub use plan::{Doomed, DoomedItem, RetentionPlan, RetentionReason, ToolOutput, plan_retention};
pub use run::{Counts, Pruned};
pub use settings::{Retention, RetentionConfig, RetentionLimits, parse_period};
