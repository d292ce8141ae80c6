//! Longhaul's context engine.

mod budget;
mod curate;
mod cut;
mod groups;
mod json_size;
mod rough;
#[cfg(test)]
mod shapes;
mod truncate;

pub use budget::{
    Budget, BudgetSettings, DoesNotFit, Floor, FloorPart, InvalidThreshold, OutputLimits, Threshold,
    parse_token_count,
};
pub use curate::{EmptyMessages, curate};
pub use cut::{Cut, CutReason, CutSettings, InvalidFraction, plan_cut, reference_split};
pub use groups::complete_groups;
pub use truncate::{FullOutput, TruncateMode, Truncated, output_limit, truncate_output};
