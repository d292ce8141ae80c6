//! Evaluation of compaction on recorded sessions: what would the rest of the session have missed?
//!
//! [`evaluate`] cuts a session at several points, lets each [`Method`] compact the part before the cut, and measures how much
//! of what the rest of the session needed is still there: names it uses, sentences of the user, planted rules, answers to
//! questions. [`EvalSummary`] averages over sessions and [`to_json`] encodes the figures. The detector of needed names
//! shares no code with any extractor, so that none is graded by its own measure.
//!
//! ```
//! use longhaul_eval::{EvalSession, Settings, baselines, evaluate};
//!
//! let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Fix parse_line in src/lib.rs"}]},
//!     {"role": "model", "parts": [{"text": "Done."}]}, {"role": "user", "parts": [{"text": "Thanks"}]}]}"#;
//! let session = longhaul_formats::read_session(file.as_bytes())?;
//! let report = evaluate(&EvalSession::new("short", &session), &baselines(), &Settings::default());
//! assert_eq!(report.cells.len(), baselines().len() * 4);
//! # Ok::<(), longhaul_formats::ReadError>(())
//! ```

mod anchors;
mod baselines;
mod chain_measures;
mod evaluate;
mod excerpt;
mod figures;
mod index;
mod json;
mod junk;
mod ledger_names;
mod method;
mod needs;
mod offline;
mod paths;
mod planted;
mod replay;
mod rereads;
mod score;
mod sentences;
mod session;
mod split;
mod text;
mod tfidf;

pub use baselines::baselines;
pub use evaluate::{Settings, evaluate};
pub use figures::{Cell, Defects, EvalSummary, Figures, Measure, SessionReport};
pub use json::to_json;
pub use method::{Claim, CompactionTask, Compactor, Method};
pub use needs::{CutNeeds, needs_at_cuts};
pub use offline::offline;
pub use score::KeptShare;
pub use session::{Class, EvalSession};
pub use split::{Half, Split, SplitError};

pub use text::count_tokens;
