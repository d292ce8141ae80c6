//! What pairing needs to know of a message, without its content.

use crate::{Body, CallId, Message, MessageId, Ordinal, Part, Role};

/// The calls, results and reasoning of a message, small enough to keep for every message of a huge session.
#[derive(Clone, Debug)]
pub struct Shape {
    pub(super) id: MessageId,
    pub(super) ordinal: Option<Ordinal>,
    pub(super) role: Role,
    pub(super) items: Vec<Item>,
}

/// What one part is to pairing; parts that say nothing leave no item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// The place of the part in its message.
    pub(super) part: u32,
    pub(super) kind: ItemKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ItemKind {
    Call {
        id: CallId,
        reasoning: Option<Box<str>>,
    },
    Result(CallId),
    /// A thought that its vendor wants followed by what it led to.
    SignedThought {
        item: Option<Box<str>>,
    },
    Other,
}

impl Shape {
    /// The shape of a message.
    pub fn of(message: &Message) -> Self {
        let mut shape =
            Self { id: message.id.clone(), ordinal: message.ordinal, role: message.role, items: Vec::new() };
        shape.extend(&message.parts, 0);
        shape
    }

    /// The message has grown by `parts`, the first of which stands at place `from`.
    pub fn extend(&mut self, parts: &[Part], from: usize) {
        let items = parts
            .iter()
            .enumerate()
            .filter_map(|(place, part)| Some(Item { part: (from + place) as u32, kind: item_kind(part)? }));
        self.items.extend(items);
        self.items.shrink_to_fit();
    }

    /// Whether the message says nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The message's id.
    pub fn id(&self) -> &MessageId {
        &self.id
    }
}

fn item_kind(part: &Part) -> Option<ItemKind> {
    match &part.body {
        Body::Text(text) if text.trim().is_empty() => None,
        Body::Call(call) => {
            Some(ItemKind::Call { id: call.id.clone(), reasoning: call.reasoning.as_deref().map(Box::from) })
        }
        Body::Result(result) => Some(ItemKind::Result(result.call.clone())),
        Body::Thought(thought) if thought.signature.is_some() || thought.item.is_some() => {
            Some(ItemKind::SignedThought { item: thought.item.as_deref().map(Box::from) })
        }
        Body::Thought(thought) if thought.text.trim().is_empty() => None,
        _ => Some(ItemKind::Other),
    }
}
