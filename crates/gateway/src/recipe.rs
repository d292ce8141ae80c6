//! Recipes: how the text is written that stands for the first messages of a conversation. A recipe never changes; a better one
//! gets a new number, and anchors keep the bytes that theirs made.

use longhaul_compaction::{ComposeOptions, Tracker, compose};
use longhaul_conversation::{Estimator, Message, Ordinal, TokenCount};
use longhaul_wire::{DecodedRequest, decode_request};

use crate::body::RequestBody;

/// The recipe that new anchors are made with.
pub(crate) const RECIPE: u32 = 1;

/// The messages of some items, as the engine reads them.
pub(crate) fn decode_items(body: &RequestBody<'_>, from: usize, to: usize) -> Vec<Message> {
    let items = body.items[from..to].join(",");
    let text = format!("{{\"{}\":[{items}]}}", body.family.list());
    let decoded = decode_request(body.family.request_format(), &text);
    decoded.map(|DecodedRequest { request, .. }| request.messages).unwrap_or_default()
}

/// Writes the snapshot that stands for the items before `cut`, of at most so many tokens; rules stay whatever they take.
///
/// It is made from what the client sent and from nothing else, so that the same conversation has the same snapshot in any
/// process. The items of the head stay in the request and need not be told again.
pub(crate) fn write_snapshot(body: &RequestBody<'_>, head: usize, cut: usize, budget: TokenCount) -> String {
    let mut gone = decode_items(body, 0, cut);
    for (message, number) in gone.iter_mut().zip(1..) {
        message.ordinal = Some(Ordinal(number));
    }
    let mut tracker = Tracker::default();
    gone.iter().for_each(|message| tracker.observe(message));
    let mut stays = decode_items(body, 0, head);
    stays.extend(decode_items(body, cut, body.items.len()));
    let options = ComposeOptions {
        budget,
        tail: &stays,
        before: Ordinal(tracker.last().0 + 1),
        focus: None,
        estimator: Estimator::default(),
    };
    compose(&tracker, &options).snapshot.render()
}
