//! Answers that arrive, however they are sent.

use bytes::Bytes;
use longhaul_conversation::{FinishReason, Model, TokenCount, Usage};
use longhaul_providers::ModelSettings;
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Signal, Step, anthropic, gemini, openai};
use longhaul_wire::WireFormat;
use serde_json::json;

use crate::support::{FORMATS, KEY, ask, model_at, model_name, question, read_until, text_of, texts};

const PIECES: [&str; 4] = ["Grüße, ", "漢字 and ", "🦀🦀", " end"];
const WHOLE: &str = "Grüße, 漢字 and 🦀🦀 end";

async fn check_text(format: WireFormat, reply: Reply) {
    let server = FakeProvider::start([reply]);
    let (answer, error) = ask(&model_at(&server, format), question(format)).await;
    assert_eq!(error, None);
    assert_eq!(answer.finish, Some(FinishReason::Stop));
    assert_eq!(text_of(answer), WHOLE);
}

#[tokio::test]
async fn an_answer_arrives_in_any_chunks() {
    for format in FORMATS {
        check_text(format, texts(format, &PIECES)).await;
        for size in [1, 2, 3, 7, 64] {
            check_text(format, texts(format, &PIECES).in_chunks_of(size)).await;
        }
        check_text(format, texts(format, &PIECES).with_keep_alives()).await;
        check_text(format, texts(format, &PIECES).with_content_type("application/octet-stream")).await;
    }
}

