//! Transcripts, and the changes to them.

use crate::{Message, MessageId, Part, Role, Sequence, ToolDeclaration, Usage};

/// The current conversation: system instruction, tools and messages in order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The system instruction.
    pub system: Vec<Part>,
    /// The declared tools.
    pub tools: Vec<ToolDeclaration>,
    messages: Sequence<Message>,
}

/// A change to a transcript. Session formats write these in different ways; the changes are the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Appends a message, or replaces the one with its id in place.
    Put(Message),
    /// Inserts a message after the one with the id `after`, or appends it if there is none; a message with its own id
    /// is replaced in place.
    PutAfter {
        /// The message before it.
        after: MessageId,
        /// The message.
        message: Message,
    },
    /// Appends parts to a message that is written piece by piece; an unknown id changes nothing.
    Extend {
        /// The message.
        id: MessageId,
        /// The new parts.
        parts: Vec<Part>,
    },
    /// Removes this message and all after it; an unknown id changes nothing.
    RewindTo(MessageId),
    /// States what the provider counted for the request that the newest message of the model answers; without one, nothing
    /// changes.
    Counted(Usage),
    /// Starts over: everything before was compacted away.
    Restart,
}

impl Transcript {
    /// A transcript of these messages.
    pub fn from_messages(messages: impl IntoIterator<Item = Message>) -> Self {
        let mut transcript = Self::default();
        for message in messages {
            transcript.apply(Change::Put(message));
        }
        transcript
    }

    /// Replaces the messages; the system instruction and the tools stay.
    #[must_use]
    pub fn with_messages(self, messages: impl IntoIterator<Item = Message>) -> Self {
        Self { system: self.system, tools: self.tools, ..Self::from_messages(messages) }
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        self.messages.as_slice()
    }

    /// Takes the messages.
    pub fn into_messages(mut self) -> Vec<Message> {
        self.take_messages()
    }

    /// Takes all messages; the system instruction and the tools stay.
    pub fn take_messages(&mut self) -> Vec<Message> {
        self.messages.take_all()
    }

    /// The index of the message with this id.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.messages.position(id)
    }

    /// Applies a change.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Put(message) => {
                let id = message.id.clone();
                let replaced = self.messages.put(id.clone(), message);
                self.keep_mark(&id, replaced);
            }
            Change::PutAfter { after, message } => {
                let id = message.id.clone();
                let replaced = self.messages.put_after(&after, id.clone(), message);
                self.keep_mark(&id, replaced);
            }
            Change::Extend { id, parts } => {
                if let Some(message) = self.messages.get_mut(&id) {
                    message.parts.extend(parts);
                }
            }
            Change::RewindTo(id) => drop(self.messages.rewind_to(&id)),
            Change::Counted(usage) => {
                let answer =
                    self.messages.as_slice().iter().rev().find(|message| message.role == Role::Model);
                let id = answer.map(|message| message.id.clone());
                if let Some(message) = id.and_then(|id| self.messages.get_mut(&id)) {
                    message.usage = Some(Box::new(usage));
                }
            }
            Change::Restart => drop(self.messages.take_all()),
        }
    }

    /// Keeps the number under which a replaced message was first quoted.
    fn keep_mark(&mut self, id: &MessageId, replaced: Option<Message>) {
        if let Some(mark) = replaced.and_then(|message| message.ordinal)
            && let Some(message) = self.messages.get_mut(id)
        {
            message.ordinal = Some(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ordinal, Role};

    fn message(id: &str, text: &str) -> Message {
        Message::new(id, Role::User, vec![Part::user_text(text)])
    }

    #[track_caller]
    fn check(changes: Vec<Change>, expected: &str) {
        let mut transcript = Transcript::default();
        changes.into_iter().for_each(|change| transcript.apply(change));
        let seen: Vec<String> = transcript
            .messages()
            .iter()
            .map(|m| {
                let text: String = m.parts.iter().filter_map(Part::as_text).collect();
                assert_eq!(transcript.position(&m.id).map(|at| &transcript.messages()[at]), Some(m));
                format!("{}={text}", m.id)
            })
            .collect();
        assert_eq!(seen.join(" "), expected);
    }

    #[test]
    fn a_known_id_is_replaced_in_place() {
        let put = |id: &str, text: &str| Change::Put(message(id, text));
        check(vec![put("a", "1"), put("b", "2"), put("a", "3")], "a=3 b=2");
    }

    #[test]
    fn a_replaced_message_keeps_its_mark() {
        let mut transcript = Transcript::default();
        transcript.apply(Change::Put(Message { ordinal: Some(Ordinal(7)), ..message("a", "1") }));
        transcript.apply(Change::Put(Message { ordinal: Some(Ordinal(9)), ..message("a", "2") }));
        assert_eq!(transcript.messages()[0].ordinal, Some(Ordinal(7)));
    }

    #[test]
    fn a_rewind_drops_the_message_and_all_after_it() {
        let put = |id: &str| Change::Put(message(id, "x"));
        let rewind = |id: &str| Change::RewindTo(id.into());
        check(vec![put("a"), put("b"), put("c"), rewind("b")], "a=x");
        check(vec![put("a"), rewind("nobody")], "a=x");
        check(vec![put("a"), put("b"), rewind("b"), put("b"), put("c")], "a=x b=x c=x");
    }

    #[test]
    fn a_message_can_be_put_behind_another() {
        let put = |id: &str| Change::Put(message(id, "x"));
        let after =
            |after: &str, id: &str| Change::PutAfter { after: after.into(), message: message(id, "y") };
        check(vec![put("a"), put("b"), put("c"), after("a", "d"), put("b")], "a=x d=y b=x c=x");
        check(vec![put("a"), put("b"), after("nobody", "d"), after("a", "b")], "a=x b=y d=y");
    }

    #[test]
    fn a_restart_forgets_and_goes_on() {
        let put = |id: &str| Change::Put(message(id, "x"));
        check(vec![put("a"), Change::Restart, put("b"), put("a")], "b=x a=x");
    }

    #[test]
    fn a_count_belongs_to_the_newest_answer() {
        let usage = Usage { input: Some(crate::TokenCount(7)), ..Usage::default() };
        let mut transcript = Transcript::default();
        transcript.apply(Change::Counted(usage));
        for (id, role) in [("u", Role::User), ("a", Role::Model), ("b", Role::Model), ("r", Role::User)] {
            transcript.apply(Change::Put(Message::new(id, role, vec![])));
        }
        transcript.apply(Change::Counted(usage));
        let counted: Vec<_> = transcript.messages().iter().map(|message| message.usage.is_some()).collect();
        assert_eq!(counted, [false, false, true, false]);
    }

    #[test]
    fn a_message_can_grow() {
        let grow = |id: &str| Change::Extend { id: id.into(), parts: vec![Part::user_text("+")] };
        check(vec![Change::Put(message("a", "x")), grow("a"), grow("nobody")], "a=x+");
    }
}
