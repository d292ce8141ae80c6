//! The place of a fragment: bounded text beside the conversation, such as memory, a skill list or a reminder.

/// The place of a fragment in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentPlace {
    /// In the system instruction.
    System,
    /// Before the first user message.
    FirstUserMessage,
    /// After the newest message.
    NewestMessage,
}
