//! Signing in at a server, against an authorization server on loopback and a browser that is a thread.
#![cfg(unix)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use longhaul_conversation::CallId;
use longhaul_mcp_client::{
    McpServers, OAuthConfig, ServerAddress, ServerConfig, ServerOrigin, ServerPlace, ServerStatus,
    SignInError, TokenStore, sign_in,
};
use longhaul_tools::{PermittedEffects, ToolInvocation, ToolOutcome, ToolSource};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(60);

/// The behaviour of the authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temper {
    Ordinary,
    /// The person at the browser says no.
    Refusing,
    WithoutPkce,
    /// It names another server's resource.
    Misleading,
    /// It has no metadata of its resource, as in the first revision.
    Old,
    /// It registers nobody.
    Closed,
    /// It lets everybody in.
    Open,
}

/// Knowledge of the servers, and what was asked of them.
#[derive(Default)]
struct Known {
    challenge: String,
    redirect: String,
    /// The number of tokens given out; the last one is good.
    tokens: u32,
    /// True if the good token is not to be accepted.
    is_revoked: bool,
    asked: Vec<String>,
}

struct Asked {
    method: String,
    path: String,
    query: String,
    authorization: String,
    body: String,
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let (mut length, mut authorization, mut line) = (0, String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        let (name, value) = line.split_once(':')?;
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => authorization = value.trim().to_string(),
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_string(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Asked { method, path: path.into(), query: query.into(), authorization, body })
}

fn fields(form: &str) -> HashMap<String, String> {
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'%' => {
                    let hex = [rest.next().expect("a digit"), rest.next().expect("a digit")];
                    let hex = std::str::from_utf8(&hex).expect("hex");
                    bytes.push(u8::from_str_radix(hex, 16).expect("hex"));
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).expect("text")
    };
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// An MCP server and its authorization server at one origin, until the test ends.
fn servers(temper: Temper) -> (String, Arc<Mutex<Known>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    let known: Arc<Mutex<Known>> = Arc::default();
    let (url, shared) = (format!("{origin}/mcp"), Arc::clone(&known));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Some(asked) = read(&stream) else { continue };
            let mut known = shared.lock().expect("not poisoned");
            known.asked.push(format!("{} {}", asked.method, asked.path));
            let (status, head, body) = answer(&asked, &mut known, temper, &origin);
            let text = if body.is_null() { String::new() } else { body.to_string() };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{head}Content-Length: {}\r\n\r\n{text}",
                text.len()
            );
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    (url, known)
}

fn answer(asked: &Asked, known: &mut Known, temper: Temper, origin: &str) -> (&'static str, String, Value) {
    let ok = |body: Value| ("200 OK", String::new(), body);
    let refused = |error: &str| ("400 Bad Request", String::new(), json!({"error": error}));
    let missing = || ("404 Not Found", String::new(), Value::Null);
    match asked.path.as_str() {
        "/mcp" if temper == Temper::Open => ok(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        _ if temper == Temper::Open => missing(),
        "/mcp" => mcp(asked, known, temper, origin),
        "/.well-known/oauth-protected-resource/mcp" if temper != Temper::Old => {
            let resource = if temper == Temper::Misleading { "https://bank.example" } else { origin };
            ok(json!({"resource": resource, "authorization_servers": [origin], "scopes_supported": ["read"]}))
        }
        "/.well-known/oauth-authorization-server" if temper != Temper::Old => {
            let methods = if temper == Temper::WithoutPkce { json!([]) } else { json!(["S256"]) };
            let mut metadata = json!({
                "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"), "code_challenge_methods_supported": methods,
            });
            if temper != Temper::Closed {
                metadata["registration_endpoint"] = json!(format!("{origin}/register"));
            }
            ok(metadata)
        }
        "/register" => {
            let wanted: Value = serde_json::from_str(&asked.body).expect("JSON");
            known.redirect = wanted["redirect_uris"][0].as_str().expect("a redirect").to_string();
            ("201 Created", String::new(), json!({"client_id": "client-1"}))
        }
        "/authorize" => {
            let given = fields(&asked.query);
            assert_eq!(
                (given["response_type"].as_str(), given["code_challenge_method"].as_str()),
                ("code", "S256")
            );
            assert_eq!((given["client_id"].as_str(), &given["redirect_uri"]), ("client-1", &known.redirect));
            assert!(known.redirect.starts_with("http://127.0.0.1:"), "{}", known.redirect);
            known.challenge.clone_from(&given["code_challenge"]);
            let outcome = if temper == Temper::Refusing { "error=access_denied" } else { "code=c%2D1" };
            let place = format!("{}?{outcome}&state={}", known.redirect, given["state"]);
            ("302 Found", format!("Location: {place}\r\n"), Value::Null)
        }
        "/token" => {
            let given = fields(&asked.body);
            let is_good = match given["grant_type"].as_str() {
                "authorization_code" => {
                    let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(given["code_verifier"].as_bytes()));
                    given["code"] == "c-1"
                        && hash == known.challenge
                        && given["redirect_uri"] == known.redirect
                        && given["resource"].starts_with(origin)
                }
                // Each renews once.
                "refresh_token" => given["refresh_token"] == format!("rt-{}", known.tokens),
                _ => false,
            };
            if !is_good {
                return refused("invalid_grant");
            }
            known.tokens += 1;
            known.is_revoked = false;
            let number = known.tokens;
            ok(json!({"access_token": format!("at-{number}"), "refresh_token": format!("rt-{number}"),
                "token_type": "Bearer", "expires_in": 3600}))
        }
        _ => missing(),
    }
}

