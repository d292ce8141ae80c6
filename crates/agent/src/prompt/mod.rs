//! The texts that begin a conversation: the system prompt, and the message that describes where the session takes place.

mod session_context;
mod system_prompt;

pub(crate) use session_context::has_session_context;
#[cfg(test)]
pub(crate) use session_context::is_session_context;
pub use session_context::{SessionContext, folder_tree};
pub use system_prompt::{MemorySaving, PromptDetail, PromptOptions, PromptSection, render_prompt};
