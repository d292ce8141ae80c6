//! What fills a context window, and (step by step) how to make it smaller without losing what matters.
//!
//! Everything here is pure: values in, values out, no clock, no files, no network. Front ends and the engine bring the
//! effects.
//!
//! ```
//! use longhaul_context::Survey;
//! use longhaul_conversation::{Change, Message, Part, Role};
//!
//! let mut survey = Survey::default();
//! survey.apply(&Change::Put(Message::new("u1", Role::User, vec![Part::user_text("Hello there, world!")])));
//! let breakdown = survey.breakdown(&[], &[]);
//! assert_eq!(breakdown.total.0, 4);
//! assert_eq!(breakdown.turns.len(), 1);
//! ```

mod breakdown;
mod budget;
mod calibrate;
mod characters;
mod curate;
mod cut;
mod estimate;
mod groups;
mod json_size;
#[cfg(test)]
mod shapes;
mod snapshot;
mod survey;
mod truncate;

pub use breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
pub use budget::{
    Budget, BudgetSettings, DoesNotFit, Floor, FloorPart, InvalidThreshold, OutputLimits, Threshold,
    parse_token_count,
};
pub use calibrate::{BASE_WEIGHTS, Calibration, CalibrationSettings, Observation, base_units};
pub use curate::{EmptyMessages, curate};
pub use cut::{Cut, CutReason, CutSettings, InvalidFraction, plan_cut, reference_split};
pub use estimate::{Estimate, Estimator, Meter, Weights};
pub use groups::complete_groups;
pub use snapshot::{Entry, OtherSection, Section, Snapshot, SnapshotLine, find_snapshot, parse_snapshot};
pub use survey::Survey;
pub use truncate::{FullOutput, TruncateMode, Truncated, output_limit, truncate_output};
