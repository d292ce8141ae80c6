//! A fast test that a conversation is sound, as nearly all are, without matching results to calls.

use std::collections::{HashSet, VecDeque};

use super::shape::{PartKind, kind_of};
use crate::{CallId, Message, Role};

/// True if every provider would accept the messages. If calls name their reasoning, it may be false all the same: then
/// only the full check can tell.
pub(super) fn is_sound(messages: &[Message]) -> bool {
    let mut walk = Walk::default();
    messages.iter().all(|message| walk.accepts(message)) && walk.may_end()
}

#[derive(Default)]
struct Walk<'m> {
    role: Option<Role>,
    called: HashSet<&'m CallId>,
    /// Calls of the last turn that are not answered yet.
    waiting: VecDeque<&'m CallId>,
    /// True if the last part is a thought that its vendor wants followed by something.
    is_loose: bool,
}

impl<'m> Walk<'m> {
    fn accepts(&mut self, message: &'m Message) -> bool {
        if self.role != Some(message.role) {
            let may_begin = match message.role {
                Role::User => !self.is_loose,
                Role::Model => self.role.is_some() && self.waiting.is_empty(),
            };
            if !may_begin {
                return false;
            }
            self.role = Some(message.role);
        }
        let mut kinds = message.parts.iter().filter_map(kind_of).peekable();
        kinds.peek().is_some()
            && kinds.all(|kind| match message.role {
                Role::User => self.accepts_from_user(kind),
                Role::Model => self.accepts_from_model(kind),
            })
    }

    fn accepts_from_user(&mut self, kind: PartKind<'m>) -> bool {
        match kind {
            PartKind::Result(id) => self.waiting.pop_front() == Some(id),
            PartKind::Call { .. } => false,
            PartKind::SignedThought { .. } | PartKind::Other => self.waiting.is_empty(),
        }
    }

    fn accepts_from_model(&mut self, kind: PartKind<'m>) -> bool {
        self.is_loose = matches!(kind, PartKind::SignedThought { .. });
        match kind {
            PartKind::Call { id, reasoning } => {
                self.waiting.push_back(id);
                reasoning.is_none() && self.called.insert(id)
            }
            PartKind::Result(_) => false,
            PartKind::SignedThought { .. } | PartKind::Other => true,
        }
    }

    fn may_end(&self) -> bool {
        self.waiting.is_empty() && !self.is_loose
    }
}
