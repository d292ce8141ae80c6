//! The cut of the reference implementation, which tests compare ours with.

use std::fmt;

use longhaul_conversation::{Message, Role, message_json_len};

use crate::cut::is_turn_start;

/// A share that is not between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InvalidFraction(
    /// The share that was given.
    pub f64,
);

impl fmt::Display for InvalidFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fraction must lie between 0 and 1, not {}", self.0)
    }
}

impl std::error::Error for InvalidFraction {}

/// The reference's own rule, for comparison: the first turn that begins at or after `fraction` of the JSON characters; else
/// everything, if the conversation ends with the model's words; else the last turn. Longhaul itself uses [`crate::plan_cut`].
pub(crate) fn reference_split(messages: &[Message], fraction: f64) -> Result<usize, InvalidFraction> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(InvalidFraction(fraction));
    }
    let sizes: Vec<usize> = messages.iter().map(message_json_len).collect();
    let target = sizes.iter().sum::<usize>() as f64 * fraction;
    let mut last_turn = 0;
    let mut before = 0;
    for (index, (message, size)) in messages.iter().zip(sizes).enumerate() {
        if is_turn_start(message) {
            if before as f64 >= target {
                return Ok(index);
            }
            last_turn = index;
        }
        before += size;
    }
    let ends_in_words = |last: &Message| last.role == Role::Model && last.calls().next().is_none();
    Ok(if messages.last().is_some_and(ends_in_words) { messages.len() } else { last_turn })
}
