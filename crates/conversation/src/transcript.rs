//! What the model may see now, and the changes that make it so.

use crate::{Message, MessageId, Part, Sequence, ToolDeclaration};

/// A conversation as it stands: the system instruction, the tools and the messages in order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The system instruction.
    pub system: Vec<Part>,
    /// The tools that were declared.
    pub tools: Vec<ToolDeclaration>,
    messages: Sequence<Message>,
}

/// One step in the life of a transcript. Session formats differ in how they write these; the steps are the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A message is added behind the last one. If its id is already present it replaces that message in place.
    Put(Message),
    /// A message is added behind the one with the id `after`, or behind the last one where there is no such; if its
    /// own id is already present it replaces that message in place.
    PutAfter {
        /// The message it belongs behind.
        after: MessageId,
        /// The message.
        message: Message,
    },
    /// A message that was written piece by piece grows by these parts; an unknown id changes nothing.
    Extend {
        /// The message that grows.
        id: MessageId,
        /// What it grows by.
        parts: Vec<Part>,
    },
    /// This message and everything after it are taken back; an unknown id changes nothing.
    RewindTo(MessageId),
    /// The transcript starts over: what came before was compacted away.
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

    /// The same instruction and tools around other messages.
    #[must_use]
    pub fn with_messages(self, messages: impl IntoIterator<Item = Message>) -> Self {
        Self { system: self.system, tools: self.tools, ..Self::from_messages(messages) }
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Message] {
        self.messages.as_slice()
    }

    /// The messages, given away.
    pub fn into_messages(mut self) -> Vec<Message> {
        self.take_messages()
    }

    /// Takes all messages out; the system instruction and the tools stay.
    pub fn take_messages(&mut self) -> Vec<Message> {
        self.messages.take_all()
    }

    /// Where the message with this id stands.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.messages.position(id)
    }

    /// Carries out one change.
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
            Change::Restart => drop(self.messages.take_all()),
        }
    }

    /// A message that replaces another keeps the mark it was first quoted by.
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
    fn a_message_can_grow() {
        let grow = |id: &str| Change::Extend { id: id.into(), parts: vec![Part::user_text("+")] };
        check(vec![Change::Put(message("a", "x")), grow("a"), grow("nobody")], "a=x+");
    }
}
