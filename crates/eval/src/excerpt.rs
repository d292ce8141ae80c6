//! The conversation that a baseline leaves: an excerpt of the head, then the tail.

use std::collections::HashSet;

use longhaul_conversation::{Message, MessageId, Origin, Part, Role};

use crate::method::CompactionTask;

/// The first line of a baseline's excerpt.
pub(crate) const NOTE: &str = "[Earlier messages were left out.]\n";

/// The characters that a baseline may keep of the head.
pub(crate) fn room(task: &CompactionTask<'_>) -> usize {
    (task.budget.0 as usize).saturating_mul(4).saturating_sub(NOTE.chars().count())
}

/// The compacted conversation: one user message with the excerpt, then the tail.
pub(crate) fn with_excerpt(task: &CompactionTask<'_>, kept: &str) -> Vec<Message> {
    if task.tail_from == 0 {
        return task.context.to_vec();
    }
    let id = MessageId::made_up(format_args!("excerpt-{}", task.tail().len()));
    let note = Message::new(id, Role::User, vec![Part::text(Origin::Summary, format!("{NOTE}{kept}"))]);
    std::iter::once(note).chain(task.tail().iter().cloned()).collect()
}

/// The ids of some messages.
pub(crate) fn ids(messages: &[Message]) -> HashSet<&MessageId> {
    messages.iter().map(|message| &message.id).collect()
}
