//! Replies in the format of OpenAI and compatible servers.

use serde_json::{Value, json};

use super::Reply;

/// One event of a stream.
pub fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

/// A chunk with this delta; the last one of a reply has a finish reason.
pub fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// A reply with these deltas, its usage and its end.
pub fn deltas(deltas: &[Value], finish: &str) -> Reply {
    let usage = json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20,
        "total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 13}}});
    let chunks = deltas.iter().map(|delta| event(&chunk(delta, None)));
    let end = [event(&chunk(&json!({}), Some(finish))), event(&usage), "data: [DONE]\n\n".to_string()];
    Reply::events(chunks.chain(end))
}

/// A reply in these pieces of text.
pub fn texts(pieces: &[&str]) -> Reply {
    deltas(&pieces.iter().map(|piece| json!({"content": piece})).collect::<Vec<_>>(), "stop")
}

/// A reply with one text.
pub fn text(text: &str) -> Reply {
    texts(&[text])
}

/// A reply that repeats this delta without end.
pub fn endless(delta: &Value) -> Reply {
    Reply::events::<String>([]).then_repeat(event(&chunk(delta, None)))
}

/// An error reply.
pub fn error(status: u16, kind: &str, code: &str, message: &str) -> Reply {
    Reply::json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

/// A rate limit reply; the header says how many seconds to wait.
pub fn rate_limited(retry_after: &str) -> Reply {
    let reply = error(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests");
    reply.with_header("retry-after", retry_after)
}

/// The reply to a request that is too long.
pub fn too_long() -> Reply {
    let message =
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000.";
    error(400, "invalid_request_error", "context_length_exceeded", message)
}
