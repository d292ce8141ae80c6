//! Asks the model once and records what it answers.

use std::future::poll_fn;

use longhaul_compaction::{CalibrationSettings, Loop, LoopDetector, Observation, Status, Trigger, prepare};
use longhaul_conversation::{
    Answer, FinishReason, Message, MessageId, Model, ModelError, Origin, Part, Request, ResponseEvent,
    SpendMeter, TokenCount, ToolCall, ToolChoice,
};
use longhaul_engine::{EngineError, observe_request};
use longhaul_hooks::EventName;
use longhaul_workspace::{Patience, WorkspaceError};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::make_room::{Counted, Newest};
use super::model_hooks::{Asked, Heard};
use crate::activity::Activity;
use crate::hooks::{encode_request, text_of};
use crate::{AgentError, Event, Host, Spending, TurnEnd};

/// What came of asking the model once.
#[derive(Debug)]
pub(crate) enum Step {
    /// The turn is over.
    Ended(TurnEnd),
    /// The model wants tools to run.
    Calls(Vec<ToolCall>),
    /// The model repeats itself, and was cut off.
    Looping(Loop),
}

/// Why an answer is not whole.
enum Cut {
    Failed(ModelError),
    Cancelled,
    Looping(Loop),
}

/// Whether an answer is told as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Aloud,
    Silent,
}

