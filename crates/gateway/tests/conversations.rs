//! Whole conversations through the gateway, against a provider that takes only what Anthropic's API takes.

use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use longhaul_app::settings::Settings;
use longhaul_conversation::TokenCount;
use longhaul_gateway::{
    Family, Gateway, GatewaySettings, GatewaySummary, Mode, PlanSettings, RecordSessions, Store, Upstream,
    Upstreams,
};
use longhaul_providers::{MicroDollars, Network, RelayClient};
use longhaul_testkit::strict_provider::{StrictCall, StrictProvider, StrictSettings};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A gateway that runs.
struct Running {
    base: String,
    cancel: CancellationToken,
    serving: JoinHandle<anyhow::Result<GatewaySummary>>,
}

impl Running {
    async fn start(folder: &Path, upstream: &str, change: impl FnOnce(&mut GatewaySettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut upstreams = Upstreams::new(Some(Family::Anthropic));
        upstreams.set(Family::Anthropic, Upstream::parse(upstream).expect("an address"));
        let user = Settings::load(None, Path::new(""), &Default::default()).expect("no files").settings;
        let mut settings = GatewaySettings {
            mode: Mode::On,
            address: listener.local_addr().expect("an address"),
            hosts: Vec::new(),
            token: None,
            upstreams,
            folder: folder.to_path_buf(),
            window: None,
            plan: PlanSettings::default(),
            record: RecordSessions::Off,
            daily_cap: None,
            user,
            secret: [3; 32],
        };
        change(&mut settings);
        let base = format!("http://{}", settings.address);
        let (gateway, _) = Gateway::new(settings, Network::default()).expect("a gateway");
        let cancel = CancellationToken::new();
        let serving = tokio::spawn(gateway.serve(listener, cancel.clone()));
        Self { base, cancel, serving }
    }

    async fn end(self) -> GatewaySummary {
        self.cancel.cancel();
        self.serving.await.expect("no panic").expect("served")
    }
}

/// A client that keeps its whole history, as agents do.
struct Agent {
    http: RelayClient,
    messages: Vec<Value>,
}

const RULE: &str = "Never push to the main branch.";

impl Agent {
    fn new() -> Self {
        Self { http: RelayClient::new(Network::default()), messages: Vec::new() }
    }

    fn say(&mut self, words: &str) {
        self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": words}]}));
    }

    /// The request as a client writes it: its newest block marked for the cache.
    fn request(&self) -> String {
        let mut messages = self.messages.clone();
        if let Some(block) = messages.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut()) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        let messages = serde_json::to_string(&messages).expect("JSON");
        format!(
            "{{\"model\":\"claude-test\", \"messages\":{messages},\"system\":[{{\"type\":\"text\",\"text\":\"Be brief.\",\"cache_control\":{{\"type\":\"ephemeral\"}}}}],\
             \"tools\":[{{\"name\":\"Bash\",\"input_schema\":{{\"maximum\":1.0}}}}],\"max_tokens\":1000,\"thinking\":{{\"type\":\"adaptive\"}}}}"
        )
    }

    /// One call; the answer is added to the history. None if it was refused.
    async fn step(&mut self, base: &str) -> Option<Value> {
        let (status, _, body) = post(&self.http, base, "/v1/messages?beta=true", self.request(), &[]).await;
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        if status != StatusCode::OK {
            return None;
        }
        self.messages.push(json!({"role": "assistant", "content": answer["content"]}));
        let calls =
            answer["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use");
        let results: Vec<Value> = calls
            .map(|call| {
                let output = format!("step {} took 3 ms\n{}", call["input"]["step"], "all is well\n".repeat(20));
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": false})
            })
            .collect();
        if !results.is_empty() {
            self.messages.push(json!({"role": "user", "content": results}));
        }
        Some(answer)
    }

    /// Steps until the model is done.
    async fn work(&mut self, base: &str) {
        loop {
            let answer = self.step(base).await.expect("the provider takes it");
            if answer["stop_reason"] == "end_turn" {
                return;
            }
        }
    }
}

