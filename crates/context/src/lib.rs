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

mod asks;
mod breakdown;
mod budget;
mod characters;
mod curate;
mod cut;
mod estimate;
mod groups;
mod json_size;
mod ledger;
mod loops;
mod mask;
mod pins;
mod preview;
mod replace;
mod reverse_budget;
mod sentences;
#[cfg(test)]
mod shapes;
mod survey;
mod truncate;
mod typed;
mod words;

pub use asks::{Ask, AskState, Asks, Evidence, EvidenceKind};
pub use breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
pub use budget::{
    Budget, BudgetSettings, DoesNotFit, Floor, FloorPart, InvalidThreshold, OutputLimits, Threshold,
    parse_token_count,
};
pub use curate::{EmptyMessages, curate};
pub use cut::{Cut, CutReason, CutSettings, InvalidFraction, plan_cut, reference_split};
pub use estimate::{Estimate, Estimator, Meter, Weights};
pub use groups::complete_groups;
pub use ledger::{
    CommandEntry, CommandPurpose, CommitEntry, ErrorEntry, FileChange, FileEntry, FileRead, FileState,
    FileSummary, JobEntry, JobKind, Ledger, LedgerLine, LedgerSection, LedgerSummary, LineRange, RunEntry,
    StateSummary, StepStatus, TaskList, TaskStep, WorkOutcome,
};
pub use loops::{Loop, LoopDetector};
pub use mask::{CachePrices, MaskPlan, MaskSettings, MaskVerdict, MaskWhen, NewestMessage, plan_masks};
pub use pins::{Pin, PinId, Pins, Retirement};
pub use replace::{Replacement, apply_replacements};
pub use reverse_budget::{ReverseBudget, plan_shrinking};
pub use sentences::{Unit, UnitKind, split_units};
pub use survey::Survey;
pub use truncate::{FullOutput, TruncateMode, Truncated, output_limit, truncate_output};
