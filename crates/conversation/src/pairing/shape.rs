//! The shape of a message: what pairing needs to know, without the content.

use crate::{Body, CallId, Message, MessageId, Ordinal, Part, Role};

/// The calls, results and reasoning of a message, small enough to keep for every message of a huge session.
#[derive(Clone, Debug)]
pub struct MessageShape {
    pub(super) id: MessageId,
    pub(super) ordinal: Option<Ordinal>,
    pub(super) role: Role,
    pub(super) items: Vec<PairingItem>,
}

/// A part as pairing sees it; empty parts leave no item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PairingItem {
    /// The index of the part in its message.
    pub(super) part: u32,
    pub(super) kind: PairingItemKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PairingItemKind {
    Call {
        id: CallId,
        reasoning: Option<Box<str>>,
    },
    Result(CallId),
    /// A thought that its vendor wants followed by its result.
    SignedThought {
        item: Option<Box<str>>,
    },
    Other,
}

impl MessageShape {
    /// The shape of a message.
    pub fn of(message: &Message) -> Self {
        let mut shape =
            Self { id: message.id.clone(), ordinal: message.ordinal, role: message.role, items: Vec::new() };
        shape.extend(&message.parts, 0);
        shape
    }

    /// Adds `parts` to the message, the first of them at index `from`.
    pub fn extend(&mut self, parts: &[Part], from: usize) {
        let items = parts.iter().enumerate().filter_map(|(place, part)| {
            Some(PairingItem { part: (from + place) as u32, kind: item_kind(part)? })
        });
        self.items.extend(items);
        self.items.shrink_to_fit();
    }

    /// True if the message is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The message's id.
    pub fn id(&self) -> &MessageId {
        &self.id
    }
}

/// Like [`PairingItemKind`], for a part that is at hand.
#[derive(Clone, Copy)]
pub(super) enum PartKind<'p> {
    Call { id: &'p CallId, reasoning: Option<&'p str> },
    Result(&'p CallId),
    SignedThought { item: Option<&'p str> },
    Other,
}

/// The kind of a part, unless it is empty.
pub(super) fn kind_of(part: &Part) -> Option<PartKind<'_>> {
    match &part.body {
        Body::Text(text) if text.trim().is_empty() => None,
        Body::Call(call) => Some(PartKind::Call { id: &call.id, reasoning: call.reasoning.as_deref() }),
        Body::Result(result) => Some(PartKind::Result(&result.call)),
        Body::Thought(thought) if thought.signature.is_some() || thought.item.is_some() => {
            Some(PartKind::SignedThought { item: thought.item.as_deref() })
        }
        Body::Thought(thought) if thought.text.trim().is_empty() => None,
        _ => Some(PartKind::Other),
    }
}

fn item_kind(part: &Part) -> Option<PairingItemKind> {
    Some(match kind_of(part)? {
        PartKind::Call { id, reasoning } => {
            PairingItemKind::Call { id: id.clone(), reasoning: reasoning.map(Box::from) }
        }
        PartKind::Result(id) => PairingItemKind::Result(id.clone()),
        PartKind::SignedThought { item } => PairingItemKind::SignedThought { item: item.map(Box::from) },
        PartKind::Other => PairingItemKind::Other,
    })
}
