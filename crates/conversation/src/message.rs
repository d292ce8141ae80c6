//! Messages.

use crate::{
    Extra, MessageId, Ordinal, Origin, Part, Timestamp, ToolCall, ToolResult, Usage, snapshot_through,
};

/// The side of the conversation that a message belongs to.
///
/// Tool results and everything the host adds are on the user's side; [`crate::Origin`] distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The person, the tools and the host program.
    User,
    /// The model.
    Model,
}

/// A message of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The stable id.
    pub id: MessageId,
    /// Its number, if it is in a log.
    pub ordinal: Option<Ordinal>,
    /// Its side.
    pub role: Role,
    /// The time, if known.
    pub at: Option<Timestamp>,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// The provider's figures for the call.
    pub usage: Option<Box<Usage>>,
    /// The content.
    pub parts: Vec<Part>,
    /// Vendor fields that are not modelled, to be written back.
    pub extra: Option<Box<Extra>>,
}

impl Role {
    /// The lowercase name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

impl Message {
    /// A message with content only.
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

    /// The last message that a Longhaul snapshot in this message covers. See [`snapshot_through`]. Beside typed text, a
    /// snapshot was pasted and does not count.
    pub fn snapshot_through(&self) -> Option<Ordinal> {
        let summaries = self.parts.iter().filter(|part| part.origin == Origin::Summary);
        let is_typed = |part: &Part| {
            part.origin == Origin::User && part.as_text().is_some_and(|text| !text.trim().is_empty())
        };
        let through = summaries.filter_map(Part::as_text).find_map(snapshot_through)?;
        (self.role == Role::User && !self.parts.iter().any(is_typed)).then_some(through)
    }

    /// True if all its parts are empty.
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
        let snapshot = "<state_snapshot through=\"m214\">\nx\n</state_snapshot>";
        check_through(Origin::Summary, snapshot, Some(214));
        check_through(Origin::Summary, &format!("Well:\n{snapshot}"), None);
        check_through(Origin::Tool, snapshot, None);
        check_through(Origin::User, snapshot, None);
        let mut message = Message::new("m", Role::User, vec![Part::text(Origin::Summary, snapshot)]);
        message.parts.push(Part::text(Origin::Hook, "x"));
        assert_eq!(message.snapshot_through(), Some(Ordinal(214)));
        message.parts.push(Part::user_text("What is this?"));
        assert_eq!(message.snapshot_through(), None);
    }
}
