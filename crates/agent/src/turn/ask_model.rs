//! Asks the model once and records what it answers. Hooks see the request before it is sent and the answer before it is shown.

use std::future::poll_fn;

use longhaul_compaction::{CalibrationSettings, Loop, LoopDetector, Observation, Status, Trigger, prepare};
use longhaul_conversation::{
    FinishReason, Message, MessageId, Model, ModelError, Origin, Part, Request, ResponseBuilder,
    ResponseEvent, SpendMeter, TokenCount, ToolCall,
};
use longhaul_engine::{EngineError, observe_request};
use longhaul_hooks::{EventName, HookEvent};
use longhaul_workspace::{LockTimeout, WorkspaceError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::make_room::{Newest, compact, lacks_summary, make_room};
use super::routing::{answering_model, leave_route};
use super::session::{AgentSession, CountedRequest};
use super::state::TurnState;
use super::window::RequestWindow;
use crate::deps::AgentDeps;
use crate::error::AgentError;
use crate::event::{Event, Spending, TurnEnd, WITHOUT_FALLBACK};
use crate::hooks::{
    apply_request, choose_tools, decode_response, encode_request, encode_response, rewrite, text_of,
};
use crate::statistics::Activity;

/// The outcome of asking the model once.
#[derive(Debug)]
pub(super) enum StepOutcome {
    /// The turn is over.
    Ended(TurnEnd),
    /// The model wants tools to run.
    Calls(Vec<ToolCall>),
    /// The model repeats itself, and was cut off.
    Looping(Loop),
}

/// The reason why an answer is not whole.
enum AnswerCut {
    Failed(ModelError),
    Cancelled,
    Looping(Loop),
}

/// Shows an answer as it arrives, or only once hooks have seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Display {
    Streamed,
    Withheld,
}

/// A request as hooks leave it.
enum HookedRequest {
    /// Is sent, perhaps with changes.
    Sent { request: Request, is_changed: bool },
    /// A hook answers in the model's place.
    Answered(ResponseBuilder),
    /// The turn ends.
    Stopped(String),
}

/// An answer as hooks leave it.
enum HookedAnswer {
    /// Counts.
    Accepted(Message),
    /// Its text is kept, and the turn ends.
    Stopped(Message, String),
    /// It is discarded, and the turn ends.
    Withheld(String),
}

