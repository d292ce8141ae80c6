//! Requests of OAuth: small JSON documents, asked for with patience and taken within limits.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{HeaderMap, Request, StatusCode};
use longhaul_providers::HttpClient;
use serde_json::Value;
use tokio::time::timeout;

use super::endpoints::checked;

/// The longest wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The largest document.
const LARGEST: usize = 1 << 20;

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The document; null if it is none.
    pub(crate) body: Value,
}

/// A request's body.
pub(crate) enum Asked {
    Get,
    Form(String),
    Json(Value),
}

/// Asks an address that secrets may be sent to. Redirects are not followed.
pub(crate) async fn ask(client: &HttpClient, url: &str, asked: Asked) -> Result<Answer, String> {
    let uri = checked(url)?;
    let (request, body) = match asked {
        Asked::Get => (Request::get(uri), Vec::new()),
        Asked::Form(form) => {
            (Request::post(uri).header(CONTENT_TYPE, "application/x-www-form-urlencoded"), form.into_bytes())
        }
        Asked::Json(value) => {
            (Request::post(uri).header(CONTENT_TYPE, "application/json"), value.to_string().into_bytes())
        }
    };
    let request = request.header(ACCEPT, "application/json, text/event-stream");
    let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
    let answered = async {
        let response = client.send(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut incoming = response.into_body();
        let mut bytes = Vec::new();
        // A stream of events may stay open: nothing in it is wanted.
        let is_stream =
            headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        while !is_stream && let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data);
            }
            if bytes.len() > LARGEST {
                return Err("its answer is too long".to_string());
            }
        }
        Ok(Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or_default() })
    };
    let answer = timeout(LONGEST_WAIT, answered).await;
    let answer = answer.map_err(|_| format!("{url} did not answer within {} s", LONGEST_WAIT.as_secs()))?;
    answer.map_err(|reason| format!("could not ask {url}: {reason}"))
}

impl Answer {
    /// The document of an answer that is no refusal.
    pub(crate) fn document(self) -> Option<Value> {
        (self.status.is_success() && self.body.is_object()).then_some(self.body)
    }

    /// The words of a refusal.
    pub(crate) fn refusal(&self) -> String {
        let text = |key: &str| self.body[key].as_str().map(|text| text.chars().take(300).collect::<String>());
        text("error_description").or_else(|| text("error")).unwrap_or_else(|| self.status.to_string())
    }
}
