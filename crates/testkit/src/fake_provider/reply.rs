//! One prepared answer: a status, headers, and a body in steps.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;

/// An answer to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
}

/// One step in sending a body.
#[derive(Clone, Debug)]
pub enum Step {
    /// These bytes are sent, as one chunk.
    Send(Bytes),
    /// Nothing happens until the signal is given.
    Wait(Signal),
    /// The signal is given: all steps before this one are done.
    Raise(Signal),
    /// These bytes are sent again and again, as fast as the client takes them, until it goes away.
    Repeat(Bytes),
    /// These bytes are sent whenever so much time has passed, until the client goes away.
    Every(Duration, Bytes),
    /// Nothing ever happens again.
    Stall,
    /// The connection is cut.
    Cut,
}

/// Something to wait for, given once or many times.
#[derive(Clone, Debug)]
pub struct Signal(Arc<Semaphore>);

impl Default for Signal {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Signal {
    /// Gives the signal: one who waits, now or later, goes on.
    pub fn raise(&self) {
        self.0.add_permits(1);
    }

    /// Waits for the signal.
    pub async fn wait(&self) {
        self.0.acquire().await.expect("it is never closed").forget();
    }
}

impl Reply {
    /// An answer with this status and content type, in one piece.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type".to_string(), content_type.to_string())];
        Self { status, headers, steps: vec![Step::Send(body.into())] }
    }

    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A web page, as a proxy may send it.
    pub fn html(status: u16, title: &str) -> Self {
        let page = format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>…</body></html>");
        Self::new(status, "text/html; charset=utf-8", page)
    }

    /// A stream of server-sent events, each of them one chunk.
    pub fn events<E: Into<String>>(events: impl IntoIterator<Item = E>) -> Self {
        let steps = events.into_iter().map(|event| Step::Send(event.into().into())).collect();
        let headers = vec![("content-type".to_string(), "text/event-stream".to_string())];
        Self { status: 200, headers, steps }
    }

    /// The same answer with a further header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_string(), value.into()));
        self
    }

    /// The same answer with this content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.with_header("content-type", content_type)
    }

    /// The same answer, behind which these bytes follow without end.
    #[must_use]
    pub fn then_repeat(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Repeat(bytes.into()))
    }

    /// The same answer with a further step at the end.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The same answer with further bytes at the end.
    #[must_use]
    pub fn then_send(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Send(bytes.into()))
    }

    /// The first `count` steps, then this one.
    #[must_use]
    pub fn only(mut self, count: usize, step: Step) -> Self {
        self.steps.truncate(count);
        self.then(step)
    }

    /// Takes out the steps from place `from` on.
    pub fn split_off(&mut self, from: usize) -> Vec<Step> {
        self.steps.split_off(from)
    }

    /// The same bytes in chunks of `size` bytes, wherever that cuts letters and lines.
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

    /// The same answer with a keep-alive before every chunk.
    #[must_use]
    pub fn with_keep_alives(mut self) -> Self {
        let ping = || Step::Send(Bytes::from_static(b": keep-alive\n\n"));
        self.steps = self.steps.into_iter().flat_map(|step| [ping(), step]).collect();
        self
    }
}
