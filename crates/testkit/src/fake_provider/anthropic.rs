//! Replies in the format of Anthropic.

use serde_json::{Value, json};

use super::Reply;

/// One event of a stream.
pub fn event(event: &Value) -> String {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

/// The events of one block: its start and its deltas.
pub fn block(index: usize, block: &Value, deltas: &[Value]) -> Vec<String> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": block});
    let deltas =
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(deltas).chain([stop]).map(|it| event(&it)).collect()
}

/// A reply with these blocks.
pub fn blocks(blocks: &[Vec<String>], stop_reason: &str) -> Reply {
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
        "usage": {"input_tokens": 26, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 10,
                  "output_tokens": 1}}});
    let end = [
        json!({"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ];
    let events = [event(&start), event(&json!({"type": "ping"}))].into_iter();
    Reply::events(events.chain(blocks.iter().flatten().cloned()).chain(end.iter().map(event)))
}

/// A reply in these pieces of text.
pub fn texts(pieces: &[&str]) -> Reply {
    let deltas: Vec<Value> =
        pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
    blocks(&[block(0, &json!({"type": "text", "text": ""}), &deltas)], "end_turn")
}

/// A reply with one text.
pub fn text(text: &str) -> Reply {
    texts(&[text])
}

/// A reply with one block that repeats this delta without end.
pub fn endless(block: &Value, delta: &Value) -> Reply {
    let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": delta});
    Reply::events([event(&start)]).then_repeat(event(&delta))
}

/// An error reply.
pub fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
}

/// A rate limit reply; the header says how many seconds to wait.
pub fn rate_limited(retry_after: &str) -> Reply {
    error(429, "rate_limit_error", "This request would exceed the rate limit")
        .with_header("retry-after", retry_after)
}

/// The reply to a request that is too long.
pub fn too_long() -> Reply {
    error(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")
}
