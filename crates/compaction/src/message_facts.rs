//! Facts of one message, found without looking at any other.

use longhaul_conversation::{Message, Ordinal};
use longhaul_directives::{AnnotatedPart, Instruction, Overheard, TypedWords, instructions_of, typed_texts};
use longhaul_extract::Gathered;

/// Everything that a message says by itself.
pub(crate) struct MessageFacts {
    /// The ordinal that the message itself carries.
    pub(crate) ordinal: Option<Ordinal>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) overheard: Overheard,
    pub(crate) words: Option<TypedWords>,
    pub(crate) lines: Gathered,
}

impl MessageFacts {
    /// Finds the facts of a message.
    pub(crate) fn of(message: &Message) -> Self {
        let parts: Vec<AnnotatedPart<'_>> = message.parts.iter().map(AnnotatedPart::of).collect();
        let typed = typed_texts(&parts);
        Self {
            ordinal: message.ordinal,
            instructions: typed.iter().flat_map(|(_, said)| instructions_of(said)).collect(),
            overheard: Overheard::of(message, &parts, &typed),
            words: TypedWords::of(&parts),
            lines: Gathered::of(&parts),
        }
    }
}
