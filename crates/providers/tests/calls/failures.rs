//! Every way to fail, and what is said about it.

use longhaul_conversation::{ModelError, Request};
use longhaul_providers::{HttpClient, HttpModel, Key, Network};
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, anthropic, gemini, openai};
use longhaul_wire::WireFormat;
use serde_json::json;

use crate::support::{FORMATS, KEY, ask, model_at, provider_at, question, surroundings, text_of, texts};

/// The sentence that a single reply leads to, which is not tried again.
async fn check_refusal(format: WireFormat, reply: Reply, expected: &str, hint: &str) {
    let server = FakeProvider::start([reply, texts(format, &["unwanted"])]);
    let (_, error) = ask(&model_at(&server, format), question(format)).await;
    let error = error.expect("a refusal");
    let host = server.url().replace("http://", "");
    assert_eq!(error.to_string().replace(&host, "HOST"), expected);
    assert_eq!(error.hint(), hint);
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    assert_eq!(server.requests().len(), 1, "it is not tried again");
}

#[tokio::test]
async fn too_long_is_recognised() {
    let sentence = "the request does not fit in the context window";
    let hint = "compact the conversation, or use a model with a larger window";
    check_refusal(WireFormat::Gemini, gemini::too_long(), sentence, hint).await;
    check_refusal(WireFormat::OpenAi, openai::too_long(), sentence, hint).await;
    check_refusal(WireFormat::Anthropic, anthropic::too_long(), sentence, hint).await;
}

#[tokio::test]
async fn keys_that_are_not_accepted() {
    let hint = "check that the key is complete, valid and meant for this endpoint";
    let sentence = "fake rejected the API key";
    let echo = format!("Incorrect API key provided: {KEY}");
    check_refusal(WireFormat::OpenAi, openai::error(401, "x", "invalid_api_key", &echo), sentence, hint)
        .await;
    let denied = gemini::error(403, "PERMISSION_DENIED", &format!("Key {KEY} has no access."), &json!([]));
    check_refusal(
        WireFormat::Gemini,
        denied,
        "fake rejected the API key: Key [key] has no access. (403)",
        hint,
    )
    .await;
    let invalid =
        gemini::error(400, "INVALID_ARGUMENT", "API key not valid.", &json!([{"reason": "API_KEY_INVALID"}]));
    check_refusal(WireFormat::Gemini, invalid, sentence, hint).await;
    let error = anthropic::error(401, "authentication_error", "invalid x-api-key");
    check_refusal(WireFormat::Anthropic, error, sentence, hint).await;
}

async fn check_unknown_model(format: WireFormat, model: &str, reply: Reply, nearest: &str) {
    let server = FakeProvider::start([reply]);
    let request = Request { model: model.into(), ..question(format) };
    let (_, error) = ask(&model_at(&server, format), request).await;
    let error = error.expect("there is no such model");
    assert_eq!(error.to_string(), format!("unknown model {model:?}"));
    assert!(error.hint().starts_with(&format!("did you mean {nearest}")), "{}", error.hint());
}

#[tokio::test]
async fn models_that_do_not_exist() {
    let message = "models/gemini-2.5-flsh is not found for API version v1beta";
    let gone = gemini::error(404, "NOT_FOUND", message, &json!([]));
    check_unknown_model(WireFormat::Gemini, "gemini-2.5-flsh", gone, "gemini-2.5-flash").await;
    let message = "The model `gpt-4oo` does not exist";
    let gone = openai::error(404, "invalid_request_error", "model_not_found", message);
    check_unknown_model(WireFormat::OpenAi, "gpt-4oo", gone, "gpt-4o").await;
    let gone = anthropic::error(404, "not_found_error", "model: claude-opus-45");
    check_unknown_model(WireFormat::Anthropic, "claude-opus-45", gone, "claude-opus-4-5").await;
}

#[tokio::test]
async fn requests_that_are_refused() {
    for (format, reply) in [
        (WireFormat::Gemini, gemini::error(400, "INVALID_ARGUMENT", "Unknown name \"x\"", &json!([]))),
        (WireFormat::OpenAi, openai::error(400, "invalid_request_error", "", "Unknown name \"x\"")),
        (WireFormat::Anthropic, anthropic::error(400, "invalid_request_error", "Unknown name \"x\"")),
    ] {
        let sentence = "the provider rejected the request: Unknown name \"x\" (400)";
        check_refusal(format, reply, sentence, "change the request: retrying would fail again").await;
    }
}