/// Asks the model. Where the one that was chosen for the prompt fails before it says anything, the usual one is asked, once.
pub(super) async fn ask_model(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<StepOutcome, AgentError> {
    let newest = newest_id(session);
    let step = ask_within_window(session, turn, deps, cancel).await?;
    let StepOutcome::Ended(TurnEnd::Failed(error)) = &step else { return Ok(step) };
    if newest_id(session) != newest || !leave_route(&mut turn.route, &session.settings.model, error, deps) {
        return Ok(step);
    }
    // It may take less than the one that failed.
    match make_room(session, turn, Newest::Results, deps, cancel).await? {
        Some(end) => Ok(StepOutcome::Ended(end)),
        None => ask_within_window(session, turn, deps, cancel).await,
    }
}

fn newest_id(session: &AgentSession) -> Option<MessageId> {
    session.conversation.transcript().messages().last().map(|message| message.id.clone())
}

/// Asks the model; once more after a compaction if it says that the request was too long.
async fn ask_within_window(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<StepOutcome, AgentError> {
    if let Some(step) = send_request(session, turn, deps, cancel).await? {
        return Ok(step);
    }
    let window = RequestWindow::of(session, turn);
    let options = window.options_after_refusal(window.estimate());
    match compact(session, turn, options, deps, cancel).await?.result.status {
        Status::Cancelled => return Ok(StepOutcome::Ended(TurnEnd::Cancelled)),
        status if status.is_change() => deps.emit(Event::AskedAgain),
        status if lacks_summary(session, status) => {
            deps.warn(format!("nothing was compacted: {WITHOUT_FALLBACK}"));
            return Ok(StepOutcome::Ended(TurnEnd::Failed(ModelError::TooLong)));
        }
        _ => return Ok(StepOutcome::Ended(TurnEnd::Failed(ModelError::TooLong))),
    }
    let asked = send_request(session, turn, deps, cancel).await?;
    Ok(asked.unwrap_or(StepOutcome::Ended(TurnEnd::Failed(ModelError::TooLong))))
}

/// Sends the request and records the answer; `None` if the request was too long.
async fn send_request(
    session: &mut AgentSession,
    turn: &mut TurnState,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Result<Option<StepOutcome>, AgentError> {
    let messages = session.conversation.transcript().messages().len();
    let request = build_request(session, turn);
    let (request, is_changed) = match run_request_hooks(session, turn, request, deps, cancel).await {
        HookedRequest::Sent { request, is_changed } => (request, is_changed),
        HookedRequest::Answered(answer) => return record_answer_of_hook(session, answer, deps).map(Some),
        HookedRequest::Stopped(reason) => return Ok(Some(StepOutcome::Ended(TurnEnd::Stopped { reason }))),
    };
    turn.tools.offer(&request);
    let recorded_as = turn.model(&session.settings).recorded_as_other(&request.model);
    // The size of a long request is worked out before it is given away, rather than copied.
    let seen = deps.calibration.filter(|_| !is_changed).map(|_| {
        let fixed = RequestWindow::of(session, turn).fixed().total();
        observe_request(&request.messages, TokenCount::ZERO, fixed)
    });
    // What hooks may still change is not shown before they have seen it.
    let for_hooks = deps.has_hook(EventName::AfterModel).then(|| encode_request(&request));
    let display = if for_hooks.is_some() { Display::Withheld } else { Display::Streamed };
    session.note(Activity::StreamStarted, deps);
    // Whatever happened before: nothing is sent that is not recorded.
    session.record_pending(deps)?;
    let estimated = RequestWindow::of(session, turn).estimate();
    let meter = SpendMeter::expecting(estimated);
    let request = Request { meter: meter.clone(), ..request };
    let model = answering_model(turn.route.as_ref(), deps);
    let loops = session.settings.watches_loops.then_some(&mut turn.loops);
    let (answer, cut) = receive_answer(model, request, loops, display, deps, cancel).await;
    let (usage, finish) = (answer.usage, answer.finish.clone());
    // Some providers count anew with every piece; the last count is that of the whole call.
    if let Some(usage) = usage {
        deps.emit(Event::Usage(usage));
    }
    let consumed = meter.total();
    session.statistics.consumed(&consumed);
    if consumed.requests > 0 {
        deps.emit(Event::Spent { on: Spending::Answer, consumed });
    }
    if let Some(input) = usage.and_then(|usage| usage.input).filter(|_| !is_changed) {
        let model = turn.model(&session.settings).name.clone();
        if let Some(seen) = seen {
            calibrate(&model, Observation { reported: input, ..seen }, deps);
        }
        session.take_count(CountedRequest { model, tokens: input, messages }, estimated);
    }
    let mut reply =
        Message { at: Some((deps.now)()), model: Some(recorded_as), ..answer.into_message((deps.new_id)()) };
    if cut.is_some() {
        // Of an answer that broke off only its words are of use: nobody will run its calls.
        reply.parts.retain(|part| part.as_text().is_some());
    }
    let mut stopped = None;
    if let Some(llm_request) = for_hooks.filter(|_| !reply.is_empty()) {
        (reply, stopped) = show_after_hooks(session, llm_request, reply, finish.as_ref(), deps, cancel).await;
    }
    let calls: Vec<ToolCall> = reply.calls().cloned().collect();
    let step = match (cut, stopped) {
        (Some(AnswerCut::Failed(ModelError::TooLong)), _) if reply.is_empty() => return Ok(None),
        (Some(AnswerCut::Failed(error)), _) => StepOutcome::Ended(TurnEnd::Failed(error)),
        (Some(AnswerCut::Cancelled), _) => StepOutcome::Ended(TurnEnd::Cancelled),
        (_, Some(reason)) => StepOutcome::Ended(TurnEnd::Stopped { reason }),
        (Some(AnswerCut::Looping(found)), None) => StepOutcome::Looping(found),
        (None, None) if calls.is_empty() => {
            StepOutcome::Ended(TurnEnd::Finished(finish.unwrap_or(FinishReason::Stop)))
        }
        (None, None) => StepOutcome::Calls(calls),
    };
    if !reply.is_empty() {
        session.append(&reply, deps)?;
    }
    Ok(Some(step))
}

/// The request that would be sent now.
fn build_request(session: &AgentSession, turn: &TurnState) -> Request {
    let transcript = session.conversation.transcript();
    let window = RequestWindow::of(session, turn);
    let empty = window.compaction_options(window.input_limit(), Trigger::Automatic).empty;
    let system = session.system();
    Request {
        model: turn.model(&session.settings).name.clone(),
        system: (!system.is_empty()).then(|| Part::text(Origin::Hook, system)).into_iter().collect(),
        tools: turn.tools.declarations().to_vec(),
        messages: prepare(transcript.messages(), empty).messages.into_owned(),
        ..Request::default()
    }
}

/// Records what a hook answers in the model's place.
fn record_answer_of_hook(
    session: &mut AgentSession,
    answer: ResponseBuilder,
    deps: &AgentDeps<'_>,
) -> Result<StepOutcome, AgentError> {
    let finish = answer.finish.clone().unwrap_or(FinishReason::Stop);
    let reply = Message { at: Some((deps.now)()), ..answer.into_message((deps.new_id)()) };
    if !reply.is_empty() {
        deps.emit(Event::TextDelta(text_of(&reply)));
        session.append(&reply, deps)?;
    }
    Ok(StepOutcome::Ended(TurnEnd::Finished(finish)))
}

/// Runs hooks on an answer and then shows it; with the reason why the turn ends, if it does.
async fn show_after_hooks(
    session: &AgentSession,
    llm_request: Value,
    reply: Message,
    finish: Option<&FinishReason>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> (Message, Option<String>) {
    let nothing = Message { parts: Vec::new(), ..reply.clone() };
    // Nobody can say any more whether it may be shown.
    if cancel.is_cancelled() {
        return (nothing, None);
    }
    let (reply, stopped) = match run_answer_hooks(session, llm_request, reply, finish, deps, cancel).await {
        HookedAnswer::Accepted(reply) => (reply, None),
        HookedAnswer::Stopped(mut reply, reason) => {
            reply.parts.retain(|part| part.as_text().is_some());
            (reply, Some(reason))
        }
        HookedAnswer::Withheld(reason) => (nothing, Some(reason)),
    };
    let text = text_of(&reply);
    if !text.is_empty() {
        deps.emit(Event::TextDelta(text));
    }
    (reply, stopped)
}

/// Runs hooks on a request. One that they would break is sent as it was.
async fn run_request_hooks(
    session: &AgentSession,
    turn: &TurnState,
    mut request: Request,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> HookedRequest {
    let mut is_changed = false;
    if deps.has_hook(EventName::BeforeModel)
        && let event = (HookEvent::BeforeModel { llm_request: encode_request(&request) })
        && let Some(outcome) = session.run_hooks(event, deps, cancel).await
    {
        if let Some(reason) = outcome.stop() {
            return HookedRequest::Stopped(reason.to_string());
        }
        if let Some(response) = outcome.llm_response() {
            match decode_response(response) {
                Ok(answer) => return HookedRequest::Answered(answer),
                Err(reason) => deps.warn(format!("ignored a hook's answer: {reason}")),
            }
        }
        if let Some(reason) = outcome.block() {
            return HookedRequest::Stopped(reason.to_string());
        }
        if let Some(over) = outcome.llm_request() {
            let changed =
                apply_request(request.clone(), over).and_then(|changed| check_fits(session, turn, changed));
            is_changed = changed.is_ok();
            request = changed_or_original(changed, request, deps);
        }
    }
    if deps.has_hook(EventName::BeforeToolSelection) && !request.tools.is_empty() {
        let event = HookEvent::BeforeToolSelection { llm_request: encode_request(&request) };
        let outcome = session.run_hooks(event, deps, cancel).await;
        if let Some(choice) = outcome.and_then(|outcome| outcome.tool_choice()) {
            let names: Vec<&str> = choice.allowed.iter().map(String::as_str).collect();
            let changed = choose_tools(request.clone(), choice.mode.as_deref(), &names);
            request = changed_or_original(changed, request, deps);
        }
    }
    HookedRequest::Sent { request, is_changed }
}

/// Runs hooks on a whole answer.
async fn run_answer_hooks(
    session: &AgentSession,
    llm_request: Value,
    mut reply: Message,
    finish: Option<&FinishReason>,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> HookedAnswer {
    let event = HookEvent::AfterModel { llm_request, llm_response: encode_response(&reply, finish) };
    let Some(outcome) = session.run_hooks(event, deps, cancel).await else {
        return HookedAnswer::Accepted(reply);
    };
    if let Some(response) = outcome.llm_response() {
        match decode_response(response) {
            Ok(answer) => {
                let text = text_of(&answer.into_message(reply.id.clone()));
                if text != text_of(&reply) {
                    rewrite(&mut reply, Some(&text).filter(|text| !text.is_empty()).map(String::as_str));
                }
            }
            Err(reason) => deps.warn(format!("ignored a hook's change to the answer: {reason}")),
        }
    }
    if let Some(reason) = outcome.block() {
        return HookedAnswer::Withheld(reason.to_string());
    }
    match outcome.stop() {
        Some(reason) => HookedAnswer::Stopped(reply, reason.to_string()),
        None => HookedAnswer::Accepted(reply),
    }
}

fn check_fits(session: &AgentSession, turn: &TurnState, request: Request) -> Result<Request, String> {
    let window = RequestWindow::of(session, turn);
    let tokens = window.fixed().total() + session.settings.estimator.messages(&request.messages);
    if tokens > window.input_limit() {
        Err("it would not fit in the context window".into())
    } else {
        Ok(request)
    }
}

fn changed_or_original(changed: Result<Request, String>, original: Request, deps: &AgentDeps<'_>) -> Request {
    changed.unwrap_or_else(|reason| {
        deps.warn(format!("ignored a hook's change to the request: {reason}"));
        original
    })
}

/// Learns from what the provider counted how far estimates are off.
pub(super) fn calibrate(model: &str, seen: Observation, deps: &AgentDeps<'_>) {
    let Some(file) = deps.calibration else { return };
    match file.learn(model, seen, &CalibrationSettings::default(), LockTimeout::Immediate) {
        // Where somebody else is learning just now, this estimate stays a little worse.
        Ok(_) | Err(EngineError::Workspace(WorkspaceError::Locked { .. })) => {}
        Err(error) => deps.warn(format!("could not save the token calibration of {model}: {error}")),
    }
}

/// Puts an answer together as it arrives, until it ends or is cut off.
async fn receive_answer(
    model: &dyn Model,
    request: Request,
    mut loops: Option<&mut LoopDetector>,
    display: Display,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> (ResponseBuilder, Option<AnswerCut>) {
    let mut answer = ResponseBuilder::default();
    let mut stream = model.stream(request);
    let cut = loop {
        let next = poll_fn(|context| stream.as_mut().poll_next(context));
        match cancel.run_until_cancelled(next).await {
            None => break Some(AnswerCut::Cancelled),
            Some(None) => break None,
            Some(Some(Err(error))) => break Some(AnswerCut::Failed(error)),
            Some(Some(Ok(event))) => {
                show(&event, display, deps);
                let found = match (&event, &mut loops) {
                    (ResponseEvent::TextDelta(text), Some(loops)) => loops.observe_text(text),
                    _ => None,
                };
                answer.add(event);
                if let Some(found) = found {
                    break Some(AnswerCut::Looping(found));
                }
            }
        }
    };
    (answer, cut)
}

fn show(event: &ResponseEvent, display: Display, deps: &AgentDeps<'_>) {
    match event {
        ResponseEvent::TextDelta(_) if display == Display::Withheld => {}
        ResponseEvent::TextDelta(text) => deps.emit(Event::TextDelta(text.clone())),
        ResponseEvent::ThoughtDelta(text) => deps.emit(Event::ThoughtDelta(text.clone())),
        ResponseEvent::Part(_) | ResponseEvent::Usage(_) | ResponseEvent::Finished(_) => {}
    }
}
