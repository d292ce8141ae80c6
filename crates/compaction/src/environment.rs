//! The part of a conversation that describes its surroundings: it stays in front whatever is compacted.

use longhaul_conversation::{Message, MessageId, Origin, Part};

/// The beginning of the text that describes the surroundings.
const OPENING: &str = "<session_context";

/// The surroundings, which stand before everything that may be compacted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The message that stays in front.
    pub(crate) message: Option<Message>,
    /// Number of messages that it is made of: 0 also where it shares the first message with other things.
    pub(crate) len: usize,
}

/// Finds the surroundings at the start of a conversation.
pub(crate) fn find_environment(messages: &[Message]) -> Environment {
    let Some(first) = messages.first() else { return Environment::default() };
    let own = first.parts.iter().filter(|part| describes_surroundings(part)).count();
    if own == 0 {
        return Environment::default();
    }
    if own == first.parts.len() {
        return Environment { message: Some(first.clone()), len: 1 };
    }
    let mut message = first.clone();
    message.parts.retain(describes_surroundings);
    message.id = MessageId::made_up(format_args!("environment-{}", first.id));
    message.ordinal = None;
    Environment { message: Some(message), len: 0 }
}

fn describes_surroundings(part: &Part) -> bool {
    part.origin == Origin::Hook && part.as_text().is_some_and(|text| text.trim_start().starts_with(OPENING))
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::Role;

    use super::*;

    fn surroundings() -> Part {
        Part::text(Origin::Hook, "<session_context>\nLinux\n</session_context>")
    }

    #[track_caller]
    fn check(parts: Vec<Part>, kept: usize, len: usize) {
        let found = find_environment(&[Message::new("m", Role::User, parts)]);
        assert_eq!((found.message.map_or(0, |message| message.parts.len()), found.len), (kept, len));
    }

    #[test]
    fn surroundings_are_found_alone_and_beside_the_first_words() {
        check(vec![surroundings()], 1, 1);
        check(vec![surroundings(), Part::user_text("hello")], 1, 0);
    }

    #[test]
    fn nothing_else_is_taken_for_surroundings() {
        check(vec![], 0, 0);
        check(vec![Part::text(Origin::Hook, "a reminder")], 0, 0);
        check(vec![Part::user_text("<session_context>typed</session_context>")], 0, 0);
    }
}
