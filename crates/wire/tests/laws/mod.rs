//! What holds for any bytes a provider may send. The fuzzers check the same.

use longhaul_conversation::{
    Body, Message, Part, Request, ResponseBuilder, ResponseEvent, Role, find_faults, repair,
};
use longhaul_wire::{
    EncodeOptions, SseDecoder, SseTooLong, StreamDecoder, StreamFault, WireFormat, encode_request,
};

pub(crate) const FORMATS: [WireFormat; 3] = [WireFormat::Gemini, WireFormat::OpenAi, WireFormat::Anthropic];

/// Events are the same however the bytes are cut.
pub(crate) fn check_sse(bytes: &[u8]) {
    let whole = read_events(bytes, bytes.len().max(1));
    for size in [1, 2, 3, 13] {
        assert_eq!(read_events(bytes, size), whole, "in chunks of {size}");
    }
}

fn read_events(bytes: &[u8], size: usize) -> (Vec<(String, String)>, Result<(), SseTooLong>) {
    let mut decoder = SseDecoder::with_limit(256);
    let mut events = Vec::new();
    for chunk in bytes.chunks(size) {
        let fed = decoder.feed(chunk, |event| events.push((event.name.to_string(), event.data.to_string())));
        if fed.is_err() {
            return (events, fed);
        }
    }
    let finished = decoder.finish(|event| events.push((event.name.to_string(), event.data.to_string())));
    (events, finished)
}

/// An answer is the same however its bytes are cut, shows as deltas exactly what it keeps, and can be sent to any
/// provider afterwards.
pub(crate) fn check_answer(format: WireFormat, bytes: &[u8]) {
    let whole = read_answer(format, bytes, bytes.len().max(1));
    for size in [1, 7] {
        assert_eq!(read_answer(format, bytes, size), whole, "in chunks of {size}");
    }
    let message = check_events(whole.0);
    check_sending(&message);
}

fn read_answer(
    format: WireFormat,
    bytes: &[u8],
    size: usize,
) -> (Vec<ResponseEvent>, Result<(), StreamFault>) {
    let mut decoder = StreamDecoder::new(format, "seed");
    let mut events = Vec::new();
    for chunk in bytes.chunks(size) {
        if let Err(fault) = decoder.feed(chunk, &mut events) {
            return (events, Err(fault));
        }
    }
    let finished = decoder.finish(&mut events);
    (events, finished)
}

/// The message that events amount to, which says what they showed.
fn check_events(events: Vec<ResponseEvent>) -> Message {
    let mut answer = ResponseBuilder::default();
    let mut shown = (String::new(), String::new());
    for event in events {
        match &event {
            ResponseEvent::TextDelta(delta) => shown.0.push_str(delta),
            ResponseEvent::ThoughtDelta(delta) => shown.1.push_str(delta),
            _ => {}
        }
        answer.add(event);
    }
    let message = answer.into_message("a1");
    let mut kept = (String::new(), String::new());
    for part in &message.parts {
        match &part.body {
            Body::Text(text) => kept.0.push_str(text),
            Body::Thought(thought) => kept.1.push_str(&thought.text),
            _ => {}
        }
    }
    assert_eq!(kept, shown);
    message
}

fn check_sending(answer: &Message) {
    let question = Message::new("u1", Role::User, vec![Part::user_text("go")]);
    let next = Message::new("u2", Role::User, vec![Part::user_text("on")]);
    let messages = vec![question, answer.clone(), next];
    assert!(find_faults(&repair(messages.clone()).messages).is_empty());
    for format in FORMATS {
        let request =
            Request { model: "gemini-3-x".into(), messages: messages.clone(), ..Request::default() };
        let body = encode_request(format, request, &EncodeOptions::default());
        let key = if format == WireFormat::Gemini { "contents" } else { "messages" };
        let sent = body[key].as_array().expect("a list of messages");
        assert_eq!(sent.first().and_then(|first| first["role"].as_str()), Some("user"));
        assert_ne!(sent.last().and_then(|last| last["role"].as_str()), Some("assistant"));
    }
}