async fn post(
    http: &RelayClient,
    base: &str,
    path: &str,
    body: impl Into<Bytes>,
    headers: &[(&'static str, &str)],
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    let mut request = Request::post(format!("{base}{path}")).body(body).expect("a request");
    request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a header"));
    }
    let (head, body) = http.send(request).await.expect("an answer").into_parts();
    (head.status, head.headers, body.collect().await.expect("a body").to_bytes().to_vec())
}

/// The places where a request does not begin as the one before it ended.
fn prefix_breaks(calls: &[StrictCall]) -> usize {
    let plain = |call: &StrictCall| -> Vec<Value> {
        let mut body: Value = serde_json::from_slice(&call.body).expect("JSON");
        let mut messages = std::mem::take(body["messages"].as_array_mut().expect("messages"));
        for block in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
            block.as_object_mut().expect("a block").remove("cache_control");
        }
        messages
    };
    let bodies: Vec<Vec<Value>> = calls.iter().map(plain).collect();
    bodies.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count()
}

fn refusals(calls: &[StrictCall]) -> Vec<&str> {
    calls.iter().filter_map(|call| call.refusal.as_deref()).collect()
}

const WINDOW: usize = 8_000;

fn small(settings: &mut GatewaySettings) {
    settings.window = Some(TokenCount(WINDOW as u64));
}

