//! Brings a conversation into the form in which it would be sent: failed turns left out, calls and results paired.

use std::borrow::Cow;

use longhaul_conversation::{Message, MessageId, Repair, Repaired, find_faults, repair};

use crate::curate::{EmptyMessages, curate, is_curated};

/// A conversation as it would be sent.
#[derive(Clone, Debug)]
pub struct PreparedMessages<'m> {
    /// The messages; the very ones that came in if nothing was wrong with them.
    pub messages: Cow<'m, [Message]>,
    /// Faults that had to be repaired.
    pub repairs: Vec<Repair>,
    /// Number of messages before.
    pub(crate) given: usize,
    /// The ids of the curated messages in order, where repairs may have moved them.
    curated: Option<Vec<MessageId>>,
}

/// Leaves out the model's failed turns and repairs the rest. Costs a copy only where something has to change in messages
/// that are borrowed.
pub fn prepare<'m>(messages: impl Into<Cow<'m, [Message]>>, empty: EmptyMessages) -> PreparedMessages<'m> {
    let messages = messages.into();
    let given = messages.len();
    let curated = if is_curated(&messages, empty) {
        messages
    } else {
        Cow::Owned(curate(messages.into_owned(), empty))
    };
    if find_faults(&curated).is_empty() {
        return PreparedMessages { messages: curated, repairs: Vec::new(), given, curated: None };
    }
    let ids = curated.iter().map(|message| message.id.clone()).collect();
    let repaired = repair(curated.into_owned());
    let Repaired { messages, repairs } = repaired;
    let messages = Cow::Owned(messages);
    PreparedMessages { messages, repairs, given, curated: Some(ids) }
}

impl<'m> PreparedMessages<'m> {
    /// Messages as they are given, for callers that know them to be sound.
    pub fn as_given(messages: &'m [Message]) -> Self {
        Self { messages: messages.into(), repairs: Vec::new(), given: messages.len(), curated: None }
    }

    /// Index that the message at `index` had before the repairs, in the curated conversation.
    pub(crate) fn curated_index(&self, index: usize) -> usize {
        let Some(ids) = &self.curated else { return index };
        // A message that a repair put in has no index of its own; the next one has.
        let own = self.messages.get(index..).unwrap_or_default().iter();
        let found = own.map(|message| &message.id).find_map(|id| ids.iter().position(|known| known == id));
        found.unwrap_or(ids.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::conversation;

    #[track_caller]
    fn check(shape: &str, repairs: usize, index: usize, curated: usize) {
        let messages = conversation(shape);
        let prepared = prepare(&messages, EmptyMessages::Drop);
        assert_eq!(prepared.repairs.len(), repairs, "{:?}", prepared.repairs);
        assert_eq!(prepared.curated_index(index), curated);
        assert!(find_faults(&prepared.messages).is_empty());
    }

    #[test]
    fn a_sound_conversation_is_borrowed() {
        let messages = conversation("user call result reply");
        assert!(matches!(prepare(&messages, EmptyMessages::Drop).messages, Cow::Borrowed(_)));
        check("user call result reply", 0, 3, 3);
    }

    #[test]
    fn indexes_are_found_again_behind_repairs() {
        // A beginning is put in, or an answer behind the last call.
        check("reply user", 1, 2, 1);
        check("user call", 1, 2, 2);
        // Failed turns are left out before they are counted.
        check("user reply*0 user reply", 0, 2, 2);
    }
}
