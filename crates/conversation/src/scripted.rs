//! A scripted model, for tests and demos without a key.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::{FinishReason, Model, ModelError, ModelStream, Part, Request, ResponseEvent, SpendMeter};

/// A prepared reply.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    events: Vec<Result<ResponseEvent, ModelError>>,
}

/// Answers each request with the next prepared reply and records the requests.
#[derive(Debug, Default)]
pub struct ScriptedModel {
    state: Mutex<ScriptState>,
}

#[derive(Debug, Default)]
struct ScriptState {
    replies: VecDeque<ScriptedReply>,
    requests: Vec<Request>,
}

impl ScriptedReply {
    /// Replies with `text` and stops.
    pub fn text(text: impl Into<String>) -> Self {
        Self::events([ResponseEvent::TextDelta(text.into()), ResponseEvent::Finished(FinishReason::Stop)])
    }

    /// Replies with `parts`, such as tool calls.
    pub fn parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::events(
            parts
                .into_iter()
                .map(ResponseEvent::Part)
                .chain([ResponseEvent::Finished(FinishReason::ToolCalls)]),
        )
    }

    /// Replies with exactly these events.
    pub fn events(events: impl IntoIterator<Item = ResponseEvent>) -> Self {
        Self { events: events.into_iter().map(Ok).collect() }
    }

    /// Fails at once.
    pub fn error(error: ModelError) -> Self {
        Self { events: vec![Err(error)] }
    }

    /// Fails with `error` after the last event.
    #[must_use]
    pub fn then_error(mut self, error: ModelError) -> Self {
        self.events.push(Err(error));
        self
    }
}

impl ScriptedModel {
    /// A model with these replies in order. After the last one, every call is refused.
    pub fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self {
            state: Mutex::new(ScriptState { replies: replies.into_iter().collect(), requests: Vec::new() }),
        }
    }

    /// The requests made so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = request.meter.clone();
        meter.sent();
        state.requests.push(request);
        let reply = state.replies.pop_front().unwrap_or_else(|| {
            ScriptedReply::error(ModelError::Refused { reason: "the script has no more replies".into() })
        });
        Box::pin(ScriptedStream { left: reply.events.into(), meter })
    }
}

struct ScriptedStream {
    left: VecDeque<Result<ResponseEvent, ModelError>>,
    meter: SpendMeter,
}

impl Stream for ScriptedStream {
    type Item = Result<ResponseEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = self.left.pop_front();
        match &event {
            Some(Ok(ResponseEvent::TextDelta(text) | ResponseEvent::ThoughtDelta(text))) => {
                self.meter.received(text.len() as u64);
            }
            Some(Ok(ResponseEvent::Usage(usage))) => self.meter.reported(*usage),
            Some(Err(ModelError::Interrupted { .. } | ModelError::OverLimit { .. })) => {}
            Some(Err(_)) => self.meter.refused(),
            _ => {}
        }
        Poll::Ready(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn collect(mut stream: ModelStream<'_>) -> Vec<Result<ResponseEvent, ModelError>> {
        let mut context = Context::from_waker(Waker::noop());
        let mut events = Vec::new();
        while let Poll::Ready(Some(event)) = stream.as_mut().poll_next(&mut context) {
            events.push(event);
        }
        events
    }

    #[test]
    fn replies_come_in_order_and_then_run_out() {
        let model = ScriptedModel::new([
            ScriptedReply::text("one"),
            ScriptedReply::text("tw").then_error(ModelError::Interrupted { reason: "cut".into() }),
        ]);
        let ask = |name: &str| Request { model: name.into(), ..Request::default() };
        assert_eq!(
            collect(model.stream(ask("a"))),
            [Ok(ResponseEvent::TextDelta("one".into())), Ok(ResponseEvent::Finished(FinishReason::Stop))]
        );
        assert_eq!(
            collect(model.stream(ask("b"))).last(),
            Some(&Err(ModelError::Interrupted { reason: "cut".into() }))
        );
        assert!(matches!(collect(model.stream(ask("c")))[..], [Err(ModelError::Refused { .. })]));
        assert_eq!(model.requests().iter().map(|r| r.model.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
