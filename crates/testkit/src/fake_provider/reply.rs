//! A prepared reply: status, headers, and a body in steps.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;

/// A reply to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
}

/// A step in sending a body.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends bytes as one chunk.
    Send(Bytes),
    /// Waits for a signal.
    Wait(Signal),
    /// Raises a signal: all steps before this one are done.
    Raise(Signal),
    /// Sends bytes again and again, as fast as the client reads, until it disconnects.
    Repeat(Bytes),
    /// Sends bytes at this interval until the client disconnects.
    Every(Duration, Bytes),
    /// Stalls forever.
    Stall,
    /// Cuts the connection.
    Cut,
}

/// A signal, raised once or many times.
#[derive(Clone, Debug)]
pub struct Signal(Arc<Semaphore>);

impl Default for Signal {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Signal {
    /// Raises the signal: one waiter, now or later, continues.
    pub fn raise(&self) {
        self.0.add_permits(1);
    }

    /// Waits for the signal.
    pub async fn wait(&self) {
        self.0.acquire().await.expect("it is never closed").forget();
    }
}

impl Reply {
    /// A reply with this status and content type, in one piece.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type".to_string(), content_type.to_string())];
        Self { status, headers, steps: vec![Step::Send(body.into())] }
    }

    /// A JSON reply.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// An HTML page, as a proxy may send it.
    pub fn html(status: u16, title: &str) -> Self {
        let page = format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>…</body></html>");
        Self::new(status, "text/html; charset=utf-8", page)
    }

    /// A stream of server-sent events, one chunk each.
    pub fn events<E: Into<String>>(events: impl IntoIterator<Item = E>) -> Self {
        let steps = events.into_iter().map(|event| Step::Send(event.into().into())).collect();
        let headers = vec![("content-type".to_string(), "text/event-stream".to_string())];
        Self { status: 200, headers, steps }
    }

    /// Adds a header.
    #[must_use]
    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_string(), value.into()));
        self
    }

    /// Sets the content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.with_header("content-type", content_type)
    }

    /// Repeats these bytes without end after the body.
    #[must_use]
    pub fn then_repeat(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Repeat(bytes.into()))
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds bytes to send.
    #[must_use]
    pub fn then_send(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Send(bytes.into()))
    }

    /// Keeps the first `count` steps and adds this one.
    #[must_use]
    pub fn only(mut self, count: usize, step: Step) -> Self {
        self.steps.truncate(count);
        self.then(step)
    }

    /// Takes the steps from index `from` on.
    pub fn split_off(&mut self, from: usize) -> Vec<Step> {
        self.steps.split_off(from)
    }

    /// Splits the body into chunks of `size` bytes, even inside characters and lines.
    #[must_use]
    pub fn in_chunks_of(mut self, size: usize) -> Self {
        let mut steps = Vec::new();
        for step in self.steps {
            match step {
                Step::Send(bytes) => {
                    steps.extend(bytes.chunks(size).map(|piece| Step::Send(bytes.slice_ref(piece))));
                }
                other => steps.push(other),
            }
        }
        self.steps = steps;
        self
    }

    /// Adds a keep-alive before every chunk.
    #[must_use]
    pub fn with_keep_alives(mut self) -> Self {
        let ping = || Step::Send(Bytes::from_static(b": keep-alive\n\n"));
        self.steps = self.steps.into_iter().flat_map(|step| [ping(), step]).collect();
        self
    }
}
