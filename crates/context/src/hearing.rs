//! What one message says, found without looking at any other: whoever has time can do it, on whichever thread.

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part, Thought};

use crate::asks::Overheard;
use crate::extract::Gathered;
use crate::pins::{Instruction, instructions_of};
use crate::sentences::{Unit, split_units};
use crate::typed::{Said, said_units};
use crate::user_words::TypedWords;

/// Everything that a message tells those who follow what is said.
pub(crate) struct Hearing {
    /// The mark that the message itself carries.
    pub(crate) own_mark: Option<Ordinal>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) overheard: Overheard,
    pub(crate) words: Option<TypedWords>,
    pub(crate) lines: Gathered,
}

impl Hearing {
    pub(crate) fn of(message: &Message) -> Self {
        let parts: Vec<Heard<'_>> = message.parts.iter().map(Heard::of).collect();
        let typed = typed_texts(&parts);
        Self {
            own_mark: message.ordinal,
            instructions: typed.iter().flat_map(|(_, said)| instructions_of(said)).collect(),
            overheard: Overheard::of(message, &parts, &typed),
            words: TypedWords::of(message),
            lines: Gathered::of(&parts),
        }
    }
}

/// A part of a message, and the sentences and list items of its prose: they are looked for once.
pub(crate) struct Heard<'m> {
    pub(crate) part: &'m Part,
    pub(crate) units: Vec<Unit<'m>>,
}

impl<'m> Heard<'m> {
    pub(crate) fn of(part: &'m Part) -> Self {
        let prose = match (&part.body, part.origin) {
            (Body::Text(text), Origin::User | Origin::Model | Origin::Summary) => text,
            (Body::Thought(thought), _) => &thought.text,
            _ => "",
        };
        Self { part, units: split_units(prose) }
    }
}

/// The texts of a message that a person typed, each with what they said in it.
pub(crate) fn typed_texts<'h>(parts: &'h [Heard<'_>]) -> Vec<(&'h str, Vec<Said<'h>>)> {
    let typed = parts.iter().filter(|heard| heard.part.origin == Origin::User);
    let texts = typed.filter_map(|heard| Some((heard.part.as_text()?, &heard.units)));
    texts.map(|(text, units)| (text, said_units(text, units))).collect()
}

/// As much of a message as a [`Hearing`] needs, for whoever makes one later; nothing of a message with calls or results,
/// which are large and little is heard in.
pub(crate) fn copy_prose(message: &Message) -> Option<Message> {
    let mut parts = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match &part.body {
            // Memory is loaded again, and what the program said was for the moment.
            Body::Text(_) if matches!(part.origin, Origin::Memory | Origin::Hook) => {}
            Body::Text(text) => parts.push(Part::text(part.origin, text.as_str())),
            Body::Thought(thought) => {
                let thought = Thought { text: thought.text.clone(), ..Thought::default() };
                parts.push(Part::new(part.origin, Body::Thought(thought)));
            }
            Body::Call(_) | Body::Result(_) => return None,
            Body::Media(_) | Body::File(_) | Body::Opaque(_) => {}
        }
    }
    Some(Message { ordinal: message.ordinal, ..Message::new(message.id.clone(), message.role, parts) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Role, ToolResult};

    #[test]
    fn what_is_copied_says_the_same() {
        let parts = vec![
            Part::user_text("Never push. Fix src/upload.rs, please."),
            Part::text(Origin::Hook, "Memory is low."),
            Part::thought(Thought {
                text: "The upload_handler is to be fixed.".to_string(),
                ..Thought::default()
            }),
        ];
        let message = Message { ordinal: Some(Ordinal(7)), ..Message::new("u", Role::User, parts) };
        let copy = copy_prose(&message).expect("there is nothing but prose");
        let [heard, again] = [&message, &copy].map(Hearing::of);
        assert_eq!((again.own_mark, again.lines.text()), (heard.own_mark, heard.lines.text()));
        assert_eq!(again.instructions, heard.instructions);
        assert!(heard.instructions.len() == 1 && heard.lines.text().contains("upload_handler"));
    }

    #[test]
    fn outputs_are_not_copied() {
        let parts = vec![Part::user_text("See:"), Part::result(ToolResult::text("c", "much"))];
        assert!(copy_prose(&Message::new("u", Role::User, parts)).is_none());
    }
}
