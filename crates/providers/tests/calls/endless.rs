//! Answers without end: each one ends at a limit, which is named, and little more than the limit is read. Time is paused.

use std::time::Duration;

use bytes::Bytes;
use longhaul_conversation::{AnswerLimit, CallLimits, ModelError, Request};
use longhaul_providers::AnswerLimits;
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, anthropic, gemini, openai};
use longhaul_wire::WireFormat;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    FORMATS, ask, model_in_memory, model_with_idle, model_with_limits, question, text_of, texts,
};

const LIMIT: u64 = 10_000;
/// What may be sent beside what is read: pipes and buffers hold some of it.
const IN_FLIGHT: usize = 2 << 20;
/// A piece of an answer.
const PIECE: &str = "0123456789 0123456789 0123456789 0123456789 0123456789";

fn limits() -> AnswerLimits {
    let limit = Some(LIMIT);
    AnswerLimits {
        text: limit,
        thoughts: limit,
        arguments: limit,
        media: limit,
        calls: Some(50),
        ..AnswerLimits::default()
    }
}

/// An answer without end: what is kept of it, and the limit that it runs into.
async fn check_ends(format: WireFormat, reply: Reply, text: usize, limit: AnswerLimit) {
    let server = FakeProvider::in_memory([reply]);
    let (answer, error) = ask(&model_with_limits(&server, format, limits()), question(format)).await;
    assert_eq!(error, Some(ModelError::OverLimit { limit }), "{format:?}");
    assert_eq!(text_of(answer).len(), text, "{format:?}");
    server.answer_abandoned().await;
    assert!(server.bytes_sent() < IN_FLIGHT, "{format:?}: {} bytes", server.bytes_sent());
    assert_eq!(server.requests().len(), 1, "it is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn text_ends() {
    let limit = AnswerLimit::Text(LIMIT);
    let kept = LIMIT as usize;
    check_ends(WireFormat::OpenAi, openai::endless(&json!({"content": PIECE})), kept, limit).await;
    check_ends(WireFormat::Gemini, gemini::endless(&json!({"text": PIECE})), kept, limit).await;
    let delta = json!({"type": "text_delta", "text": PIECE});
    let reply = anthropic::endless(&json!({"type": "text", "text": ""}), &delta);
    check_ends(WireFormat::Anthropic, reply, kept, limit).await;
}

#[tokio::test(start_paused = true)]
async fn thoughts_end() {
    let limit = AnswerLimit::Thoughts(LIMIT);
    check_ends(WireFormat::OpenAi, openai::endless(&json!({"reasoning": PIECE})), 0, limit).await;
    check_ends(WireFormat::Gemini, gemini::endless(&json!({"text": PIECE, "thought": true})), 0, limit).await;
    let delta = json!({"type": "thinking_delta", "thinking": PIECE});
    let reply = anthropic::endless(&json!({"type": "thinking", "thinking": ""}), &delta);
    check_ends(WireFormat::Anthropic, reply, 0, limit).await;
}

#[tokio::test(start_paused = true)]
async fn arguments_end() {
    let limit = AnswerLimit::Arguments(LIMIT);
    let piece = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": PIECE}}]});
    check_ends(WireFormat::OpenAi, openai::endless(&piece), 0, limit).await;
    let call = json!({"functionCall": {"name": "write_file", "args": {"text": PIECE.repeat(10)}}});
    check_ends(WireFormat::Gemini, gemini::endless(&call), 0, limit).await;
    let delta = json!({"type": "input_json_delta", "partial_json": PIECE});
    let block = json!({"type": "tool_use", "id": "c", "name": "write_file", "input": {}});
    check_ends(WireFormat::Anthropic, anthropic::endless(&block, &delta), 0, limit).await;
}

#[tokio::test(start_paused = true)]
async fn calls_end() {
    let limit = AnswerLimit::Calls(50);
    let piece = json!({"tool_calls": (0..200).map(|index| json!({"index": index, "function": {"name": "ls"}})).collect::<Vec<_>>()});
    check_ends(WireFormat::OpenAi, openai::endless(&piece), 0, limit).await;
    check_ends(WireFormat::Gemini, gemini::endless(&json!({"functionCall": {"name": "ls"}})), 0, limit).await;
}

#[tokio::test(start_paused = true)]
async fn what_only_a_vendor_understands_ends() {
    let limit = AnswerLimit::Media(LIMIT);
    let detail = json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": PIECE}]});
    check_ends(WireFormat::OpenAi, openai::endless(&detail), 0, limit).await;
    let image = json!({"inlineData": {"mimeType": "image/png", "data": PIECE.repeat(10)}});
    check_ends(WireFormat::Gemini, gemini::endless(&image), 0, limit).await;
    let delta = json!({"type": "signature_delta", "signature": PIECE});
    let reply = anthropic::endless(&json!({"type": "thinking", "thinking": ""}), &delta);
    check_ends(WireFormat::Anthropic, reply, 0, limit).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_stream_ends_too() {
    let answer = json!({"choices": [{"message": {"content": "x".repeat(20_000)}, "finish_reason": "stop"}]});
    let server = FakeProvider::in_memory([Reply::json(200, &answer)]);
    let model = model_with_limits(&server, WireFormat::OpenAi, limits());
    let (answer, error) = ask(&model, question(WireFormat::OpenAi)).await;
    assert_eq!(error, Some(ModelError::OverLimit { limit: AnswerLimit::Text(LIMIT) }));
    assert_eq!(text_of(answer).len(), LIMIT as usize);
}

/// A stream without end that says nothing: a line, a JSON value, comments.
async fn check_stream_ends(format: WireFormat, reply: Reply) {
    let server = FakeProvider::in_memory([reply]);
    let limits = AnswerLimits { stream: Some(1 << 20), ..AnswerLimits::default() };
    let (_, error) = ask(&model_with_limits(&server, format, limits), question(format)).await;
    assert_eq!(error, Some(ModelError::OverLimit { limit: AnswerLimit::Stream(1 << 20) }));
    assert!(server.bytes_sent() < (1 << 20) + IN_FLIGHT, "{}", server.bytes_sent());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_says_nothing_ends() {
    for format in FORMATS {
        check_stream_ends(format, Reply::events(["data: "]).then_repeat("x".repeat(5_000))).await;
        check_stream_ends(format, Reply::events::<String>([]).then_repeat(": ping\n\n".repeat(500))).await;
        check_stream_ends(
            format,
            Reply::json(200, &json!([])).only(0, Step::Repeat("[".repeat(5_000).into())),
        )
        .await;
        check_stream_ends(format, Reply::events(["data: {}\n\n"]).then_repeat("data: {}\n\n".repeat(500)))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_line_has_a_limit_of_its_own() {
    let reply = Reply::events(["data: "]).then_repeat("x".repeat(1 << 20));
    let server = FakeProvider::in_memory([reply]);
    let (_, error) = ask(&model_in_memory(&server, WireFormat::OpenAi), question(WireFormat::OpenAi)).await;
    let error = error.expect("it does not end").to_string();
    assert!(error.contains("exceeds 67108864 bytes"), "{error}");
    assert_eq!(server.requests().len(), 1, "it is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn an_error_without_end_is_read_in_part() {
    let endless = |status| Reply::json(status, &json!({})).only(0, Step::Repeat("x".repeat(5_000).into()));
    let slow = |status| {
        Reply::json(status, &json!({})).only(0, Step::Every(Duration::from_secs(3), Bytes::from_static(b"x")))
    };
    for reply in [endless(400), slow(400)] {
        let server = FakeProvider::in_memory([reply]);
        let start = Instant::now();
        let (_, error) =
            ask(&model_in_memory(&server, WireFormat::OpenAi), question(WireFormat::OpenAi)).await;
        assert!(matches!(error, Some(ModelError::Refused { .. })), "{error:?}");
        assert!(server.bytes_sent() < IN_FLIGHT);
        assert!(start.elapsed() <= Duration::from_secs(11));
    }
}

/// Something that arrives every ten seconds and is no sign of life, behind a first piece.
async fn check_idle(format: WireFormat, nothing: String) {
    let place = if format == WireFormat::Anthropic { 4 } else { 1 };
    let alive = Step::Every(Duration::from_secs(10), nothing.clone().into());
    let server = FakeProvider::in_memory([texts(format, &["first", "second"]).only(place, alive)]);
    let start = Instant::now();
    let model = model_with_idle(&server, format, Duration::from_secs(45));
    let (answer, error) = ask(&model, question(format)).await;
    let stalled = ModelError::Interrupted { reason: "no data for 45 s".into() };
    assert_eq!((error, text_of(answer).as_str()), (Some(stalled), "first"), "{nothing}");
    assert_eq!(start.elapsed().as_secs(), 45, "{nothing}");
}

#[tokio::test(start_paused = true)]
async fn comments_pings_and_empty_deltas_are_no_sign_of_life() {
    for format in FORMATS {
        check_idle(format, ": keep-alive\n\n".into()).await;
        check_idle(format, "\n".into()).await;
    }
    check_idle(WireFormat::OpenAi, openai::event(&openai::chunk(&json!({}), None))).await;
    check_idle(
        WireFormat::OpenAi,
        openai::event(&openai::chunk(&json!({"role": "assistant", "content": ""}), None)),
    )
    .await;
    let empty = json!({"tool_calls": []});
    check_idle(WireFormat::OpenAi, openai::event(&openai::chunk(&empty, None))).await;
    check_idle(WireFormat::Gemini, gemini::event(&gemini::chunk(&json!([]), None))).await;
    check_idle(
        WireFormat::Gemini,
        gemini::event(&gemini::chunk(&json!([{"text": "", "thought": true}]), None)),
    )
    .await;
    check_idle(WireFormat::Anthropic, anthropic::event(&json!({"type": "ping"}))).await;
    let delta =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}});
    check_idle(WireFormat::Anthropic, anthropic::event(&delta)).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_trickles_has_a_time_to_end() {
    for format in FORMATS {
        let place = if format == WireFormat::Anthropic { 4 } else { 1 };
        let piece = match format {
            WireFormat::OpenAi => openai::event(&openai::chunk(&json!({"content": "."}), None)),
            WireFormat::Gemini => gemini::event(&gemini::chunk(&json!([{"text": "."}]), None)),
            WireFormat::Anthropic => anthropic::event(
                &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "."}}),
            ),
        };
        let slow = Step::Every(Duration::from_secs(30), piece.into());
        let server = FakeProvider::in_memory([texts(format, &["first", "second"]).only(place, slow)]);
        let start = Instant::now();
        let (answer, error) = ask(&model_in_memory(&server, format), question(format)).await;
        let limit = AnswerLimit::Time(Duration::from_secs(1_800));
        assert_eq!(error, Some(ModelError::OverLimit { limit }));
        assert_eq!(start.elapsed().as_secs(), 1_800);
        assert!(text_of(answer).starts_with("first...."));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_have_tighter_limits() {
    let stalls = || texts(WireFormat::OpenAi, &["x"]).only(0, Step::Stall);
    let server = FakeProvider::in_memory([stalls(), stalls()]);
    let model = model_in_memory(&server, WireFormat::OpenAi);
    let own = CallLimits { idle: Some(Duration::from_secs(60)), time: None };
    let start = Instant::now();
    let (_, error) = ask(&model, Request { limits: own, ..question(WireFormat::OpenAi) }).await;
    assert_eq!(error, Some(ModelError::Interrupted { reason: "no data for 60 s".into() }));
    assert_eq!((start.elapsed().as_secs(), server.requests().len()), (60, 1), "it is not waited for twice");

    let server = FakeProvider::in_memory([texts(WireFormat::OpenAi, &["x", "y"]).only(1, Step::Stall)]);
    let own = CallLimits { idle: None, time: Some(Duration::from_secs(20)) };
    let request = Request { limits: own, ..question(WireFormat::OpenAi) };
    let (_, error) = ask(&model_in_memory(&server, WireFormat::OpenAi), request).await;
    assert_eq!(error, Some(ModelError::OverLimit { limit: AnswerLimit::Time(Duration::from_secs(20)) }));
}
