//! Measures compaction on recorded sessions: what would the rest of the session have missed?
//!
//! [`evaluate`] cuts a session at several points, lets each [`Method`] make the part before the cut smaller, and looks
//! what the rest of the session then needed: names it uses, sentences of the user's, planted rules, answers to
//! questions. [`Summary`] takes the mean over sessions and [`to_json`] writes it down. The detector that finds what is needed
//! shares no code with any extractor, so that nothing is graded by its own measure.
//!
//! ```
//! use longhaul_eval::{Settings, Subject, baselines, evaluate};
//!
//! let file = r#"{"contents": [{"role": "user", "parts": [{"text": "Fix parse_line in src/lib.rs"}]},
//!     {"role": "model", "parts": [{"text": "Done."}]}, {"role": "user", "parts": [{"text": "Thanks"}]}]}"#;
//! let session = longhaul_formats::read_session(file.as_bytes())?;
//! let report = evaluate(&Subject::new("short", &session), &baselines(), &Settings::default());
//! assert_eq!(report.cells.len(), baselines().len() * 4);
//! # Ok::<(), longhaul_formats::ReadError>(())
//! ```

mod anchors;
mod baselines;
mod evaluate;
mod figures;
mod index;
mod json;
mod method;
mod offline;
mod paths;
mod planted;
mod replay;
mod rereads;
mod score;
mod sentences;
mod subject;
mod text;
mod tfidf;

pub use anchors::{Anchor, AnchorKind};
pub use baselines::baselines;
pub use evaluate::{Settings, evaluate};
pub use figures::{Cell, Defects, Figures, Measure, SessionReport, Summary};
pub use json::to_json;
pub use method::{Compactor, Method, Task};
pub use offline::offline;
pub use score::{Kept, Share};
pub use subject::{Class, Subject};

pub use text::count_tokens;