fn strict(steps: usize) -> StrictProvider {
    StrictProvider::start(StrictSettings { window: WINDOW, steps, refused_text: None })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_conversation_stays_in_the_window_and_breaks_no_more_prefixes_than_it_must() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(200);
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let mut agent = Agent::new();
    agent.say(&format!("Work in steps. {RULE}"));
    agent.work(&gateway.base).await;
    // Another process goes on, and a fork of the conversation finds the same anchor.
    let first = gateway.end().await;
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    agent.say("And once more.");
    agent.step(&gateway.base).await.expect("taken");
    let second = gateway.end().await;
    let calls = provider.calls();
    assert_eq!(refusals(&calls), Vec::<&str>::new());
    assert!(first.compactions >= 3, "{first:?}");
    assert_eq!(second.compactions, 0);
    assert_eq!(prefix_breaks(&calls), first.compactions as usize);
    let last = String::from_utf8_lossy(&calls.last().expect("calls").body).into_owned();
    assert!(
        last.contains("<state_snapshot") && last.matches(RULE).count() >= 2,
        "the rule is in head and snapshot"
    );
    assert_eq!(calls.len() as i64, first.calls + second.calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_on_one_store_send_what_one_would() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(150);
    let gateways = [
        Running::start(folder.path(), provider.url(), small).await,
        Running::start(folder.path(), provider.url(), small).await,
    ];
    let mut agent = Agent::new();
    agent.say(&format!("Work in steps. {RULE}"));
    for turn in 0.. {
        let answer = agent.step(&gateways[turn % 2].base).await.expect("taken");
        if answer["stop_reason"] == "end_turn" {
            break;
        }
    }
    let calls = provider.calls();
    let [a, b] = gateways;
    let compactions = a.end().await.compactions + b.end().await.compactions;
    let kept = Store::open(folder.path()).expect("a store").compactions(100).expect("a list").len();
    assert_eq!(refusals(&calls), Vec::<&str>::new());
    assert_eq!((prefix_breaks(&calls), compactions as usize), (kept, kept));
    assert!(kept >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_agree_with_what_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(60);
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let mut agent = Agent::new();
    agent.say(&format!("Work in steps. {RULE}"));
    agent.work(&gateway.base).await;
    agent.say("How long is this?");
    let path = "/v1/messages/count_tokens?beta=true";
    let (status, _, body) = post(&agent.http, &gateway.base, path, agent.request(), &[]).await;
    let counted: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(status, StatusCode::OK);
    let answer = agent.step(&gateway.base).await.expect("taken");
    assert_eq!(counted["input_tokens"], answer["usage"]["input_tokens"]);
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_refusals_of_our_part_bypass_the_conversation() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = StrictSettings { window: 1_000_000, steps: 400, refused_text: Some("<state_snapshot") };
    let provider = StrictProvider::start(settings);
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let mut agent = Agent::new();
    agent.say("Work in steps.");
    let mut refused = 0;
    for _ in 0..140 {
        if agent.step(&gateway.base).await.is_none() {
            refused += 1;
        }
    }
    let calls = provider.calls();
    let summary = gateway.end().await;
    // What is under way while the worker learns of a refusal may be refused, too.
    assert!((2..=6).contains(&refused), "{refused}");
    assert_eq!((summary.bypassed, refusals(&calls).len()), (1, refused));
    let is_original = |call: &StrictCall| !String::from_utf8_lossy(&call.body).contains("<state_snapshot");
    assert!(calls[calls.len() - 30..].iter().all(is_original));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_learned_from_a_refusal() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(150);
    // Nobody knows this model: it is taken to hold more than it does.
    let gateway = Running::start(folder.path(), provider.url(), |_| {}).await;
    let mut agent = Agent::new();
    agent.say(&format!("Work in steps. {RULE}"));
    let mut refused = 0;
    for _ in 0..220 {
        match agent.step(&gateway.base).await {
            Some(answer) if answer["stop_reason"] == "end_turn" => break,
            Some(_) => {}
            None => refused += 1,
        }
    }
    let calls = provider.calls();
    let summary = gateway.end().await;
    assert!((1..=5).contains(&refused), "{refused}");
    assert!(
        refusals(&calls).iter().all(|reason| reason.starts_with("prompt is too long")),
        "{:?}",
        refusals(&calls)
    );
    assert!(summary.compactions >= 1);
    assert_eq!(agent.messages.last().map(|last| last["role"].clone()), Some(json!("assistant")));
}

/// A body with headers that belong to it.
type OddBody = (Vec<u8>, Vec<(&'static str, &'static str)>);

#[tokio::test(flavor = "multi_thread")]
async fn in_observe_the_provider_receives_the_clients_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(0);
    let gateway = Running::start(folder.path(), provider.url(), |settings| {
        settings.mode = Mode::Observe;
        small(settings);
    })
    .await;
    let http = RelayClient::new(Network::default());
    let mut bodies: Vec<OddBody> = [
        r#"{"messages":[{"role":"user","content":"\u00e9 \ud800 \/ é"}],"n":1.0,"big":9007199254740993,"e":1E+2}"#,
        r#"{ "messages" : [ ] , "messages" : [ {} ], "a":1,"a":2 }"#,
        "\u{feff}{\"messages\":[]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\u{0}\"}]}",
        "not json at all",
        "",
        "[]",
        "{\"messages\":[",
    ]
    .map(|body| (body.as_bytes().to_vec(), Vec::new()))
    .to_vec();
    bodies.push((b"{\"messages\":\"\xff\xfe\"}".to_vec(), Vec::new()));
    bodies.push((
        format!("{{\"messages\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000)).into_bytes(),
        Vec::new(),
    ));
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(b"{\"model\":\"m\",\"messages\":[]}", 6);
    bodies.push((packed, vec![("content-encoding", "deflate")]));
    bodies.push((b"garbage".to_vec(), vec![("content-encoding", "zstd")]));
    let mut long = Agent::new();
    for turn in 0..200 {
        long.say(&format!("Message {turn} {}", "word ".repeat(40)));
        long.messages.push(json!({"role": "assistant", "content": "Yes."}));
    }
    long.say("And?");
    bodies.push((long.request().into_bytes(), Vec::new()));
    bodies.extend(captured().into_iter().map(|body| (body, Vec::new())));
    for (body, headers) in &bodies {
        post(&http, &gateway.base, "/v1/messages", body.clone(), headers).await;
    }
    let calls = provider.calls();
    assert_eq!(calls.len(), bodies.len());
    for ((body, _), call) in bodies.iter().zip(&calls) {
        assert_eq!(String::from_utf8_lossy(&call.body), String::from_utf8_lossy(body));
        assert_eq!(&call.body, body);
    }
    gateway.end().await;
}

/// The shapes of requests that real clients sent, where they are at hand.
fn captured() -> Vec<Vec<u8>> {
    let folder =
        longhaul_testkit::corpus().and_then(|corpus| Some(corpus.parent()?.join("clients/captures")));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return Vec::new() };
    let body = |path: &std::path::PathBuf| {
        let capture: Value = serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON");
        serde_json::to_vec(&capture["body"]).expect("JSON")
    };
    longhaul_testkit::files_below(&folder).iter().map(body).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_ask_for_it_and_unknown_paths_pass_raw() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(0);
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let http = RelayClient::new(Network::default());
    let mut agent = Agent::new();
    for _ in 0..300 {
        agent.say(&"word ".repeat(40));
        agent.messages.push(json!({"role": "assistant", "content": "Yes."}));
    }
    agent.say("And?");
    let headers = [("x-longhaul", "off"), ("x-api-key", "k"), ("connection", "x-drop"), ("x-drop", "d")];
    post(&http, &gateway.base, "/v1/messages?a=b", agent.request(), &headers).await;
    post(&http, &gateway.base, "/v1/files?x=%2F", "any bytes", &[("x-api-key", "k")]).await;
    let calls = provider.calls();
    assert_eq!((calls[0].target.as_str(), calls[1].target.as_str()), ("/v1/messages?a=b", "/v1/files?x=%2F"));
    assert_eq!(
        (calls[0].body.as_slice(), calls[1].body.as_slice()),
        (agent.request().as_bytes(), &b"any bytes"[..])
    );
    for call in &calls {
        let has = |name: &str| call.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        assert!(
            has("x-api-key") && !has("x-longhaul") && !has("x-drop") && !has("x-forwarded-for"),
            "{:?}",
            call.headers
        );
    }
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused_and_failures_have_the_familys_shape() {
    let folder = tempfile::tempdir().expect("a folder");
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let gateway = Running::start(folder.path(), &format!("http://{closed}"), small).await;
    let http = RelayClient::new(Network::default());
    for header in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let (status, _, body) = post(&http, &gateway.base, "/v1/messages", "{}", &[header]).await;
        let error: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!((status, &error["error"]["type"]), (StatusCode::FORBIDDEN, &json!("permission_error")));
    }
    let (status, _, body) = post(&http, &gateway.base, "/v1/messages", "{}", &[]).await;
    let error: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, &error["error"]["type"]), (StatusCode::BAD_GATEWAY, &json!("api_error")));
    let upgrade = [("upgrade", "websocket"), ("connection", "upgrade")];
    let (status, ..) = post(&http, &gateway.base, "/v1/responses", "", &upgrade).await;
    assert!(matches!(status, StatusCode::UPGRADE_REQUIRED | StatusCode::NOT_FOUND), "{status}");
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_store_passes_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("gateway.db"),
        "no database, but long enough to be looked at".repeat(50),
    )
    .expect("written");
    let provider =
        StrictProvider::start(StrictSettings { window: 1_000_000, steps: 100, refused_text: None });
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let mut agent = Agent::new();
    agent.say("Work in steps.");
    agent.work(&gateway.base).await;
    assert_eq!(gateway.end().await.compactions, 0);
    assert_eq!(refusals(&provider.calls()), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_day_ends_with_an_error_that_clients_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(3);
    let gateway =
        Running::start(folder.path(), provider.url(), |settings| settings.daily_cap = Some(MicroDollars(0)))
            .await;
    let mut agent = Agent::new();
    agent.say("Hello.");
    let (status, headers, body) =
        post(&agent.http, &gateway.base, "/v1/messages", agent.request(), &[]).await;
    let error: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(
        (status, &error["error"]["type"]),
        (StatusCode::TOO_MANY_REQUESTS, &json!("rate_limit_error"))
    );
    assert!(headers.contains_key("retry-after"));
    assert_eq!(provider.calls().len(), 0);
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_pass_untouched() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = strict(1);
    let gateway = Running::start(folder.path(), provider.url(), small).await;
    let mut agent = Agent::new();
    agent.say("Hello.");
    let request = agent.request().replacen('{', "{\"stream\":true,", 1);
    let (_, own_headers, own) = post(&agent.http, &gateway.base, "/v1/messages", request.clone(), &[]).await;
    let (_, headers, direct) = post(&agent.http, provider.url(), "/v1/messages", request, &[]).await;
    assert_eq!(String::from_utf8_lossy(&own), String::from_utf8_lossy(&direct));
    assert_eq!(own_headers.get("request-id"), headers.get("request-id"));
    assert_eq!(own_headers.get("content-type"), headers.get("content-type"));
    gateway.end().await;
}
