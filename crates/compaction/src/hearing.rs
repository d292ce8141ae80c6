//! What one message says, found without looking at any other: whoever has time can do it, on whichever thread.

use longhaul_conversation::{Message, Ordinal};
use longhaul_directives::{AnnotatedPart, Instruction, Overheard, TypedWords, instructions_of, typed_texts};
use longhaul_extract::Gathered;

/// Everything that a message tells those who follow what is said.
pub(crate) struct Hearing {
    /// The mark that the message itself carries.
    pub(crate) own_mark: Option<Ordinal>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) overheard: Overheard,
    pub(crate) words: Option<TypedWords>,
    pub lines: Gathered,
}

impl Hearing {
    /// What a message says.
    pub(crate) fn of(message: &Message) -> Self {
        let parts: Vec<AnnotatedPart<'_>> = message.parts.iter().map(AnnotatedPart::of).collect();
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
