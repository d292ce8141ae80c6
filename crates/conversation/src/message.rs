//! A message: what one side said at one time.

use crate::{Extra, MessageId, Ordinal, Origin, Part, Timestamp, ToolCall, ToolResult, Usage};

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
    pub usage: Option<Box<Usage>>,
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

    /// The last message that a snapshot in it stands for: `<state_snapshot through="m214">`.
    pub fn snapshot_through(&self) -> Option<Ordinal> {
        let summaries = self.parts.iter().filter(|part| part.origin == Origin::Summary);
        summaries.filter_map(Part::as_text).find_map(|text| {
            let (_, attributes) = text.split_once("<state_snapshot")?;
            let (attributes, _) = attributes.split_once('>')?;
            let (_, value) = attributes.split_once("through=\"m")?;
            let number = value.split('"').next()?.parse().ok()?;
            // No log is that long; behind a larger number there would be none left to go on with.
            (number <= u32::MAX / 2).then_some(Ordinal(number))
        })
    }

    /// Whether nothing in it says anything.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Part::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_through(origin: Origin, text: &str, expected: Option<u32>) {
        let message = Message::new("m", Role::User, vec![Part::text(origin, text)]);
        assert_eq!(message.snapshot_through(), expected.map(Ordinal), "{text}");
    }

    #[test]
    fn a_snapshot_says_how_far_it_goes() {
        check_through(Origin::Summary, "Well:\n<state_snapshot through=\"m214\">\nx", Some(214));
        check_through(Origin::Summary, "<state_snapshot>\nthrough=\"m214\"", None);
        check_through(Origin::Summary, "<state_snapshot through=\"m4294967295\">", None);
        check_through(Origin::Summary, "<state_snapshot through=\"mx\">", None);
        check_through(Origin::User, "<state_snapshot through=\"m214\">", None);
    }
}
