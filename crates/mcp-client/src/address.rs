//! Streamable HTTP: each message is a request, and its answers come back as one message or as a stream of events.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri};
use longhaul_providers::{HttpClient, Network};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::config::ServerAddress;
use crate::lines::{LONGEST_LINE, failure, parse};
use crate::oauth::{TokenKeeper, checked};

/// The header that names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The header that names the revision that was agreed on.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// So much of a refusal is shown.
const SHOWN: usize = 300;

/// A server at an address.
pub(crate) struct ServerRequests {
    shared: Arc<Shared>,
    incoming: mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
    /// The requests under way; dropping them breaks them off.
    running: JoinSet<()>,
}

struct Shared {
    name: String,
    /// Has the token of who signed in.
    keeper: Option<TokenKeeper>,
    client: HttpClient,
    address: Uri,
    headers: HeaderMap,
    /// What the server said that later requests are to carry.
    learned: Mutex<HeaderMap>,
    /// Held while a notification is sent: what follows it must not overtake it.
    order: tokio::sync::Mutex<()>,
    answers: mpsc::UnboundedSender<ServerJsonRpcMessage>,
}

impl ServerRequests {
    pub(crate) fn new(name: &str, address: &ServerAddress) -> Result<Self, String> {
        let uri: Uri = address.url.parse().map_err(|_| "its address is not a URL".to_string())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err("its address must begin with https:// or http://".into());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &address.headers {
            let parsed =
                HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::try_from(value.as_str()).ok());
            let (name, mut value) = parsed.ok_or_else(|| format!("its header {name:?} cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let network = Network { proxies: address.proxies.clone(), ..Network::default() };
        let (answers, incoming) = mpsc::unbounded_channel();
        // A header of the user's own wins, and a token never travels in the open.
        let may_sign_in = !address.oauth.is_disabled && !headers.contains_key(AUTHORIZATION);
        let keeper = address.tokens.clone().filter(|_| may_sign_in && checked(&address.url).is_ok());
        let keeper = keeper.map(|store| TokenKeeper {
            name: name.to_string(),
            url: address.url.clone(),
            config: (*address.oauth).clone(),
            store,
            renewing: tokio::sync::Mutex::default(),
        });
        let shared = Shared {
            name: name.to_string(),
            keeper,
            client: HttpClient::new(network),
            address: uri,
            headers,
            learned: Mutex::default(),
            order: tokio::sync::Mutex::default(),
            answers,
        };
        Ok(Self { shared: Arc::new(shared), incoming, running: JoinSet::new() })
    }
}

impl Shared {
    async fn post(&self, message: ClientJsonRpcMessage) {
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => serde_json::to_value(&request.id).ok(),
            _ => None,
        };
        let order = self.order.lock().await;
        let order = id.is_none().then_some(order);
        if let Err(reason) = self.try_post(&message, id.as_ref()).await
            && let Some(failed) = id.and_then(|id| failure(&id, &reason))
        {
            let _ = self.answers.send(failed);
        }
        drop(order);
    }

    async fn try_post(&self, message: &ClientJsonRpcMessage, id: Option<&Value>) -> Result<(), String> {
        let body = Bytes::from(serde_json::to_vec(message).map_err(|error| error.to_string())?);
        let token = match &self.keeper {
            Some(keeper) => keeper.token(&self.client).await.map_err(|reason| self.wants_sign_in(&reason))?,
            None => None,
        };
        let mut response = self.send(body.clone(), token.as_deref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let (Some(keeper), Some(refused)) = (&self.keeper, &token)
        {
            let renewed = keeper.renewed(&self.client, refused).await;
            let token = renewed.map_err(|reason| self.wants_sign_in(&reason))?;
            response = self.send(body, Some(&token)).await?;
        }
        if let Some(session) = response.headers().get(SESSION) {
            self.learned.lock().unwrap_or_else(PoisonError::into_inner).insert(SESSION, session.clone());
        }
        self.take_response(response, id).await
    }

    /// Sends a message once.
    async fn send(&self, body: Bytes, token: Option<&str>) -> Result<Response<Incoming>, String> {
        let mut request = Request::post(self.address.clone());
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
            headers.extend(self.learned.lock().unwrap_or_else(PoisonError::into_inner).clone());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            if let Some(token) = token {
                let value = HeaderValue::try_from(format!("Bearer {token}"));
                let mut value = value.map_err(|_| "its token cannot be sent".to_string())?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
        }
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        self.client.send(request).await
    }

    fn wants_sign_in(&self, reason: &str) -> String {
        format!("it wants a sign-in ({reason}): run `longhaul mcp auth {}`", self.name)
    }

    async fn take_response(&self, response: Response<Incoming>, id: Option<&Value>) -> Result<(), String> {
        let status = response.status();
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_string();
        if status == StatusCode::UNAUTHORIZED {
            return Err(match &self.keeper {
                Some(_) => self.wants_sign_in("401"),
                None => "it refuses the credentials in its headers (401)".into(),
            });
        }
        if !status.is_success() && !kind.starts_with("application/json") {
            let text = match kind.starts_with("text/html") {
                true => Vec::new(),
                false => collect(response).await.unwrap_or_default(),
            };
            let text: String = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
            let said = if text.trim().is_empty() { String::new() } else { format!(": {}", text.trim()) };
            // Servers of the first revision take messages at another address only.
            let is_old = matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
            let hint = if is_old { "; streamable HTTP is needed, not the older SSE alone" } else { "" };
            return Err(format!("it answered {status}{said}{hint}"));
        }
        // A notification needs no answer.
        if id.is_none() {
            return Ok(());
        }
        if kind.starts_with("text/event-stream") {
            return self.follow(response).await;
        }
        let body = collect(response).await?;
        self.take(&body).then_some(()).ok_or_else(|| format!("it answered {status} without a message"))
    }

    /// Passes on what the events of a stream hold, until it ends.
    async fn follow(&self, response: Response<Incoming>) -> Result<(), String> {
        let mut body = response.into_body();
        let mut events = EventReader::default();
        let mut has_answered = false;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("its answer broke off: {error}"))?;
            let Ok(data) = frame.into_data() else { continue };
            for event in events.push(&data)? {
                has_answered |= self.take(event.as_bytes());
            }
        }
        has_answered.then_some(()).ok_or_else(|| "its answer ended without a message".into())
    }

