//! Tells that nothing is wrong with a conversation, as with nearly all, without working out what answers what.

use std::collections::{HashSet, VecDeque};

use super::shape::{Kind, kind_of};
use crate::{CallId, Message, Role};

/// Whether every provider would accept the messages. Where calls name their reasoning, it may be `false` all the same: then
/// only a closer look can tell.
pub(super) fn is_sound(messages: &[Message]) -> bool {
    let mut walk = Walk::default();
    messages.iter().all(|message| walk.accepts(message)) && walk.may_end()
}

#[derive(Default)]
struct Walk<'m> {
    role: Option<Role>,
    called: HashSet<&'m CallId>,
    /// Calls of the last turn that nothing has answered yet.
    waiting: VecDeque<&'m CallId>,
    /// Whether the last thing is a thought that its vendor wants followed by something.
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

    fn accepts_from_user(&mut self, kind: Kind<'m>) -> bool {
        match kind {
            Kind::Result(id) => self.waiting.pop_front() == Some(id),
            Kind::Call { .. } => false,
            Kind::SignedThought { .. } | Kind::Other => self.waiting.is_empty(),
        }
    }

    fn accepts_from_model(&mut self, kind: Kind<'m>) -> bool {
        self.is_loose = matches!(kind, Kind::SignedThought { .. });
        match kind {
            Kind::Call { id, reasoning } => {
                self.waiting.push_back(id);
                reasoning.is_none() && self.called.insert(id)
            }
            Kind::Result(_) => false,
            Kind::SignedThought { .. } | Kind::Other => true,
        }
    }

    fn may_end(&self) -> bool {
        self.waiting.is_empty() && !self.is_loose
    }
}
