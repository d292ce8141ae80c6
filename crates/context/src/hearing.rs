//! What one message says, found without looking at any other: whoever has time can do it, on whichever thread.

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part};

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
    /// What a message says.
    pub(crate) fn of(message: &Message) -> Self {
        let parts: Vec<Heard<'_>> = message.parts.iter().map(Heard::of).collect();
        let typed = typed_texts(&parts);
        Self {
            own_mark: message.ordinal,
            instructions: typed.iter().flat_map(|(_, said)| instructions_of(said)).collect(),
            overheard: Overheard::of(message, &parts, &typed),
            words: TypedWords::of(&parts),
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