fn mcp(asked: &Asked, known: &Known, temper: Temper, origin: &str) -> (&'static str, String, Value) {
    if known.is_revoked || known.tokens == 0 || asked.authorization != format!("Bearer at-{}", known.tokens) {
        let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let challenge = match temper {
            Temper::Old => "Bearer".to_string(),
            _ => format!("Bearer realm=\"mcp\", resource_metadata=\"{metadata}\""),
        };
        return ("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), Value::Null);
    }
    let request: Value = serde_json::from_str(&asked.body).expect("JSON");
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ => return ("202 Accepted", String::new(), Value::Null),
    };
    ("200 OK", String::new(), json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

/// The page of a browser at an address, and the address that it is sent on to.
fn visit(address: &str) -> (String, Option<String>) {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, target) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("somebody listens");
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut shown = String::new();
    stream.read_to_string(&mut shown).expect("an answer");
    let sent_on = shown.lines().find_map(|line| line.strip_prefix("Location: ")).map(str::to_string);
    (shown, sent_on)
}

fn config(url: &str, folder: &Path) -> ServerConfig {
    let tokens = Some(TokenStore::at(folder.join("home/mcp-oauth-tokens.json")));
    ServerConfig {
        name: "s".into(),
        place: ServerPlace::Address(ServerAddress { url: url.into(), tokens, ..ServerAddress::default() }),
        timeout: LONG,
        include: None,
        exclude: Vec::new(),
        origin: ServerOrigin("test".into()),
    }
}

async fn signed_in(config: &ServerConfig) -> Result<(), SignInError> {
    let browse = |address: &str| {
        let address = address.to_string();
        std::thread::spawn(move || {
            let (_, sent_on) = visit(&address);
            let back = sent_on.expect("the browser is sent back");
            // Somebody else's answer changes nothing.
            let forged = back.split('?').next().expect("a path").to_string() + "?code=evil&state=guessed";
            assert!(visit(&forged).0.contains("404"));
            assert!(visit(&back).0.contains("igned in"));
        });
    };
    tokio::time::timeout(LONG, sign_in(config, browse)).await.expect("in time")
}

async fn start(config: ServerConfig) -> McpServers {
    let servers = McpServers::start(vec![config]).expect("a thread");
    servers.settle(LONG).await;
    servers
}

async fn call(servers: &McpServers) -> ToolOutcome {
    let (id, cancel) = (CallId::from("c"), CancellationToken::new());
    let tools = servers.tools();
    let call = ToolInvocation {
        id: &id,
        args: &json!({}),
        progress: &|_| {},
        cancel: &cancel,
        permitted: PermittedEffects::Any,
    };
    tools[0].run(call).await.outcome
}

#[tokio::test]
async fn who_signed_in_is_let_in_and_a_token_that_ran_out_is_renewed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, known) = servers(Temper::Ordinary);
    let config = config(&url, folder.path());
    let stranger = start(config.clone()).await;
    let told = format!("{:?}", stranger.reports()[0].status);
    assert!(told.contains("longhaul mcp auth s"), "{told}");
    drop(stranger);

    assert_eq!(signed_in(&config).await, Ok(()));
    let file = folder.path().join("home/mcp-oauth-tokens.json");
    assert_eq!(std::fs::metadata(&file).expect("kept").permissions().mode() & 0o777, 0o600);
    let connected = start(config.clone()).await;
    assert_eq!(connected.reports()[0].status, ServerStatus::Ready);
    assert_eq!(call(&connected).await, ToolOutcome::Succeeded("hello".into()));

    // The server takes the token back; the next call renews it.
    known.lock().expect("fine").is_revoked = true;
    assert_eq!(call(&connected).await, ToolOutcome::Succeeded("hello".into()));
    let kept = std::fs::read_to_string(&file).expect("kept");
    assert!(kept.contains("at-2") && kept.contains("rt-2") && !kept.contains("at-1"), "{kept}");

    // One that has run out is renewed before it is sent.
    let mut entries: Value = serde_json::from_str(&kept).expect("JSON");
    entries[0]["token"]["expiresAt"] = json!(1);
    std::fs::write(&file, entries.to_string()).expect("written");
    assert_eq!(call(&connected).await, ToolOutcome::Succeeded("hello".into()));
    assert!(std::fs::read_to_string(&file).expect("kept").contains("at-3"));

    // A renewal that is refused says what to do.
    entries[0]["token"] = json!({"accessToken": "at-3", "refreshToken": "stolen"});
    std::fs::write(&file, entries.to_string()).expect("written");
    known.lock().expect("fine").is_revoked = true;
    let refused = call(&connected).await;
    assert!(
        matches!(&refused, ToolOutcome::Failed(told) if told.contains("longhaul mcp auth s")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_token_is_sent_to_no_other_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, _) = servers(Temper::Ordinary);
    assert_eq!(signed_in(&config(&url, folder.path())).await, Ok(()));
    let (other, known) = servers(Temper::Ordinary);
    known.lock().expect("fine").tokens = 1;
    let servers = start(config(&other, folder.path())).await;
    assert!(format!("{:?}", servers.reports()[0].status).contains("wants a sign-in"));
}

