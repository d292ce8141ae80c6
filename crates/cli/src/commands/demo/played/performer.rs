//! A model that follows a script at the pace of a real one.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use longhaul_conversation::{
    Estimator, FinishReason, Model, ModelError, ModelStream, Part, Request, ResponseEvent, ToolCall, Usage,
};
use longhaul_snapshot::find_snapshot;
use longhaul_terminal::Pace;
use serde_json::Value;
use tokio::time::Sleep;

/// The time a model takes before it says anything.
const BEFORE_ANSWERING: Duration = Duration::from_millis(700);
/// The time it takes for a word.
const WORD: Duration = Duration::from_millis(24);

/// One thing that a model does in its answer.
#[derive(Clone, Debug)]
pub(super) enum Beat {
    /// Thinks.
    Think(&'static str),
    /// Says something.
    Say(&'static str),
    /// Quotes the user's rules that it finds in the request.
    Recite,
    /// Calls a tool.
    Call(&'static str, Value),
}

/// A model that gives these answers, in order.
#[derive(Debug)]
pub(super) struct Performer {
    answers: Mutex<VecDeque<Vec<Beat>>>,
    calls: AtomicU32,
    pace: Pace,
}

impl Performer {
    pub(super) fn new(answers: impl IntoIterator<Item = Vec<Beat>>, pace: Pace) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), calls: AtomicU32::new(1), pace }
    }

    fn events(&self, beats: &[Beat], request: &Request) -> Events {
        let mut events = Events::new();
        let mut push = |delay, event| events.push_back((delay, Ok(event)));
        let mut said = String::new();
        let mut has_calls = false;
        for (place, beat) in beats.iter().enumerate() {
            let text = match beat {
                Beat::Think(text) | Beat::Say(text) => (*text).to_string(),
                Beat::Recite => recital(request),
                Beat::Call(name, args) => {
                    has_calls = true;
                    let id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
                    let call = ToolCall { args: args.clone(), ..ToolCall::new(id.as_str(), *name) };
                    push(WORD, ResponseEvent::Part(Part::call(call)));
                    continue;
                }
            };
            for (nth, word) in text.split_inclusive([' ', '\n']).enumerate() {
                let delay = if place + nth == 0 { BEFORE_ANSWERING } else { WORD };
                push(
                    delay,
                    match beat {
                        Beat::Think(_) => ResponseEvent::ThoughtDelta(word.to_string()),
                        _ => ResponseEvent::TextDelta(word.to_string()),
                    },
                );
            }
            said.push_str(&text);
        }
        let usage = usage(request, &said);
        request.meter.sent();
        request.meter.reported(usage);
        push(Duration::ZERO, ResponseEvent::Usage(usage));
        let finish = if has_calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        push(Duration::ZERO, ResponseEvent::Finished(finish));
        events
    }
}

impl Model for Performer {
    fn stream(&self, request: Request) -> ModelStream<'_> {
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let events = match next {
            Some(beats) => self.events(&beats, &request),
            None => VecDeque::from([(
                Duration::ZERO,
                Err(ModelError::Refused { reason: "the script has no further answer".into() }),
            )]),
        };
        Box::pin(Paced { events, pace: self.pace.clone(), pause: None })
    }
}

/// Events of an answer, each after its time.
type Events = VecDeque<(Duration, Result<ResponseEvent, ModelError>)>;

/// The usage that a provider would count.
fn usage(request: &Request, said: &str) -> Usage {
    let estimator = Estimator::default();
    let tools = request.tools.iter().map(|tool| estimator.tool(tool).tokens());
    let beside = tools.fold(estimator.parts(&request.system), |sum, tokens| sum + tokens);
    Usage {
        input: Some(estimator.messages(&request.messages) + beside),
        output: Some(estimator.text(said).tokens()),
        ..Usage::default()
    }
}

/// The user's rules, as they stand in the snapshot that begins the request.
fn recital(request: &Request) -> String {
    let texts = request.messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
    let snapshot = texts.into_iter().find(|text| find_snapshot(text).is_some()).unwrap_or_default();
    let rules = snapshot.split_once("<active_constraints>").map_or("", |(_, rest)| rest);
    let rules = rules.split_once("</active_constraints>").map_or("", |(rules, _)| rules).trim();
    if rules.is_empty() {
        return "I see none of your rules in the context.".to_string();
    }
    let quoted: String = rules.lines().map(|rule| format!("> {rule}\n>\n")).collect();
    format!("The snapshot has these word for word, each with its message number:\n\n{quoted}")
}

/// Events that take their time.
struct Paced {
    events: Events,
    pace: Pace,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Stream for Paced {
    type Item = Result<ResponseEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some((delay, _)) = self.events.front() else { return Poll::Ready(None) };
        let delay = self.pace.of(*delay);
        if !delay.is_zero() || self.pause.is_some() {
            let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(delay)));
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(self.events.pop_front().map(|(_, event)| event))
    }
}
