//! The parts of a message with the sentences of their prose, which several look at.

use longhaul_conversation::{Body, Origin, Part};
use longhaul_text::{Unit, split_units};

use crate::typed::{Said, said_units};

/// A part of a message, and the sentences and list items of its prose: they are looked for once.
pub struct AnnotatedPart<'m> {
    /// The part.
    pub part: &'m Part,
    /// The sentences and list items of its prose; none where it is no prose.
    pub units: Vec<Unit<'m>>,
}

impl<'m> AnnotatedPart<'m> {
    /// Splits the prose of a part.
    pub fn of(part: &'m Part) -> Self {
        let prose = match (&part.body, part.origin) {
            (Body::Text(text), Origin::User | Origin::Model | Origin::Summary) => text,
            (Body::Thought(thought), _) => &thought.text,
            _ => "",
        };
        Self { part, units: split_units(prose) }
    }
}

/// The texts of a message that a person typed, each with what they said in it.
pub fn typed_texts<'h>(parts: &'h [AnnotatedPart<'_>]) -> Vec<(&'h str, Vec<Said<'h>>)> {
    let typed = parts.iter().filter(|heard| heard.part.origin == Origin::User);
    let texts = typed.filter_map(|heard| Some((heard.part.as_text()?, &heard.units)));
    texts.map(|(text, units)| (text, said_units(text, units))).collect()
}
