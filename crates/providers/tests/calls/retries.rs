//! What is tried again, when, and for how long. Time is paused: it passes only while everyone waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul_conversation::{FinishReason, Model, ModelError};
use longhaul_providers::RetrySettings;
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, anthropic, gemini, openai};
use longhaul_wire::WireFormat;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{FORMATS, ask, model_in_memory, model_with_idle, question, read_until, text_of, texts};

/// Replies that fail, then one that succeeds after `seconds` of waiting.
async fn check_wait(format: WireFormat, failures: Vec<Reply>, seconds: f64) {
    let count = failures.len();
    let server = FakeProvider::in_memory(failures.into_iter().chain([texts(format, &["fine"])]));
    let start = Instant::now();
    let (answer, error) = ask(&model_in_memory(&server, format), question(format)).await;
    let waited = start.elapsed().as_secs_f64();
    assert_eq!((error, server.requests().len()), (None, count + 1));
    assert_eq!(text_of(answer), "fine");
    assert!((waited - seconds).abs() < 0.2, "waited {waited} s instead of {seconds}");
}

#[tokio::test(start_paused = true)]
async fn busy_providers_are_asked_again_later() {
    // Half of 1 s and of 2 s, as the dice show a half.
    let busy = || Reply::json(503, &json!({"error": {"message": "overloaded"}}));
    for format in FORMATS {
        check_wait(format, vec![busy(), busy()], 1.5).await;
        check_wait(format, vec![Reply::html(502, "Bad Gateway")], 0.5).await;
        check_wait(format, vec![Reply::json(500, &json!({}))], 0.5).await;
    }
}

#[tokio::test(start_paused = true)]
async fn providers_say_when_to_come_back() {
    check_wait(WireFormat::OpenAi, vec![openai::rate_limited("7")], 7.5).await;
    check_wait(WireFormat::Anthropic, vec![anthropic::rate_limited("12")], 12.5).await;
    check_wait(WireFormat::Anthropic, vec![anthropic::rate_limited("Thu, 01 Jan 2026 00:00:20 GMT")], 20.5)
        .await;
    check_wait(WireFormat::Gemini, vec![gemini::rate_limited("34.5s")], 35.0).await;
}

