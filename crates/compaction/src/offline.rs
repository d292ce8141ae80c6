//! One call from messages to fewer messages, without a model: plan, summarise, apply.

use crate::apply::{Feedback, apply};
use crate::draft::summarise;
use crate::input::Input;
use crate::ladder::plan;
use crate::outcome::Outcome;

/// Shortens a conversation as far as the options call for it, without a model. The same input gives the same bytes.
///
/// The engine takes the same three steps, with files, hooks and a model between them.
pub fn compact_offline(input: &Input<'_>) -> Outcome {
    let plan = plan(input);
    let draft = summarise(input, &plan);
    apply(input, &plan, &draft, &Feedback::default())
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