    /// Passes a message on; tells whether it is one.
    fn take(&self, bytes: &[u8]) -> bool {
        let Some(message) = parse(bytes) else { return false };
        if let ServerJsonRpcMessage::Response(response) = &message
            && let rmcp::model::ServerResult::InitializeResult(opened) = &response.result
            && let Ok(version) = HeaderValue::from_str(opened.protocol_version.as_str())
        {
            self.learned.lock().unwrap_or_else(PoisonError::into_inner).insert(VERSION, version);
        }
        self.answers.send(message).is_ok()
    }
}

async fn collect(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("its answer broke off: {error}"))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > LONGEST_LINE {
            return Err(too_long());
        }
    }
    Ok(bytes)
}

fn too_long() -> String {
    format!("its answer is longer than {} MB, which is too much to take", LONGEST_LINE >> 20)
}

/// Reads the data of server-sent events from bytes in any chunking.
#[derive(Default)]
struct EventReader {
    line: Vec<u8>,
    data: String,
    has_data: bool,
}

impl EventReader {
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, String> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() + self.data.len() > LONGEST_LINE {
                return Err(too_long());
            }
            if !piece.ends_with(b"\n") {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(line.trim_ascii_end());
            if line.is_empty() {
                if std::mem::take(&mut self.has_data) {
                    events.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                self.has_data = true;
            }
        }
        Ok(events)
    }
}

impl Transport<RoleClient> for ServerRequests {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        while self.running.try_join_next().is_some() {}
        let shared = Arc::clone(&self.shared);
        // A long answer must not hold up what is sent after it, such as its cancellation.
        self.running.spawn(async move { shared.post(item).await });
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        self.running.abort_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_in_any_chunking() {
        let text =
            ": hello\nevent: message\ndata: {\"a\":\ndata: 1}\n\nid: 7\r\ndata: two\r\n\r\n\ndata: open";
        for size in [1, 2, 7, 1000] {
            let mut reader = EventReader::default();
            let events: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|chunk| reader.push(chunk).expect("short")).collect();
            assert_eq!(events, ["{\"a\":\n1}", "two"], "in pieces of {size}");
        }
        assert!(EventReader::default().push(&vec![b'x'; LONGEST_LINE + 1]).is_err());
    }

    #[test]
    fn addresses_and_headers_are_checked() {
        let server = |url: &str, header: &str| {
            let headers = vec![("Authorization".into(), header.into())];
            ServerRequests::new("s", &ServerAddress { url: url.into(), headers, ..ServerAddress::default() })
                .map(|_| ())
        };
        assert_eq!(server("https://example.org/mcp", "Bearer x"), Ok(()));
        assert!(server("file:///etc/passwd", "x").is_err() && server("not a url", "x").is_err());
        assert!(server("https://example.org", "a\nb").unwrap_err().contains("Authorization"));
    }
}
