//! A bounded piece that is placed beside the conversation itself.

use crate::{Origin, Part, TokenCount};

/// Text placed in a request that is no message of the conversation: memory, a skill list, a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Who it comes from.
    pub origin: Origin,
    /// Where it stands in the request.
    pub place: Place,
    /// The text.
    pub text: String,
    /// The most it may take; whoever makes a fragment keeps to this.
    pub cap: TokenCount,
}

/// Where a fragment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the system instruction.
    System,
    /// Before the first user message.
    FirstUserMessage,
    /// Behind the newest message.
    NewestMessage,
}

impl Fragment {
    /// The fragment as a part of a message.
    pub fn to_part(&self) -> Part {
        Part::text(self.origin, self.text.clone())
    }
}