impl Agent {
    /// Asks the model; the usual one, once, where the one that was chosen for the prompt fails before it says anything.
    pub(crate) async fn ask(
        &mut self,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Step, AgentError> {
        let newest = self.newest();
        let step = self.ask_for_less(host, cancel).await?;
        let Step::Ended(TurnEnd::Failed(error)) = &step else { return Ok(step) };
        if self.newest() != newest || !self.leave_route(error, host) {
            return Ok(step);
        }
        // It may take less than the one that failed.
        match self.make_room(Newest::Results, host, cancel).await? {
            Some(end) => Ok(Step::Ended(end)),
            None => self.ask_for_less(host, cancel).await,
        }
    }

    fn newest(&self) -> Option<MessageId> {
        self.conversation.transcript().messages().last().map(|message| message.id.clone())
    }

    /// Asks the model; once more with less if it says that this was too much.
    async fn ask_for_less(
        &mut self,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Step, AgentError> {
        if let Some(step) = self.ask_once(host, cancel).await? {
            return Ok(step);
        }
        let sent = self.estimate();
        match self.compact_with(self.options_after_refusal(sent), host, cancel).await?.result.status {
            Status::Cancelled => return Ok(Step::Ended(TurnEnd::Cancelled)),
            status if status.is_change() => host.tell(Event::AskedAgain),
            _ => return Ok(Step::Ended(TurnEnd::Failed(ModelError::TooLong))),
        }
        let asked = self.ask_once(host, cancel).await?;
        Ok(asked.unwrap_or(Step::Ended(TurnEnd::Failed(ModelError::TooLong))))
    }

    /// Asks the model and records what it answers; nothing if the request was too long.
    async fn ask_once(
        &mut self,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<Step>, AgentError> {
        let messages = self.conversation.transcript().messages().len();
        let (request, is_changed) = match self.before_model(self.request(), host, cancel).await {
            Asked::Sent { request, is_changed } => (request, is_changed),
            Asked::Answered(answer) => return self.take_answer_of_hook(answer, host).map(Some),
            Asked::Stopped(reason) => return Ok(Some(Step::Ended(TurnEnd::Stopped { reason }))),
        };
        self.offer(&request);
        let recorded_as = self.model().recorded_as_other(&request.model);
        // What a long request amounts to is worked out before it is given away, rather than copied.
        let seen = host
            .calibration
            .filter(|_| !is_changed)
            .map(|_| observe_request(&request.messages, TokenCount::ZERO, self.fixed().total()));
        // What hooks may still change is not told before they have seen it.
        let for_hooks = self.hears(EventName::AfterModel, host).then(|| encode_request(&request));
        let voice = if for_hooks.is_some() { Voice::Silent } else { Voice::Aloud };
        self.note(Activity::StreamStarted, host);
        // Whatever happened before: nothing is sent that is not recorded.
        self.record_pending(host)?;
        let meter = SpendMeter::expecting(self.estimate());
        let request = Request { meter: meter.clone(), ..request };
        let model = self.answering(host);
        let loops = self.settings.watches_loops.then_some(&mut self.loops);
        let (answer, cut) = listen(model, request, loops, voice, host, cancel).await;
        let (usage, finish) = (answer.usage, answer.finish.clone());
        // Some providers count anew with every piece; the last count is that of the whole call.
        if let Some(usage) = usage {
            host.tell(Event::Usage(usage));
        }
        let consumed = meter.total();
        self.statistics.consumed(&consumed);
        if consumed.requests > 0 {
            host.tell(Event::Spent { on: Spending::Answer, consumed });
        }
        if let Some(input) = usage.and_then(|usage| usage.input).filter(|_| !is_changed) {
            self.counted = Some(Counted { model: self.model().name.clone(), tokens: input, messages });
            if let Some(seen) = seen {
                self.learn(Observation { reported: input, ..seen }, host);
            }
        }
        let mut reply = Message {
            at: Some((host.now)()),
            model: Some(recorded_as),
            ..answer.into_message((host.new_id)())
        };
        if cut.is_some() {
            // Of an answer that broke off only its words are of use: nobody will run its calls.
            reply.parts.retain(|part| part.as_text().is_some());
        }
        let mut stopped = None;
        if let Some(llm_request) = for_hooks.filter(|_| !reply.is_empty()) {
            (reply, stopped) = self.show_to_hooks(llm_request, reply, finish.as_ref(), host, cancel).await;
        }
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        let step = match (cut, stopped) {
            (Some(Cut::Failed(ModelError::TooLong)), _) if reply.is_empty() => return Ok(None),
            (Some(Cut::Failed(error)), _) => Step::Ended(TurnEnd::Failed(error)),
            (Some(Cut::Cancelled), _) => Step::Ended(TurnEnd::Cancelled),
            (_, Some(reason)) => Step::Ended(TurnEnd::Stopped { reason }),
            (Some(Cut::Looping(found)), None) => Step::Looping(found),
            (None, None) if calls.is_empty() => {
                Step::Ended(TurnEnd::Finished(finish.unwrap_or(FinishReason::Stop)))
            }
            (None, None) => Step::Calls(calls),
        };
        if !reply.is_empty() {
            self.append(&reply, host)?;
        }
        Ok(Some(step))
    }

    /// Shows an answer to hooks, and then tells it; with why the turn ends, if it does.
    async fn show_to_hooks(
        &self,
        llm_request: Value,
        reply: Message,
        finish: Option<&FinishReason>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> (Message, Option<String>) {
        let silence = |reply: &Message| Message { parts: Vec::new(), ..reply.clone() };
        // Nobody can say any more whether it may be told.
        if cancel.is_cancelled() {
            return (silence(&reply), None);
        }
        let nothing = silence(&reply);
        let (reply, stopped) = match self.after_model(llm_request, reply, finish, host, cancel).await {
            Heard::Taken(reply) => (reply, None),
            Heard::Stopped(mut reply, reason) => {
                reply.parts.retain(|part| part.as_text().is_some());
                (reply, Some(reason))
            }
            Heard::Withheld(reason) => (nothing, Some(reason)),
        };
        let text = text_of(&reply);
        if !text.is_empty() {
            host.tell(Event::TextDelta(text));
        }
        (reply, stopped)
    }

    /// Records what a hook answers in the model's place.
    fn take_answer_of_hook(&mut self, answer: Answer, host: &Host<'_>) -> Result<Step, AgentError> {
        let finish = answer.finish.clone().unwrap_or(FinishReason::Stop);
        let reply = Message { at: Some((host.now)()), ..answer.into_message((host.new_id)()) };
        if !reply.is_empty() {
            host.tell(Event::TextDelta(text_of(&reply)));
            self.append(&reply, host)?;
        }
        Ok(Step::Ended(TurnEnd::Finished(finish)))
    }

    /// Takes note of the tools that may be called in answer to a request, where those are not all.
    fn offer(&mut self, request: &Request) {
        let offered = match request.tool_choice {
            ToolChoice::Forbidden => &[],
            ToolChoice::Free | ToolChoice::Required => request.tools.as_slice(),
        };
        let names = || offered.iter().map(|tool| tool.name.clone()).collect();
        self.declared.offered = (offered.len() < self.declared.tools.len()).then(names);
    }

    /// The request that would be sent now.
    pub(crate) fn request(&self) -> Request {
        let transcript = self.conversation.transcript();
        let empty = self.options(self.room(), Trigger::Automatic).empty;
        let system = self.system();
        Request {
            model: self.model().name.clone(),
            system: (!system.is_empty()).then(|| Part::text(Origin::Hook, system)).into_iter().collect(),
            tools: self.declared.tools.clone(),
            messages: prepare(transcript.messages(), empty).messages.into_owned(),
            ..Request::default()
        }
    }

    /// Learns from what the provider counted how far estimates are off.
    pub(crate) fn learn(&self, seen: Observation, host: &Host<'_>) {
        let Some(file) = host.calibration else { return };
        let model = &self.model().name;
        match file.learn(model, seen, &CalibrationSettings::default(), Patience::None) {
            // Where somebody else is learning just now, this estimate stays a little worse.
            Ok(_) | Err(EngineError::Workspace(WorkspaceError::Locked { .. })) => {}
            Err(error) => host.warn(format!("could not keep what was learned about {model}: {error}")),
        }
    }
}

/// Puts an answer together as it arrives, until it ends or is cut off.
async fn listen(
    model: &dyn Model,
    request: Request,
    mut loops: Option<&mut LoopDetector>,
    voice: Voice,
    host: &Host<'_>,
    cancel: &CancellationToken,
) -> (Answer, Option<Cut>) {
    let mut answer = Answer::default();
    let mut stream = model.stream(request);
    let cut = loop {
        let next = poll_fn(|context| stream.as_mut().poll_next(context));
        match cancel.run_until_cancelled(next).await {
            None => break Some(Cut::Cancelled),
            Some(None) => break None,
            Some(Some(Err(error))) => break Some(Cut::Failed(error)),
            Some(Some(Ok(event))) => {
                tell(&event, voice, host);
                let found = match (&event, &mut loops) {
                    (ResponseEvent::TextDelta(text), Some(loops)) => loops.observe_text(text),
                    _ => None,
                };
                answer.add(event);
                if let Some(found) = found {
                    break Some(Cut::Looping(found));
                }
            }
        }
    };
    (answer, cut)
}

fn tell(event: &ResponseEvent, voice: Voice, host: &Host<'_>) {
    match event {
        ResponseEvent::TextDelta(_) if voice == Voice::Silent => {}
        ResponseEvent::TextDelta(text) => host.tell(Event::TextDelta(text.clone())),
        ResponseEvent::ThoughtDelta(text) => host.tell(Event::ThoughtDelta(text.clone())),
        ResponseEvent::Part(_) | ResponseEvent::Usage(_) | ResponseEvent::Finished(_) => {}
    }
}