#[track_caller]
fn check_refused(temper: Temper, reason: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let (url, _) = servers(temper);
    let told = runtime.block_on(signed_in(&config(&url, folder.path()))).unwrap_err().to_string();
    assert!(told.contains(reason), "{temper:?}: {told}");
    assert!(!folder.path().join("home/mcp-oauth-tokens.json").exists(), "{temper:?}");
}

#[test]
fn a_sign_in_that_is_refused_or_unsafe_keeps_nothing() {
    check_refused(Temper::Refusing, "access_denied");
    check_refused(Temper::WithoutPkce, "PKCE");
    check_refused(Temper::Misleading, "another server, https://bank.example");
    check_refused(Temper::Closed, "oauth.clientId");
    check_refused(Temper::Open, "answers without a sign-in");
}

#[tokio::test]
async fn servers_without_metadata_have_the_paths_of_the_first_revision() {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, known) = servers(Temper::Old);
    assert_eq!(signed_in(&config(&url, folder.path())).await, Ok(()));
    assert!(known.lock().expect("fine").asked.iter().any(|asked| asked == "POST /register"));
}

#[tokio::test]
async fn settings_decide_before_anything_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |change: &dyn Fn(&mut ServerAddress)| {
        let mut config = config("http://127.0.0.1:1/mcp", folder.path());
        if let ServerPlace::Address(address) = &mut config.place {
            change(address);
        }
        config
    };
    let disabled =
        with(&|address| *address.oauth = OAuthConfig { is_disabled: true, ..OAuthConfig::default() });
    assert_eq!(sign_in(&disabled, |_| {}).await, Err(SignInError::Disabled));
    let open = with(&|address| address.url = "http://example.org/mcp".into());
    assert!(sign_in(&open, |_| {}).await.unwrap_err().to_string().contains("https://"));
    let homeless = with(&|address| address.tokens = None);
    assert!(sign_in(&homeless, |_| {}).await.unwrap_err().to_string().contains("home folder"));
}
