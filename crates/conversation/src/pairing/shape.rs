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

/// As [`ItemKind`], of a part that is there.
#[derive(Clone, Copy)]
pub(super) enum Kind<'p> {
    Call { id: &'p CallId, reasoning: Option<&'p str> },
    Result(&'p CallId),
    SignedThought { item: Option<&'p str> },
    Other,
}

/// What a part is to pairing, unless it says nothing.
pub(super) fn kind_of(part: &Part) -> Option<Kind<'_>> {
    match &part.body {
        Body::Text(text) if text.trim().is_empty() => None,
        Body::Call(call) => Some(Kind::Call { id: &call.id, reasoning: call.reasoning.as_deref() }),
        Body::Result(result) => Some(Kind::Result(&result.call)),
        Body::Thought(thought) if thought.signature.is_some() || thought.item.is_some() => {
            Some(Kind::SignedThought { item: thought.item.as_deref() })
        }
        Body::Thought(thought) if thought.text.trim().is_empty() => None,
        _ => Some(Kind::Other),
    }
}

fn item_kind(part: &Part) -> Option<ItemKind> {
    Some(match kind_of(part)? {
        Kind::Call { id, reasoning } => {
            ItemKind::Call { id: id.clone(), reasoning: reasoning.map(Box::from) }
        }
        Kind::Result(id) => ItemKind::Result(id.clone()),
        Kind::SignedThought { item } => ItemKind::SignedThought { item: item.map(Box::from) },
        Kind::Other => ItemKind::Other,
    })
}
