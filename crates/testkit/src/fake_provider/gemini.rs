//! Replies in the format of Gemini.

use serde_json::{Value, json};

use super::Reply;

/// One event of a stream.
pub fn event(chunk: &Value) -> String {
    format!("data: {chunk}\r\n\r\n")
}

/// A chunk with these parts; the last chunk of a reply has a finish reason.
pub fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "modelVersion": "fake", "responseId": "r1", "usageMetadata":
        {"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 120, "cachedContentTokenCount": 64,
         "thoughtsTokenCount": 13}})
}

/// A reply in these pieces of text.
pub fn texts(pieces: &[&str]) -> Reply {
    let last = pieces.len().saturating_sub(1);
    let chunks = pieces.iter().enumerate().map(|(place, piece)| {
        let finish = (place == last).then_some("STOP");
        event(&chunk(&json!([{"text": piece}]), finish))
    });
    Reply::events(chunks)
}

/// A reply with one text.
pub fn text(text: &str) -> Reply {
    texts(&[text])
}

/// A reply with these parts, each in a chunk of its own.
pub fn parts(parts: &[Value]) -> Reply {
    let chunks = parts.iter().map(|part| event(&chunk(&json!([part]), None)));
    Reply::events(chunks.chain([event(&chunk(&json!([]), Some("STOP")))]))
}

/// A reply that repeats this part without end.
pub fn endless(part: &Value) -> Reply {
    Reply::events::<String>([]).then_repeat(event(&chunk(&json!([part]), None)))
}

/// An error reply with Google's details.
pub fn error(code: u16, status: &str, message: &str, details: &Value) -> Reply {
    Reply::json(
        code,
        &json!({"error": {"code": code, "message": message, "status": status, "details": details}}),
    )
}

/// A rate limit reply; Google states the delay in the body.
pub fn rate_limited(delay: &str) -> Reply {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
    error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", &details)
}

/// The reply to a request that is too long.
pub fn too_long() -> Reply {
    let message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    error(400, "INVALID_ARGUMENT", message, &json!([]))
}
