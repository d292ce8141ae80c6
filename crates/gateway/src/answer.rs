//! Reads a copy of what a provider answered: figures, the message, or the refusal. What the client gets is not touched.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use longhaul_conversation::{Message, ResponseBuilder, Usage};
use longhaul_wire::{SseDecoder, StreamDecoder, responses_usage};
use serde_json::Value;

use crate::encoding::Encoding;
use crate::family::Family;

/// The copy of an answer as it passed.
#[derive(Debug)]
pub(crate) struct AnswerCopy {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: Vec<Bytes>,
    /// False if it was longer than what is copied, or broke off.
    pub(crate) is_whole: bool,
}

/// The words of an answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) usage: Option<Usage>,
    pub(crate) message: Option<Message>,
    /// The provider's words, if it refused.
    pub(crate) refusal: Option<String>,
}

/// The most of an answer that is copied.
pub(crate) const MOST_COPIED: usize = 16 << 20;

/// Reads an answer. What cannot be read says nothing.
pub(crate) fn read_answer(family: Family, copy: &AnswerCopy) -> Answer {
    let raw = copy.pieces.concat();
    let bytes = Encoding::of(&copy.headers).and_then(|encoding| encoding.decode(&raw, 4 * MOST_COPIED));
    let Some(bytes) = bytes else { return Answer::default() };
    if !copy.status.is_success() {
        return Answer { refusal: Some(refusal_text(&bytes)), ..Answer::default() };
    }
    let is_stream = copy
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    match family.answer_format() {
        None => responses_answer(&bytes, is_stream),
        Some(format) => {
            let mut events = Vec::new();
            let mut decoder = StreamDecoder::new(format, "gateway");
            // An answer that broke off says as much as arrived.
            if is_stream {
                let _ = decoder.feed(&bytes, &mut events);
                let _ = decoder.finish(&mut events);
            } else if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
                let _ = decoder.take_whole(value, &mut events);
            }
            let mut builder = ResponseBuilder::default();
            events.into_iter().for_each(|event| builder.add(event));
            let usage = builder.usage;
            let message = builder.into_message("answer");
            Answer {
                usage,
                message: Some(message).filter(|message| !message.parts.is_empty()),
                refusal: None,
            }
        }
    }
}

fn responses_answer(bytes: &[u8], is_stream: bool) -> Answer {
    let mut usage = None;
    let mut take = |value: &Value| {
        let figures = value.get("response").unwrap_or(value).get("usage");
        usage = figures.and_then(responses_usage).or(usage.take());
    };
    if is_stream {
        let each = |event: longhaul_wire::SseEvent<'_>| {
            if event.data.contains("\"usage\"")
                && let Ok(value) = serde_json::from_str(&event.data)
            {
                take(&value);
            }
        };
        let mut decoder = SseDecoder::default();
        let _ = decoder.feed(bytes, each);
    } else if let Ok(value) = serde_json::from_slice(bytes) {
        take(&value);
    }
    Answer { usage, message: None, refusal: None }
}

/// The message of a refusal, whatever form it has.
fn refusal_text(bytes: &[u8]) -> String {
    const LONGEST: usize = 2_000;
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let value = value.get(0).unwrap_or(&value);
    let message = value["error"]["message"]
        .as_str()
        .or_else(|| value["error"].as_str())
        .or_else(|| value["message"].as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(bytes).into_owned(), str::to_string);
    text.chars().take(LONGEST).collect()
}

/// True if a refusal names a part of the request that rewriting touches: pairs, reasoning, signatures, roles.
pub(crate) fn names_our_part(status: StatusCode, refusal: &str) -> bool {
    const PARTS: &[&str] = &[
        "tool_use",
        "tool_result",
        "tool_call",
        "thinking",
        "signature",
        "reasoning",
        "function_call",
        "function response",
        "functioncall",
        "required following item",
        "messages.0",
        "messages.1",
        "cache_control",
        "roles must alternate",
    ];
    let lower = refusal.to_ascii_lowercase();
    status == StatusCode::BAD_REQUEST && PARTS.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::TokenCount;

    use super::*;

    fn copy(status: u16, kind: &str, pieces: &[&str]) -> AnswerCopy {
        let headers = [(CONTENT_TYPE, kind.parse().expect("a header"))].into_iter().collect();
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        AnswerCopy {
            status: StatusCode::from_u16(status).expect("a status"),
            headers,
            pieces,
            is_whole: true,
        }
    }

    const STREAM: &[&str] = &[
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":4,\"cache_read_input_tokens\":96,\"output_tokens\":1}}}\n\nevent: content_bl",
        "ock_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
    ];

    #[test]
    fn an_answer_is_read_from_its_copy() {
        let answer = read_answer(Family::Anthropic, &copy(200, "text/event-stream; charset=utf-8", STREAM));
        assert_eq!(answer.usage.and_then(|usage| usage.input), Some(TokenCount(100)));
        assert_eq!(answer.message.map(|message| message.parts.len()), Some(1));
        let whole = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;
        let answer = read_answer(Family::Anthropic, &copy(200, "application/json", &[whole]));
        assert_eq!(answer.usage.and_then(|usage| usage.input), Some(TokenCount(7)));
    }

    #[test]
    fn responses_tell_their_figures_at_the_end() {
        let stream = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":50,\"input_tokens_details\":{\"cached_tokens\":40},\"output_tokens\":5}}}\n\n";
        let answer = read_answer(Family::Responses, &copy(200, "text/event-stream", &[stream]));
        assert_eq!(answer.usage.and_then(|usage| usage.cached), Some(TokenCount(40)));
    }

    #[test]
    fn refusals_are_judged_by_what_they_name() {
        let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.2: `tool_use` ids were found without `tool_result` blocks immediately after"}}"#;
        let answer = read_answer(Family::Anthropic, &copy(400, "application/json", &[body]));
        let refusal = answer.refusal.expect("a refusal");
        assert!(refusal.starts_with("messages.2") && names_our_part(StatusCode::BAD_REQUEST, &refusal));
        assert!(!names_our_part(StatusCode::BAD_REQUEST, "prompt is too long: 9 > 8"));
        assert!(!names_our_part(StatusCode::TOO_MANY_REQUESTS, "thinking takes long"));
    }
}