#[tokio::test]
async fn half_a_surrogate_pair_does_not_end_an_answer() {
    let piece = |text: &str, end: &str| {
        let content = format!(r#"{{"role":"model","parts":[{{"text":"{text}"}}]}}"#);
        format!("data: {{\"candidates\":[{{\"content\":{content}{end}}}]}}\n\n")
    };
    let events = [piece(r"half \ud83d", ""), piece(" and the rest", r#","finishReason":"STOP""#)];
    let server = FakeProvider::start([Reply::events(events)]);
    let (answer, error) = ask(&model_at(&server, WireFormat::Gemini), question(WireFormat::Gemini)).await;
    assert_eq!(error, None);
    assert_eq!(text_of(answer), "half \u{fffd} and the rest");
}

#[tokio::test]
async fn a_request_says_who_asks_for_what() {
    for (format, path, header, value) in [
        (
            WireFormat::Gemini,
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_string(),
        ),
        (WireFormat::OpenAi, "/chat/completions", "authorization", format!("Bearer {KEY}")),
        (WireFormat::Anthropic, "/v1/messages", "x-api-key", KEY.to_string()),
    ] {
        let server = FakeProvider::start([texts(format, &PIECES)]);
        ask(&model_at(&server, format), question(format)).await;
        let [request] = &server.requests()[..] else { panic!("one request") };
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", path));
        assert_eq!(request.header(header), Some(value.as_str()));
        assert!(!request.target.contains(KEY));
        assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("longhaul/")));
        assert!(request.body.to_string().contains("hi"), "{}", request.body);
        let streams = format == WireFormat::Gemini || request.body["stream"] == true;
        assert!(streams, "{}", request.body);
    }
}

#[tokio::test]
async fn usage_tells_all_it_knows() {
    for format in FORMATS {
        let server = FakeProvider::start([texts(format, &PIECES)]);
        let (answer, _) = ask(&model_at(&server, format), question(format)).await;
        let usage = answer.usage.unwrap_or_default();
        assert_eq!((usage.input, usage.cached), (Some(TokenCount(100)), Some(TokenCount(64))), "{format:?}");
        let (output, thoughts) = match format {
            WireFormat::Anthropic => (20, None),
            _ => (7, Some(TokenCount(13))),
        };
        assert_eq!((usage.output, usage.thoughts), (Some(TokenCount(output)), thoughts), "{format:?}");
        assert_ne!(usage, Usage::default());
    }
}

#[tokio::test]
async fn pieces_are_shown_before_the_end() {
    for format in FORMATS {
        let go_on = Signal::default();
        let mut reply = texts(format, &["first", "second"]);
        // The first piece is the one that is shown; everything behind it waits.
        let place = if format == WireFormat::Anthropic { 4 } else { 1 };
        let rest = reply.split_off(place);
        reply = reply.then(Step::Wait(go_on.clone()));
        let server = FakeProvider::start([rest.into_iter().fold(reply, Reply::then)]);
        let model = model_at(&server, format);
        let mut stream = model.stream(question(format));
        read_until(&mut stream, "first").await;
        go_on.raise();
        read_until(&mut stream, "second").await;
    }
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_call() {
    for format in FORMATS {
        let place = if format == WireFormat::Anthropic { 4 } else { 1 };
        let server = FakeProvider::start([texts(format, &["first", "second"]).only(place, Step::Stall)]);
        let model = model_at(&server, format);
        let mut stream = model.stream(question(format));
        read_until(&mut stream, "first").await;
        drop(stream);
        server.answer_abandoned().await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let gemini = gemini::chunk(&json!([{"text": WHOLE}]), Some("STOP"));
    let openai = json!({"choices": [{"message": {"content": WHOLE}, "finish_reason": "stop"}]});
    let anthropic =
        json!({"type": "message", "content": [{"type": "text", "text": WHOLE}], "stop_reason": "end_turn"});
    check_text(WireFormat::Gemini, Reply::json(200, &gemini)).await;
    check_text(WireFormat::Gemini, Reply::json(200, &json!([gemini]))).await;
    check_text(WireFormat::OpenAi, Reply::json(200, &openai).in_chunks_of(5)).await;
    check_text(WireFormat::Anthropic, Reply::json(200, &anthropic)).await;
}

#[tokio::test]
async fn connections_are_kept() {
    for format in FORMATS {
        let server = FakeProvider::start([texts(format, &PIECES), texts(format, &PIECES)]);
        let model = model_at(&server, format);
        for _ in 0..2 {
            assert_eq!(text_of(ask(&model, question(format)).await.0), WHOLE);
        }
        assert_eq!(server.connections(), 1, "{format:?}");
    }
}

#[tokio::test]
async fn a_stated_reserve_limits_the_answer() {
    for (format, pointer) in [
        (WireFormat::Gemini, "/generationConfig/maxOutputTokens"),
        (WireFormat::OpenAi, "/max_tokens"),
        (WireFormat::Anthropic, "/max_tokens"),
    ] {
        let server = FakeProvider::start([texts(format, &PIECES)]);
        let model = model_at(&server, format);
        let mut provider = model.provider().clone();
        let stated = ModelSettings { output_reserve: Some(TokenCount(77)), ..ModelSettings::default() };
        provider.models.insert(model_name(format).into(), stated);
        let model = longhaul_providers::HttpModel::new(
            provider,
            longhaul_providers::HttpClient::new(longhaul_providers::Network::default()),
            crate::support::surroundings(),
        );
        ask(&model, question(format)).await;
        assert_eq!(server.requests()[0].body.pointer(pointer), Some(&json!(77)));
    }
}

#[tokio::test]
async fn tokens_are_counted_where_the_provider_can() {
    let server = FakeProvider::start([Reply::json(200, &json!({"totalTokens": 12}))]);
    let count = model_at(&server, WireFormat::Gemini).count(question(WireFormat::Gemini)).await;
    assert_eq!(count, Ok(Some(TokenCount(12))));
    assert_eq!(server.requests()[0].target, "/v1beta/models/gemini-2.5-flash:countTokens");

    let busy = anthropic::error(529, "overloaded_error", "Overloaded");
    let server = FakeProvider::start([busy, Reply::json(200, &json!({"input_tokens": 34}))]);
    let count = model_at(&server, WireFormat::Anthropic).count(question(WireFormat::Anthropic)).await;
    assert_eq!(count, Ok(Some(TokenCount(34))));
    assert_eq!(server.requests()[1].target, "/v1/messages/count_tokens");

    let server = FakeProvider::start([]);
    assert_eq!(model_at(&server, WireFormat::OpenAi).count(question(WireFormat::OpenAi)).await, Ok(None));
    let server = FakeProvider::start([Reply::html(200, "Portal")]);
    let error = model_at(&server, WireFormat::Gemini).count(question(WireFormat::Gemini)).await;
    assert!(error.expect_err("no count").to_string().contains("web page"));
}

#[tokio::test]
async fn what_follows_the_end_is_ignored() {
    let reply = openai::texts(&PIECES).then_send(Bytes::from_static(b"data: {\"error\": \"late\"}\n\n"));
    check_text(WireFormat::OpenAi, reply).await;
    check_text(WireFormat::Anthropic, anthropic::texts(&PIECES).then(Step::Cut)).await;
    check_text(WireFormat::Gemini, gemini::texts(&PIECES).then(Step::Cut)).await;
}