#[tokio::test]
async fn what_answers_is_not_a_model() {
    let hint = "check the endpoint address, the model name and any proxy";
    for format in FORMATS {
        for status in [200, 403, 404] {
            let sentence = format!("HOST returned a web page, \"Sign in\" ({status})");
            check_refusal(format, Reply::html(status, "Sign in"), &sentence, hint).await;
        }
        let sentence = "HOST returned something other than an event stream";
        check_refusal(format, Reply::new(200, "text/plain", "hello"), sentence, hint).await;
        check_refusal(format, Reply::new(200, "text/event-stream", "internal oddness"), sentence, hint).await;
        check_refusal(format, Reply::json(200, &json!({"status": "fine"})), sentence, hint).await;
        let sentence = "HOST returned 404: wrong endpoint or unknown model (Not Found)";
        check_refusal(format, Reply::json(404, &json!({"detail": "Not Found"})), sentence, hint).await;
    }
}

#[tokio::test]
async fn money_that_has_run_out() {
    let hint = "check your plan and its limits, or use another model";
    let none =
        openai::error(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota");
    let sentence = "fake quota exceeded: You exceeded your current quota (429)";
    check_refusal(WireFormat::OpenAi, none, sentence, hint).await;
    let low = anthropic::error(400, "invalid_request_error", "Your credit balance is too low");
    let sentence = "fake quota exceeded: Your credit balance is too low (400)";
    check_refusal(WireFormat::Anthropic, low, sentence, hint).await;
}

#[tokio::test]
async fn nobody_is_there() {
    // A port that was free a moment ago.
    let port =
        std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("a port");
    let provider = provider_at(&format!("http://{port}"), WireFormat::OpenAi);
    let model = HttpModel::new(provider, HttpClient::new(Network::default()), surroundings());
    let (_, error) = ask(&model, question(WireFormat::OpenAi)).await;
    let error = error.expect("nobody answers");
    assert!(
        matches!(&error, ModelError::Unreachable { host, reason } if *host == port.to_string() && reason.contains("refused")),
        "{error:?}"
    );
    assert_eq!(error.hint(), "check your network, the endpoint address and any proxy");
}

#[tokio::test]
async fn a_key_that_is_not_there() {
    let mut provider = provider_at("https://fake.invalid", WireFormat::Gemini);
    provider.key = Key::Missing { looked_at: vec!["GEMINI_API_KEY".into(), "GOOGLE_API_KEY".into()] };
    let model = HttpModel::new(provider, HttpClient::new(Network::default()), surroundings());
    let (_, error) = ask(&model, question(WireFormat::Gemini)).await;
    let error = error.expect("no key");
    assert_eq!(
        (error.to_string().as_str(), error.hint().as_str()),
        ("no API key for fake", "set GEMINI_API_KEY or GOOGLE_API_KEY")
    );
}

/// An answer that breaks after its first piece is not asked for again: what was shown cannot be taken back.
async fn check_broken(format: WireFormat, end: Step, expected: &str) {
    let place = if format == WireFormat::Anthropic { 4 } else { 1 };
    let server = FakeProvider::start([
        texts(format, &["first", "second"]).only(place, end),
        texts(format, &["unwanted"]),
    ]);
    let (answer, error) = ask(&model_at(&server, format), question(format)).await;
    assert_eq!(error.expect("it broke off").to_string(), expected);
    assert_eq!(text_of(answer), "first");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn answers_that_break_off_after_something_was_shown() {
    for format in FORMATS {
        let lost = "the response was interrupted: connection lost: ";
        let end = Step::Send("".into());
        check_broken(format, end, "the response was interrupted: the stream ended mid-response").await;
        let garbled = Step::Send("data: {\"half\n\n".into());
        check_broken(format, garbled, "the response was interrupted: invalid JSON in the stream: {\"half")
            .await;
        let place = if format == WireFormat::Anthropic { 4 } else { 1 };
        let server = FakeProvider::start([texts(format, &["first", "second"]).only(place, Step::Cut)]);
        let (answer, error) = ask(&model_at(&server, format), question(format)).await;
        assert!(error.expect("it was cut").to_string().starts_with(lost));
        assert_eq!(text_of(answer), "first");
    }
    let overloaded = anthropic::event(
        &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    );
    check_broken(WireFormat::Anthropic, Step::Send(overloaded.into()), "the model is busy: Overloaded (529)")
        .await;
    let error = gemini::event(&json!({"error": {"code": 503, "message": "The model is overloaded."}}));
    check_broken(
        WireFormat::Gemini,
        Step::Send(error.into()),
        "the model is busy: The model is overloaded. (503)",
    )
    .await;
    let error = openai::event(&json!({"error": {"code": 400, "message": "bad turn"}}));
    check_broken(
        WireFormat::OpenAi,
        Step::Send(error.into()),
        "the provider rejected the request: bad turn (400)",
    )
    .await;
}
