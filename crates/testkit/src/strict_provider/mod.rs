//! A provider that takes only what Anthropic's API takes, and plays a model that works in steps.
//!
//! It shares no code with the crates that read and write such requests: it checks pairs of calls and results, order, roles,
//! reasoning with its signatures, cache markers, citations and the window, and refuses as the API does.

mod check;

use std::convert::Infallible;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use check::{check_request, count_tokens, sign};

/// A strict provider on loopback. Dropping it ends it.
#[derive(Debug)]
pub struct StrictProvider {
    url: String,
    log: Arc<Mutex<Vec<StrictCall>>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct StrictCall {
    /// The path and query.
    pub target: String,
    /// The headers, in their order, with their case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The reason of the refusal, if it was refused.
    pub refusal: Option<String>,
}

/// Settings of a strict provider.
#[derive(Clone, Copy, Debug)]
pub struct StrictSettings {
    /// The window in tokens, at four bytes each.
    pub window: usize,
    /// The number of tool calls that its model makes before it answers.
    pub steps: usize,
    /// A text that makes it refuse a request as if a thought had been changed.
    pub refused_text: Option<&'static str>,
}

impl StrictProvider {
    /// Starts it.
    pub fn start(settings: StrictSettings) -> Self {
        let log: Arc<Mutex<Vec<StrictCall>>> = Arc::default();
        let (end, ended) = oneshot::channel();
        let (tell, told) = channel();
        let own = Arc::clone(&log);
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the test waits");
                let serving = async {
                    loop {
                        let Ok((stream, _)) = listener.accept().await else { continue };
                        let log = Arc::clone(&own);
                        let service = service_fn(move |request| answer(request, settings, Arc::clone(&log)));
                        tokio::spawn(async move {
                            let _ = hyper::server::conn::http1::Builder::new()
                                .serve_connection(TokioIo::new(stream), service)
                                .await;
                        });
                    }
                };
                tokio::select! {
                    () = serving => {}
                    _ = ended => {}
                }
            });
        });
        let address = told.recv().expect("it listens");
        Self { url: format!("http://{address}"), log, end: Some(end), thread: Some(thread) }
    }

    /// Its base address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bytes that arrived so far.
    pub fn calls(&self) -> Vec<StrictCall> {
        self.log.lock().expect("no test panics while it holds the log").clone()
    }
}

impl Drop for StrictProvider {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    settings: StrictSettings,
    log: Arc<Mutex<Vec<StrictCall>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    let target = head.uri.to_string();
    let checked = match serde_json::from_slice::<Value>(&body) {
        Ok(value) if target.contains("/messages") => {
            let text = String::from_utf8_lossy(&body);
            match settings.refused_text.filter(|refused| text.contains(refused)) {
                Some(_) => Err("messages.1.content.0: `thinking` blocks cannot be modified".to_string()),
                None => check_request(&value, settings.window).map(|()| value),
            }
        }
        Ok(value) => Ok(value),
        Err(error) => Err(format!("the body is not JSON: {error}")),
    };
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("?").to_string()));
    let call = StrictCall {
        target: target.clone(),
        headers: headers.collect(),
        body,
        refusal: checked.as_ref().err().cloned(),
    };
    log.lock().expect("no test panics while it holds the log").push(call);
    Ok(match checked {
        Err(reason) => {
            let error =
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": reason}});
            response(400, "application/json", error.to_string())
        }
        Ok(value) if target.contains("/count_tokens") => {
            response(200, "application/json", json!({"input_tokens": count_tokens(&value)}).to_string())
        }
        Ok(value) if target.contains("/messages") => play(&value, settings),
        Ok(_) => response(200, "application/json", "{\"ok\":true}".into()),
    })
}

fn response(status: u16, kind: &str, body: String) -> Response<Full<Bytes>> {
    let builder =
        Response::builder().status(status).header("content-type", kind).header("request-id", "req_strict");
    builder.body(Full::new(Bytes::from(body))).expect("a response")
}

/// The next step of the model: its number is one more than the highest that the request still shows.
fn play(request: &Value, settings: StrictSettings) -> Response<Full<Bytes>> {
    let shown = request["messages"].as_array().into_iter().flatten();
    let blocks = shown.flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let steps = blocks.filter_map(|block| block["input"]["step"].as_u64());
    let next = steps.max().map_or(0, |step| step + 1);
    let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let mut content = Vec::new();
    if request["thinking"]["type"].as_str().is_some_and(|kind| kind != "disabled") {
        let thought = format!("I think about step {next}.");
        content.push(json!({"type": "thinking", "thinking": thought, "signature": sign(&thought)}));
    }
    let is_call = has_tools && next < settings.steps as u64;
    content.push(match is_call {
        true => json!({"type": "tool_use", "id": format!("toolu_{next:04}"), "name": "Bash", "input": {"step": next, "ratio": 1.0}}),
        false => json!({"type": "text", "text": "All steps are done."}),
    });
    let usage = json!({"input_tokens": count_tokens(request), "output_tokens": 20});
    let stop = if is_call { "tool_use" } else { "end_turn" };
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"],
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage});
    if request["stream"] != true {
        return response(200, "application/json", whole.to_string());
    }
    let mut start = whole;
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in content.iter().enumerate() {
        let (empty, delta) = match block["type"].as_str() {
            Some("thinking") => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
            ),
            Some("tool_use") => {
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
            }
            _ => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]})),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        if block["type"] == "thinking" {
            let delta = json!({"type": "signature_delta", "signature": block["signature"]});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let text = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()));
    response(200, "text/event-stream; charset=utf-8", text.collect())
}
