//! Finds what is new in the changes of a session.

use std::borrow::Cow;

use longhaul_conversation::{Change, Message, MessageId, Ordinal, Part, Role, Sequence, Timestamp};

/// Remembers which parts of a session were seen, and none of their content.
///
/// Formats repeat themselves: a growing message may be written again as a whole, and the messages after a compaction are
/// written twice. Whoever follows the whole history wants each part once. What was undone stays seen.
#[derive(Debug, Default)]
pub struct SeenParts(Sequence<Head>);

/// The head of a message, to complete the parts that come later.
#[derive(Clone, Copy, Debug)]
struct Head {
    ordinal: Option<Ordinal>,
    role: Role,
    at: Option<Timestamp>,
    parts: usize,
}

impl SeenParts {
    /// The parts that a change shows for the first time: a message, or what was added to one.
    pub fn new_parts<'c>(&mut self, change: &'c Change) -> Option<Cow<'c, Message>> {
        match change {
            Change::Put(message) | Change::PutAfter { message, .. } => self.message(message),
            Change::Extend { id, parts } => {
                let head = self.0.get_mut(id)?;
                head.parts += parts.len();
                Some(Cow::Owned(head.message(id, parts)))
            }
            Change::RewindTo(id) => {
                // Ids that were taken back may be given to other messages.
                self.0.rewind_to(id);
                None
            }
            Change::Restart | Change::Counted(_) => None,
        }
    }

    fn message<'c>(&mut self, message: &'c Message) -> Option<Cow<'c, Message>> {
        let Message { ordinal, role, at, .. } = *message;
        let mut head = Head { ordinal, role, at, parts: message.parts.len() };
        let told = self.0.put(message.id.clone(), head).map_or(0, |known| known.parts);
        if told == 0 {
            return Some(Cow::Borrowed(message));
        }
        if told > head.parts {
            head.parts = told;
            self.0.put(message.id.clone(), head);
        }
        let new = message.parts.get(told..).filter(|new| !new.is_empty())?;
        Some(Cow::Owned(head.message(&message.id, new)))
    }
}

impl Head {
    fn message(self, id: &MessageId, parts: &[Part]) -> Message {
        let Self { ordinal, role, at, .. } = self;
        Message { ordinal, at, ..Message::new(id.clone(), role, parts.to_vec()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, texts: &str) -> Message {
        let parts = texts.split_whitespace().map(Part::user_text).collect();
        Message { ordinal: Some(Ordinal(7)), ..Message::new(id, Role::User, parts) }
    }

    fn put(id: &str, texts: &str) -> Change {
        Change::Put(message(id, texts))
    }

    #[track_caller]
    fn check(changes: &[Change], expected: &str) {
        let mut seen = SeenParts::default();
        let news: Vec<String> = changes
            .iter()
            .filter_map(|change| {
                let message = seen.new_parts(change)?;
                assert_eq!(message.ordinal, Some(Ordinal(7)));
                let texts: Vec<&str> = message.parts.iter().filter_map(Part::as_text).collect();
                Some(format!("{}={}", message.id, texts.join("+")))
            })
            .collect();
        assert_eq!(news.join(" "), expected);
    }

    #[test]
    fn each_part_is_told_once() {
        check(&[put("a", "x"), put("b", "y z")], "a=x b=y+z");
        check(
            &[put("a", "x"), put("a", "x"), put("a", "x y z"), put("a", "x"), put("a", "x y")],
            "a=x a=y+z",
        );
        let grown = Change::Extend { id: "a".into(), parts: vec![Part::user_text("y")] };
        check(&[put("a", "x"), grown.clone(), put("a", "x y")], "a=x a=y");
        check(std::slice::from_ref(&grown), "");
        let after = Change::PutAfter { after: "a".into(), message: message("b", "y") };
        check(&[put("a", "x"), after.clone(), after], "a=x b=y");
    }

    #[test]
    fn what_stands_after_a_compaction_is_not_told_again() {
        check(&[put("a", "x"), put("b", "y"), Change::Restart, put("s", "z"), put("b", "y")], "a=x b=y s=z");
    }

    #[test]
    fn what_was_taken_back_may_be_said_anew() {
        check(
            &[put("a", "x"), put("b", "y"), Change::RewindTo("b".into()), put("b", "z"), put("a", "x")],
            "a=x b=y b=z",
        );
    }
}