#[tokio::test(start_paused = true)]
async fn empty_and_broken_answers_are_asked_for_again() {
    for format in FORMATS {
        check_wait(format, vec![Reply::events::<String>([])], 0.5).await;
        check_wait(format, vec![Reply::events([": keep-alive\n\n"])], 0.5).await;
        check_wait(format, vec![texts(format, &["x"]).only(0, Step::Cut)], 0.5).await;
        check_wait(format, vec![Reply::events(["data: {\"half"])], 0.5).await;
    }
    check_wait(WireFormat::Gemini, vec![gemini::parts(&[])], 0.5).await;
    check_wait(WireFormat::OpenAi, vec![openai::texts(&[])], 0.5).await;
    check_wait(WireFormat::Anthropic, vec![anthropic::texts(&[])], 0.5).await;
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    check_wait(WireFormat::Anthropic, vec![Reply::events([anthropic::event(&error)])], 0.5).await;
    let error = json!({"error": {"code": 503, "message": "overloaded"}});
    check_wait(WireFormat::Gemini, vec![Reply::events([gemini::event(&error)])], 0.5).await;
    check_wait(WireFormat::OpenAi, vec![Reply::events([openai::event(&error)])], 0.5).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_empty_is_asked_for_once_more_only() {
    for format in FORMATS {
        for empty in [Reply::events::<String>([]), Reply::events([": keep-alive\n\n"]), texts(format, &[])] {
            let server = FakeProvider::in_memory(vec![empty; 6]);
            let (_, error) = ask(&model_in_memory(&server, format), question(format)).await;
            let empty = ModelError::Interrupted { reason: "empty response".into() };
            assert_eq!((error, server.requests().len()), (Some(empty), 2), "{format:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_with_a_reason_is_an_answer() {
    let filtered = Reply::events([gemini::event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}))]);
    let server = FakeProvider::in_memory([filtered]);
    let (answer, error) =
        ask(&model_in_memory(&server, WireFormat::Gemini), question(WireFormat::Gemini)).await;
    assert_eq!((answer.finish, error), (Some(FinishReason::Filtered), None));
}

#[tokio::test(start_paused = true)]
async fn retries_end() {
    let busy = || openai::error(503, "server_error", "", "overloaded");
    let server = FakeProvider::in_memory((0..10).map(|_| busy()));
    let (_, error) = ask(&model_in_memory(&server, WireFormat::OpenAi), question(WireFormat::OpenAi)).await;
    let busy = ModelError::Busy { reason: "overloaded (503)".into(), retry_after: None };
    assert_eq!((error, server.requests().len()), (Some(busy), 6));

    let start = Instant::now();
    let server = FakeProvider::in_memory([openai::rate_limited("3600")]);
    let (_, error) = ask(&model_in_memory(&server, WireFormat::OpenAi), question(WireFormat::OpenAi)).await;
    let hour = Some(Duration::from_secs(3600));
    assert!(matches!(error, Some(ModelError::Busy { retry_after, .. }) if retry_after == hour), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(1), "it is of no use to wait");

    let server = FakeProvider::in_memory((0..10).map(|_| openai::rate_limited("50")));
    let model = model_in_memory(&server, WireFormat::OpenAi);
    let start = Instant::now();
    ask(&model, question(WireFormat::OpenAi)).await;
    assert_eq!(server.requests().len(), 3, "two waits of 50 s fit into the budget of 120 s");
    assert!(start.elapsed() < Duration::from_secs(120));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_stream_times_out() {
    for format in FORMATS {
        let place = if format == WireFormat::Anthropic { 4 } else { 1 };
        let server = FakeProvider::in_memory([texts(format, &["first", "second"]).only(place, Step::Stall)]);
        let model = model_with_idle(&server, format, Duration::from_secs(40));
        let start = Instant::now();
        let (answer, error) = ask(&model, question(format)).await;
        let stalled = ModelError::Interrupted { reason: "no data for 40 s".into() };
        assert_eq!(error, Some(stalled));
        assert_eq!(text_of(answer), "first");
        assert_eq!(start.elapsed().as_secs(), 40);
        server.answer_abandoned().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_before_it_shows_anything_is_tried_again() {
    for format in FORMATS {
        let stalls = texts(format, &["x"]).only(0, Step::Stall);
        let server = FakeProvider::in_memory([stalls, texts(format, &["fine"])]);
        let model = model_with_idle(&server, format, Duration::from_secs(40));
        assert_eq!(text_of(ask(&model, question(format)).await.0), "fine");
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_can_be_cancelled() {
    let server = FakeProvider::in_memory([openai::rate_limited("60"), openai::text("unwanted")]);
    let model = model_in_memory(&server, WireFormat::OpenAi);
    let mut stream = model.stream(question(WireFormat::OpenAi));
    let read = tokio::time::timeout(Duration::from_secs(5), read_until(&mut stream, "unwanted")).await;
    assert!(read.is_err());
    drop(stream);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((server.requests().len(), server.replies_left()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn waits_are_told_before_they_begin() {
    let server = FakeProvider::in_memory([openai::rate_limited("7"), openai::text("fine")]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let model = model_in_memory(&server, WireFormat::OpenAi).on_wait(move |waiting| {
        let line = format!("{}: {} s", waiting.error, waiting.wait.as_secs());
        listener.lock().expect("nobody panicked").push(line);
    });
    assert_eq!(ask(&model, question(WireFormat::OpenAi)).await.1, None);
    let told = told.lock().expect("nobody panicked");
    assert_eq!(*told, ["the model is busy: Rate limit reached for requests (429): 7 s"]);
}

#[tokio::test(start_paused = true)]
async fn one_attempt_may_be_all() {
    let server = FakeProvider::in_memory([openai::rate_limited("1"), openai::text("unwanted")]);
    let retry = RetrySettings { attempts: 1, ..RetrySettings::default() };
    let model = model_in_memory(&server, WireFormat::OpenAi).with_retry(retry);
    assert!(ask(&model, question(WireFormat::OpenAi)).await.1.is_some());
    assert_eq!(server.requests().len(), 1);
}
