//! Every request that is sent counts, whatever becomes of it. Time is paused.

use std::time::Duration;

use longhaul_conversation::{Model, Request, SpendMeter, TokenCount};
use longhaul_providers::{HttpClient, HttpModel, Network};
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, openai};
use longhaul_wire::WireFormat;
use serde_json::json;

use crate::support::{ask, model_in_memory, provider_at, question, read_until, surroundings, texts};

/// Requests, reported input, estimated input and estimated output, where a request is expected to take 1,000.
async fn check(replies: Vec<Reply>, expected: (u32, Option<u64>, u64, u64)) {
    let server = FakeProvider::in_memory(replies);
    let meter = SpendMeter::expecting(TokenCount(1_000));
    let request = Request { meter: meter.clone(), ..question(WireFormat::OpenAi) };
    ask(&model_in_memory(&server, WireFormat::OpenAi), request).await;
    assert_eq!(server.requests().len(), expected.0 as usize, "the server counts, too");
    check_total(&meter, expected);
}

#[track_caller]
fn check_total(meter: &SpendMeter, expected: (u32, Option<u64>, u64, u64)) {
    let total = meter.total();
    let input = total.usage.and_then(|usage| usage.input).map(|tokens| tokens.0);
    assert_eq!((total.requests, input, total.estimated_input.0, total.estimated_output.0), expected);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_counts() {
    let fine = || openai::text("fine");
    let busy = || openai::error(503, "server_error", "", "overloaded");
    let nothing = || Reply::events::<String>([]);
    check(vec![fine()], (1, Some(100), 0, 0)).await;
    // What was turned down cost no tokens, what was answered with nothing did.
    check(vec![busy(), busy(), fine()], (3, Some(100), 0, 0)).await;
    check(vec![busy(); 6], (6, None, 0, 0)).await;
    check(vec![nothing(), fine()], (2, Some(100), 1_000, 0)).await;
    check(vec![nothing(), nothing()], (2, None, 2_000, 0)).await;
    check(vec![openai::texts(&[]), fine()], (2, Some(200), 0, 0)).await;
    check(vec![fine().only(0, Step::Cut), fine()], (2, Some(100), 1_000, 0)).await;
    check(vec![openai::texts(&["12345678", "x"]).only(1, Step::Cut)], (1, None, 1_000, 2)).await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_counts() {
    let server = FakeProvider::in_memory([texts(WireFormat::OpenAi, &["12345678"]).only(1, Step::Stall)]);
    let meter = SpendMeter::expecting(TokenCount(1_000));
    let model = model_in_memory(&server, WireFormat::OpenAi);
    let mut stream = model.stream(Request { meter: meter.clone(), ..question(WireFormat::OpenAi) });
    read_until(&mut stream, "12345678").await;
    drop(stream);
    check_total(&meter, (1, None, 1_000, 2));

    let server = FakeProvider::in_memory([texts(WireFormat::OpenAi, &["x"]).only(0, Step::Stall)]);
    let model = model_in_memory(&server, WireFormat::OpenAi);
    let request = Request { meter: meter.clone(), ..question(WireFormat::OpenAi) };
    let asked = tokio::time::timeout(Duration::from_secs(5), ask(&model, request)).await;
    assert!(asked.is_err());
    check_total(&meter, (2, None, 2_000, 2));
}

#[tokio::test]
async fn what_reaches_nobody_does_not_count() {
    let port =
        std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("a port");
    let provider = provider_at(&format!("http://{port}"), WireFormat::OpenAi);
    let model = HttpModel::new(provider, HttpClient::new(Network::default()), surroundings());
    let meter = SpendMeter::expecting(TokenCount(1_000));
    let request = Request { meter: meter.clone(), ..question(WireFormat::OpenAi) };
    assert!(ask(&model, request).await.1.is_some());
    check_total(&meter, (0, None, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn counting_counts_and_costs_nothing() {
    let busy = openai::error(503, "server_error", "", "overloaded");
    let server = FakeProvider::in_memory([busy, Reply::json(200, &json!({"totalTokens": 12}))]);
    let meter = SpendMeter::expecting(TokenCount(1_000));
    let request = Request { meter: meter.clone(), ..question(WireFormat::Gemini) };
    let count = model_in_memory(&server, WireFormat::Gemini).count(request).await;
    assert_eq!(count, Ok(Some(TokenCount(12))));
    check_total(&meter, (2, None, 0, 0));
}
