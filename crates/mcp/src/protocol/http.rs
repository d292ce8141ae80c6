//! Streamable HTTP on loopback: a message a request, for who has the token. Nothing outlives its request.

use std::convert::Infallible;
use std::fmt;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RoleServer, serve_directly};
use rmcp::transport::OneshotTransport;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::handler::Server;
use super::message::{INVALID_REQUEST, LONGEST_MESSAGE, parse, refusal};
use super::{ServerOptions, current_folder};

/// The path at which clients are answered.
const PATH: &str = "/mcp";

/// So many connections are served at the same time.
const MOST_CONNECTIONS: usize = 64;

/// The secret that clients send as `Authorization: Bearer …`. It cannot print itself.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// A token; none if the text is too short to be a secret or cannot stand in a header.
    pub fn new(text: &str) -> Option<Self> {
        let is_usable = text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_usable.then(|| Self(text.to_string()))
    }

    /// Compares without telling by its time how much is right.
    fn is(&self, given: &str) -> bool {
        let differs = |(own, given): (u8, u8)| own ^ given;
        self.0.len() == given.len()
            && self.0.bytes().zip(given.bytes()).map(differs).fold(0, |all, one| all | one) == 0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(..)")
    }
}

/// Serves clients that connect to this listener, which must be on loopback, until the future is dropped.
///
/// # Errors
/// If the current folder does not exist, or connections cannot be accepted.
pub async fn serve_http(
    options: ServerOptions,
    listener: TcpListener,
    token: AccessToken,
) -> anyhow::Result<()> {
    let server = Server::new(options, current_folder()?);
    let slots = std::sync::Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let slot = std::sync::Arc::clone(&slots).acquire_owned().await?;
        let (stream, _) = listener.accept().await.context("could not accept a connection")?;
        while connections.try_join_next().is_some() {}
        let (server, token) = (server.clone(), token.clone());
        connections.spawn(async move {
            let _slot = slot;
            let answer = service_fn(|request| answer(request, server.clone(), &token));
            // A client that breaks off has its own reasons.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(
    request: Request<Incoming>,
    server: Server,
    token: &AccessToken,
) -> Result<Answer, Infallible> {
    if let Some(refused) = check(&request, token) {
        return Ok(refused);
    }
    let body = match Limited::new(request.into_body(), LONGEST_MESSAGE).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            let refused =
                refusal(&Value::Null, INVALID_REQUEST, "the message is longer than 4 MB, or broke off");
            return Ok(json_answer(StatusCode::PAYLOAD_TOO_LARGE, &refused));
        }
    };
    Ok(match parse(&body) {
        Err(refused) => json_answer(StatusCode::BAD_REQUEST, &refused),
        Ok(message @ ClientJsonRpcMessage::Request(_)) => {
            let (transport, mut answers) = OneshotTransport::<RoleServer>::new(message);
            let service = serve_directly(server, transport, None);
            let answered = answers.recv().await;
            drop(service);
            match answered {
                Some(answered) => json_answer(StatusCode::OK, &answered),
                None => plain(StatusCode::INTERNAL_SERVER_ERROR, "no answer"),
            }
        }
        // Notifications have nothing to notify: every request stands alone.
        Ok(_) => plain(StatusCode::ACCEPTED, ""),
    })
}

/// The answer to a request that is not served: a page in a browser must not reach this server, nor anybody without the token.
fn check(request: &Request<Incoming>, token: &AccessToken) -> Option<Answer> {
    let headers = request.headers();
    if !text(headers, &HOST).is_some_and(is_loopback) {
        return Some(plain(StatusCode::FORBIDDEN, "only for 127.0.0.1"));
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let host = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
        if !host.is_some_and(is_loopback) {
            return Some(plain(StatusCode::FORBIDDEN, "not for pages of other origins"));
        }
    }
    let given = text(headers, &AUTHORIZATION).and_then(|given| given.strip_prefix("Bearer "));
    if !given.is_some_and(|given| token.is(given.trim())) {
        let mut refused = plain(StatusCode::UNAUTHORIZED, "send the token as Authorization: Bearer TOKEN");
        refused.headers_mut().insert("www-authenticate", hyper::header::HeaderValue::from_static("Bearer"));
        return Some(refused);
    }
    if request.uri().path() != PATH {
        return Some(plain(StatusCode::NOT_FOUND, "clients are answered at /mcp"));
    }
    if request.method() != Method::POST {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "send messages with POST");
        refused.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("POST"));
        return Some(refused);
    }
    None
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns true for a host and port of this machine: another name may be anybody's that points here.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

fn json_answer(status: StatusCode, value: &impl serde::Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => with_type(status, "application/json", body),
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the answer cannot be written"),
    }
}

fn plain(status: StatusCode, text: &str) -> Answer {
    with_type(status, "text/plain; charset=utf-8", text.as_bytes().to_vec())
}

fn with_type(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for host in ["127.0.0.1", "127.0.0.1:8080", "localhost:1", "[::1]:99"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "example.org",
            "127.0.0.1.example.org",
            "localhost.example.org:80",
            "",
            "evil:127.0.0.1",
            "0.0.0.0:80",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_token_is_long_and_keeps_to_itself() {
        let token = AccessToken::new("0123456789abcdef").expect("long enough");
        assert!(
            token.is("0123456789abcdef")
                && !token.is("0123456789abcdeg")
                && !token.is("")
                && !token.is("0123456789abcdef0")
        );
        assert!(AccessToken::new("short").is_none() && AccessToken::new("with a space in it").is_none());
        assert_eq!(format!("{token:?}"), "AccessToken(..)");
    }
}
