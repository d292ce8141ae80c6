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
mod characters;
mod estimate;
mod json_size;
mod survey;

pub use breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
pub use estimate::{Estimate, Estimator, Meter, Weights};
pub use survey::Survey;
