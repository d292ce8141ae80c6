//! Names and findings in a conversation: lines that are worth quoting, by the anchors that later work is likely to need.
//!
//! A [`Pool`] keeps the candidate lines of everything that was said, [`choose_lines`] picks those that cover most within a
//! budget, and [`measure_coverage`] tells what of it a summary still has.
//!
//! ```
//! use longhaul_conversation::{Message, Ordinal, Part, Role};
//! use longhaul_extract::{Pool, measure_coverage};
//!
//! let mut pool = Pool::default();
//! let message = Message::new("a1", Role::Model, vec![Part::model_text("The retry_count in src/upload.rs is never read.")]);
//! pool.observe(&message, Ordinal(1));
//! let coverage = measure_coverage(&pool, "retry_count", &[], Ordinal(2));
//! assert!(coverage.names.kept < coverage.names.of);
//! ```

mod anchors;
mod candidates;
mod card_line;
mod cards;
mod changes;
mod chart;
mod coverage;
mod gather;
mod lines;
mod names;
mod outputs;
mod paths;
mod pool;
mod select;
mod statements;
mod tokens;
mod values;
mod weigh;
mod worth;
mod written;

pub use anchors::AnchorKind;
pub use candidates::{Candidate, Candidates};
pub use cards::{FileCard, NameLists, choose_names};
pub use coverage::{Coverage, MissingAnchor, NameCount, measure_coverage};
pub use gather::{Gathered, Source};
pub use names::Anchor;
pub use pool::Pool;
pub use select::{Choice, choose_lines};
pub use statements::Form;
pub use values::{OnceSeenValue, once_seen_values};
pub use weigh::{USUAL_BUDGET, weigh_anchors};
pub use worth::{LEAST_SPARE_WORTH, LEAST_WORTH};
