//! The texts that begin a conversation: the system prompt, and the message that describes where the session takes place.

mod surroundings;
mod system_prompt;

#[cfg(test)]
pub(crate) use surroundings::is_session_context;
pub(crate) use surroundings::tells_surroundings;
pub use surroundings::{Surroundings, folder_tree};
pub use system_prompt::{PromptOptions, Saving, Section, render_prompt};
