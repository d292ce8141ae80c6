//! What fills a context window, and (step by step) how to make it smaller without losing what matters.
//!
//! Everything here is pure: values in, values out, no clock, no files, no network. Front ends and the engine bring the
//! effects.
//!
//! ```
//! use longhaul_compaction::Survey;
//! use longhaul_conversation::{Change, Message, Part, Role};
//!
//! let mut survey = Survey::default();
//! survey.apply(&Change::Put(Message::new("u1", Role::User, vec![Part::user_text("Hello there, world!")])));
//! let breakdown = survey.breakdown(&[], &[]);
//! assert_eq!(breakdown.total.0, 4);
//! assert_eq!(breakdown.turns.len(), 1);
//! ```

mod adopt;
mod analysis;
mod apply;
mod breakdown;
mod budget;
mod calibrate;
mod compose;
mod curate;
mod cut;
mod draft;
mod environment;
mod gain;
mod gauge;
mod groups;
mod host;
mod input;
mod ladder;
mod last_resort;
mod loops;
mod mask;
mod message_facts;
mod numbering;
mod observer;
mod offline;
mod options;
mod ordinary;
mod outcome;
mod output_preview;
mod phrase_search;
mod plan;
mod prepare;
mod rebuild;
mod replace;
mod report;
mod required;
mod reverse_budget;
mod routing;
#[cfg(test)]
mod shapes;
mod shorten;
mod status;
mod survey;
mod tracker;
mod truncate;

pub use adopt::{Quote, Repairing, SummaryNotes};
pub use apply::{Feedback, apply};
pub use breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
pub use budget::{
    Budget, BudgetSettings, DoesNotFit, Floor, FloorPart, InvalidThreshold, OutputLimits, Threshold,
    parse_token_count,
};
pub use calibrate::{BASE_WEIGHTS, Calibration, CalibrationSettings, Observation, base_units};
pub use compose::{ComposeOptions, Composed, compose};
pub use curate::{EmptyMessages, curate};
pub use cut::{Cut, CutReason, CutSettings, InvalidFraction, plan_cut, reference_split};
pub use draft::{Draft, DraftRefusal, Preview, preview, summarise};
pub use gauge::{Due, Gauge};
pub use groups::complete_groups;
pub use host::{HostJob, HostState};
pub use input::{Input, Rungs};
pub use ladder::plan;
pub use longhaul_conversation::Trigger;
pub use loops::{Loop, LoopDetector};
pub use mask::{CachePrices, MaskPlan, MaskSettings, MaskVerdict, MaskWhen, NewestMessage, plan_masks};
pub use numbering::continue_numbering;
pub use offline::compact_offline;
pub use options::{Fixed, PlanOptions};
pub use outcome::{DraftFigures, Outcome};
pub use plan::{Compaction, FileToSave, Plan, Rung};
pub use prepare::{PreparedMessages, prepare};
pub use replace::{Replacement, apply_replacements, output_file};
pub use report::{AskCounts, LedgerCounts, Report};
pub use reverse_budget::{ReverseBudget, plan_shrinking};
pub use routing::{routing_window, scoring_window};
pub use shorten::Shortening;
pub use status::Status;
pub use survey::Survey;
pub use tracker::Tracker;
pub use truncate::{FullOutput, TruncateMode, Truncated, output_limit, truncate_output};
