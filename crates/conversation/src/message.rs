//! A message: what one side said at one time.

use crate::{Extra, MessageId, Ordinal, Part, Timestamp, ToolCall, ToolResult, Usage};

/// Which side of the conversation a message stands on.
///
/// Tool results and everything the host adds stand on the user's side; [`crate::Origin`] tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The person, the tools and the host program.
    User,
    /// The model.
    Model,
}

/// What one side said at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Names the message durably.
    pub id: MessageId,
    /// Its place in its log, where it stands in one.
    pub ordinal: Option<Ordinal>,
    /// Whose message it is.
    pub role: Role,
    /// When it was said, where known.
    pub at: Option<Timestamp>,
    /// The model that wrote it, where known.
    pub model: Option<String>,
    /// What the provider said the call consumed.
    pub usage: Option<Usage>,
    /// What was said.
    pub parts: Vec<Part>,
    /// Fields of the vendor's message that we do not model, to be written back.
    pub extra: Option<Box<Extra>>,
}

impl Role {
    /// The lower-case word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

impl Message {
    /// A message of which only the content is known.
    pub fn new(id: impl Into<MessageId>, role: Role, parts: Vec<Part>) -> Self {
        Self { id: id.into(), ordinal: None, role, at: None, model: None, usage: None, parts, extra: None }
    }

    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// The tool results in it, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(Part::as_result)
    }

    /// Whether nothing in it says anything.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Part::is_empty)
    }
}
