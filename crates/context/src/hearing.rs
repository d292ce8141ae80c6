//! What one message says, found without looking at any other: whoever has time can do it, on whichever thread.

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part, Thought};

use crate::asks::Overheard;
use crate::extract::Gathered;
use crate::pins::{Instruction, instructions_of};
use crate::sentences::{Unit, split_telling_units};
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
    /// What a message says; its lines take the memory of `spare`.
    pub(crate) fn of(message: &Message, spare: Gathered) -> Self {
        let parts: Vec<Heard<'_>> = message.parts.iter().map(Heard::of).collect();
        let typed = typed_texts(&parts);
        Self {
            own_mark: message.ordinal,
            instructions: typed.iter().flat_map(|(_, said)| instructions_of(said)).collect(),
            overheard: Overheard::of(message, &parts, &typed),
            words: TypedWords::of(&parts),
            lines: Gathered::of(&parts, spare),
        }
    }
}

/// A part of a message, and the sentences and list items of its prose, but for what a very long one says in its middle
/// without naming anything: they are looked for once.
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
        Self { part, units: split_telling_units(prose) }
    }
}

/// The texts of a message that a person typed, each with what they said in it.
pub(crate) fn typed_texts<'h>(parts: &'h [Heard<'_>]) -> Vec<(&'h str, Vec<Said<'h>>)> {
    let typed = parts.iter().filter(|heard| heard.part.origin == Origin::User);
    let texts = typed.filter_map(|heard| Some((heard.part.as_text()?, &heard.units)));
    texts.map(|(text, units)| (text, said_units(text, units))).collect()
}

/// As much of a message as a [`Hearing`] needs, for whoever makes one later.
pub(crate) fn copy_said(message: &Message) -> Message {
    let said = |part: &Part| match &part.body {
        // Memory is loaded again, and what the program said was for the moment.
        Body::Text(_) if matches!(part.origin, Origin::Memory | Origin::Hook) => None,
        Body::Text(text) => Some(Part::text(part.origin, text.as_str())),
        Body::Thought(thought) => {
            let thought = Thought { text: thought.text.clone(), ..Thought::default() };
            Some(Part::new(part.origin, Body::Thought(Box::new(thought))))
        }
        Body::Call(_) | Body::Result(_) => Some(Part::new(part.origin, part.body.clone())),
        Body::Media(_) | Body::File(_) | Body::Opaque(_) => None,
    };
    let parts = message.parts.iter().filter_map(said).collect();
    Message { ordinal: message.ordinal, ..Message::new(message.id.clone(), message.role, parts) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Role, ToolCall, ToolResult};
    use serde_json::json;

    #[test]
    fn what_is_copied_says_the_same() {
        let parts = vec![
            Part::user_text("Never push. Fix src/upload.rs, please."),
            Part::text(Origin::Hook, "Memory is low."),
            Part::thought(Thought {
                text: "The upload_handler is to be fixed.".to_string(),
                ..Thought::default()
            }),
            Part::call(ToolCall::new("c", "Bash").with_args(json!({"command": "cargo test -p ferry_core"}))),
            Part::result(ToolResult::text("c", "error[E0308]: mismatched types in src/ferry.rs")),
        ];
        let message = Message { ordinal: Some(Ordinal(7)), ..Message::new("u", Role::User, parts) };
        let copy = copy_said(&message);
        let [heard, again] = [&message, &copy].map(|message| Hearing::of(message, Gathered::default()));
        assert_eq!((again.own_mark, again.lines.text()), (heard.own_mark, heard.lines.text()));
        assert_eq!(again.instructions, heard.instructions);
        assert_eq!(heard.instructions.len(), 1);
        for said in ["upload_handler", "ferry_core", "E0308"] {
            assert!(heard.lines.text().contains(said), "{said}");
        }
        assert!(copy.parts.len() < message.parts.len());
    }
}
