//! Compaction by a model behind a provider that hangs, fails or says nothing. Time is paused: nobody waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul_compaction::{Input, PlanOptions, Status, Tracker, Trigger, prepare};
use longhaul_conversation::{Message, Ordinal, Part, Role, Timestamp, TokenCount};
use longhaul_engine::{ByModel, CompactionDeps, Folder, PassOutcome, Settings, State, compact};
use longhaul_providers::{
    Connection, Dial, Dialling, Endpoint, HttpClient, HttpModel, Key, ProviderSettings, Surroundings, Target,
};
use longhaul_testkit::fake_provider::{FakeProvider, Reply, Step, openai};
use longhaul_wire::WireFormat;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Connects to a server in memory.
struct InMemory(FakeProvider);

impl Dial for InMemory {
    fn dial(&self, _: Target) -> Dialling {
        let connection = Connection { io: Box::new(self.0.connect()), is_proxied: false };
        Box::pin(async { Ok(connection) })
    }
}

const ANSWER: &str = "<state_snapshot><overall_goal>Repair the uploader.</overall_goal><key_knowledge>The uploader drops \
                      retry_count in src/upload.rs whenever the remote server is busy.</key_knowledge></state_snapshot>";

fn talk() -> Vec<Message> {
    let fact = "The uploader drops retry_count in src/upload.rs whenever the remote server is busy. ";
    let said = [
        (Role::User, "Repair the uploader. Never push to main.".to_string()),
        (Role::Model, fact.repeat(250)),
        (Role::User, "What is next?".to_string()),
        (Role::Model, "The tests.".to_string()),
    ];
    let messages = said.into_iter().zip(1..).map(|((role, text), nth)| {
        let part = if role == Role::User { Part::user_text(text) } else { Part::model_text(text) };
        Message { ordinal: Some(Ordinal(nth)), ..Message::new(format!("m{nth}"), role, vec![part]) }
    });
    messages.collect()
}

/// A pass whose model sits behind a provider with these replies, how long it took and how many requests were sent.
async fn run(replies: Vec<Reply>) -> (PassOutcome, Duration, usize) {
    let server = FakeProvider::in_memory(replies);
    let http = HttpClient::with_dial(Arc::new(InMemory(server.clone())));
    let endpoint = Endpoint::parse(&server.url()).expect("an address");
    let provider = ProviderSettings::at("fake", WireFormat::OpenAi, endpoint, Key::Given("key".into()));
    let now = || Timestamp::parse("2026-01-01T00:00:00Z").expect("a time");
    let model = HttpModel::new(provider, http, Surroundings::new(now, || u64::MAX / 2));
    let summariser = ByModel::new(&model, "gpt-4o", TokenCount(64_000));
    let folder = tempfile::tempdir().expect("a folder");
    let files = Folder::new(folder.path());
    let started = Instant::now();
    let events = Mutex::new(Vec::new());
    let deps = CompactionDeps {
        summariser: &summariser,
        files: &files,
        counter: None,
        pre_compress: None,
        events: &|event| events.lock().expect("nobody panicked").push(event),
        clock: &|| started.elapsed(),
    };
    let messages = talk();
    let mut tracker = Tracker::default();
    messages.iter().for_each(|message| tracker.observe(message));
    let options = PlanOptions { trigger: Trigger::Forced, ..PlanOptions::new(TokenCount(32_000)) };
    let prepared = prepare(&messages, options.empty);
    let input = Input::new(&tracker, &prepared, &options);
    let cancel = CancellationToken::new();
    let outcome = compact(&input, &Settings::default(), &State::default(), &deps, &cancel).await;
    assert_eq!(outcome.result.status, Status::Compressed, "{}", outcome.result.reason);
    (outcome, started.elapsed(), server.requests().len())
}

/// The limit of a silence, and a little for what is not waiting.
const IDLE: Duration = Duration::from_secs(61);

async fn check_offline(replies: Vec<Reply>, most: Duration, calls: usize, why: &str) {
    let (outcome, took, requests) = run(replies).await;
    assert_eq!(outcome.result.report.summariser, "offline_fallback");
    assert!(took <= most, "{took:?}");
    assert_eq!((requests, outcome.account.spend.calls as usize), (calls, calls));
    let told = outcome.account.fell_back.unwrap_or_default();
    assert!(told.contains(why), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_ends_in_the_offline_snapshot() {
    let answer = || openai::texts(&["<state_snapshot>", "<key_knowledge>"]);
    let never = Reply::json(200, &json!({})).only(0, Step::Stall);
    check_offline(vec![never.clone(), never], IDLE, 1, "no data for 60 s").await;
    // It begins, and then says nothing more, whatever keeps the connection open.
    let begun = answer().only(1, Step::Stall);
    check_offline(vec![begun.clone(), begun], IDLE, 1, "no data for 60 s").await;
    let alive = Step::Every(Duration::from_secs(10), b": keep-alive\n\n"[..].to_vec().into());
    let pinging = answer().only(1, alive);
    check_offline(vec![pinging.clone(), pinging], IDLE, 1, "no data for 60 s").await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_once_more() {
    let empty = || openai::texts(&[]);
    check_offline((0..20).map(|_| empty()).collect(), IDLE, 2, "empty response").await;
    let blank = || openai::text(" \n");
    check_offline((0..20).map(|_| blank()).collect(), IDLE, 2, "summary is empty").await;
}

#[tokio::test(start_paused = true)]
async fn every_request_that_is_sent_counts_as_spend() {
    let busy = || openai::error(503, "server_error", "busy", "come back later");
    let (outcome, _, requests) = run(vec![busy(), busy(), openai::text(ANSWER)]).await;
    assert_eq!((outcome.result.report.summariser, requests), ("model", 3));
    assert_eq!(outcome.state.spend.calls, 3);
    let refused = openai::error(400, "invalid_request_error", "bad", "no such parameter");
    check_offline(vec![refused], IDLE, 1, "could not get a summary from the model").await;
}
