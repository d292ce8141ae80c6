//! Shortens conversations with models without losing rules, requests and work.
//!
//! A [`Tracker`] observes every message. When the conversation gets too long, three pure functions make it shorter:
//! [`plan`] decides what to do about an [`Input`], [`summarise`] writes the draft of a snapshot without a model (or a model
//! writes one), and [`apply`] checks the draft, rebuilds the messages and reports the [`Outcome`]. [`compact_offline`] is
//! all three in one call. There is no clock, file or network here; `longhaul-engine` brings these.
//!
//! ```
//! use longhaul_compaction::{Input, Message, Part, PlanOptions, Role, TokenCount, Tracker};
//! use longhaul_compaction::{compact_offline, prepare};
//!
//! let messages = [
//!     Message::new("1", Role::User, vec![Part::user_text("Never push to main. Now read this:")]),
//!     Message::new("2", Role::Model, vec![Part::model_text("All work and no play. ".repeat(900))]),
//!     Message::new("3", Role::User, vec![Part::user_text("What did it say?")]),
//! ];
//! let mut tracker = Tracker::default();
//! messages.iter().for_each(|message| tracker.observe(message));
//!
//! let options = PlanOptions::new(TokenCount(8_000));
//! let prepared = prepare(&messages, options.empty);
//! let outcome = compact_offline(&Input::new(&tracker, &prepared, &options));
//!
//! assert!(outcome.after < TokenCount(1_000), "{}", outcome.reason);
//! let snapshot = outcome.snapshot.expect("the first messages gave way to one").render();
//! assert!(snapshot.contains("Never push to main."));
//! let next_request = outcome.messages.expect("the snapshot and the newest message");
//! assert_eq!(next_request.last(), messages.last());
//! ```

mod adopt;
mod analysis;
mod apply;
mod breakdown;
mod budget;
mod calibrate;
mod compose;
mod counts;
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
#[cfg(test)]
mod real_sessions;
mod rebuild;
#[cfg(test)]
mod reference_cut;
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
mod task;
mod tracker;
mod truncate;

pub use adopt::{Quote, SummaryNotes};
pub use apply::{Feedback, apply};
pub use breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
pub use budget::{
    Budget, BudgetSettings, DoesNotFit, FloorPart, InvalidThreshold, OutputLimits, Threshold,
    parse_token_count,
};
pub use calibrate::{BASE_WEIGHTS, Calibration, CalibrationSettings, Observation, base_units};
pub use compose::{ComposeOptions, Composed, Repairing, compose};
pub use counts::{CountHistory, CountedSize, MeasuredMessage};
pub use curate::{EmptyMessages, curate};
pub use cut::{Cut, CutReason, CutSettings, plan_cut};
pub use draft::{Draft, DraftRefusal, Preview, preview, summarise};
pub use gauge::{Due, Gauge};
pub use host::{HostJob, HostState};
pub use input::{Input, Rungs};
pub use ladder::plan;
pub use loops::{Loop, LoopDetector};
pub use mask::{CachePrices, MaskWhen};
pub use numbering::continue_numbering;
pub use offline::compact_offline;
pub use options::{Fixed, PlanOptions};
pub use outcome::{DraftFigures, Outcome};
pub use plan::{Compaction, FileToSave, Plan, Rung};
pub use prepare::{PreparedMessages, prepare};
pub use replace::{Replacement, apply_replacements, output_file, with_output};
pub use report::{LedgerCounts, Report, RequestCounts};
pub use required::unsaid_rules;
pub use reverse_budget::{ReverseBudget, plan_shrinking};
pub use routing::{routing_window, scoring_window};
pub use shorten::Shortening;
pub use status::Status;
pub use survey::Survey;
pub use tracker::Tracker;
pub use truncate::{FullOutput, TruncateMode, Truncated, output_limit, truncate_output};

// Types of other crates in the signatures of this one, so that a program needs no second dependency.
pub use longhaul_conversation::{
    Estimator, Message, Ordinal, Part, Role, TokenCount, ToolCall, ToolResult, Trigger,
};
pub use longhaul_directives::{UserRequests, UserRules};
pub use longhaul_extract::{Coverage, NameCount};
pub use longhaul_ledger::Ledger;
pub use longhaul_snapshot::Snapshot;
pub use serde_json::json;

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
