//! Fragments: bounded texts placed beside the conversation.

use crate::{Origin, Part, TokenCount};

/// Text in a request that is not a message of the conversation: memory, a skill list, a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Its origin.
    pub origin: Origin,
    /// Its place in the request.
    pub place: FragmentPlace,
    /// The text.
    pub text: String,
    /// The most tokens it may take, which its maker observes.
    pub cap: TokenCount,
}

/// The place of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentPlace {
    /// In the system instruction.
    System,
    /// Before the first user message.
    FirstUserMessage,
    /// After the newest message.
    NewestMessage,
}

impl Fragment {
    /// Converts the fragment to a part of a message.
    pub fn to_part(&self) -> Part {
        Part::text(self.origin, self.text.clone())
    }
}
