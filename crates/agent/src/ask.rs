//! Asks the model once and records what it answers.

use std::future::poll_fn;

use longhaul_context::{CalibrationSettings, Loop, LoopDetector, Observation, Status, Trigger, prepare};
use longhaul_conversation::{
    Answer, FinishReason, Message, ModelError, Origin, Part, Request, ResponseEvent, TokenCount, ToolCall,
};
use longhaul_engine::{EngineError, observe_request};
use longhaul_workspace::{Patience, WorkspaceError};
use tokio_util::sync::CancellationToken;

use crate::room::Counted;
use crate::turn::Agent;
use crate::{AgentError, Event, Host, TurnEnd};

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

impl Agent {
    /// Asks the model; once more with less if it says that this was too much.
    pub(crate) async fn ask(
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
        let request = self.request();
        // What a long request amounts to is worked out before it is given away, rather than copied.
        let seen = host
            .calibration
            .map(|_| observe_request(&request.messages, TokenCount::ZERO, self.fixed().total()));
        let messages = self.conversation.transcript().messages().len();
        let loops = self.settings.watches_loops.then_some(&mut self.loops);
        let (answer, cut) = listen(request, loops, host, cancel).await;
        let (usage, finish) = (answer.usage, answer.finish.clone());
        // Some providers count anew with every piece; the last count is that of the whole call.
        if let Some(usage) = usage {
            self.statistics.usage(&usage);
            host.tell(Event::Usage(usage));
        }
        if let Some(input) = usage.and_then(|usage| usage.input) {
            self.counted = Some(Counted { tokens: input, messages });
            if let Some(seen) = seen {
                self.learn(Observation { reported: input, ..seen }, host);
            }
        }
        let mut reply = Message {
            at: Some((host.now)()),
            model: Some(self.settings.model.recorded_as.clone()),
            ..answer.into_message((host.new_id)())
        };
        if cut.is_some() {
            // Of an answer that broke off only its words are of use: nobody will run its calls.
            reply.parts.retain(|part| part.as_text().is_some());
        }
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        let step = match cut {
            None if calls.is_empty() => Step::Ended(TurnEnd::Finished(finish.unwrap_or(FinishReason::Stop))),
            None => Step::Calls(calls),
            Some(Cut::Failed(ModelError::TooLong)) if reply.is_empty() => return Ok(None),
            Some(Cut::Failed(error)) => Step::Ended(TurnEnd::Failed(error)),
            Some(Cut::Cancelled) => Step::Ended(TurnEnd::Cancelled),
            Some(Cut::Looping(found)) => Step::Looping(found),
        };
        if !reply.is_empty() {
            self.append(&reply, host)?;
        }
        Ok(Some(step))
    }

    /// The request that would be sent now.
    pub(crate) fn request(&self) -> Request {
        let transcript = self.conversation.transcript();
        let empty = self.options(self.room(), Trigger::Automatic).empty;
        let system = self.system();
        Request {
            model: self.settings.model.name.clone(),
            system: (!system.is_empty()).then(|| Part::text(Origin::Hook, system)).into_iter().collect(),
            tools: self.declared.tools.clone(),
            messages: prepare(transcript.messages(), empty).messages.into_owned(),
            ..Request::default()
        }
    }

    /// Learns from what the provider counted how far estimates are off.
    pub(crate) fn learn(&self, seen: Observation, host: &Host<'_>) {
        let Some(file) = host.calibration else { return };
        let model = &self.settings.model.name;
        match file.learn(model, seen, &CalibrationSettings::default(), Patience::None) {
            // Where somebody else is learning just now, this estimate stays a little worse.
            Ok(_) | Err(EngineError::Workspace(WorkspaceError::Locked { .. })) => {}
            Err(error) => host.warn(format!("could not keep what was learned about {model}: {error}")),
        }
    }
}

/// Puts an answer together as it arrives, until it ends or is cut off.
async fn listen(
    request: Request,
    mut loops: Option<&mut LoopDetector>,
    host: &Host<'_>,
    cancel: &CancellationToken,
) -> (Answer, Option<Cut>) {
    let mut answer = Answer::default();
    let mut stream = host.model.stream(request);
    let cut = loop {
        let next = poll_fn(|context| stream.as_mut().poll_next(context));
        match cancel.run_until_cancelled(next).await {
            None => break Some(Cut::Cancelled),
            Some(None) => break None,
            Some(Some(Err(error))) => break Some(Cut::Failed(error)),
            Some(Some(Ok(event))) => {
                tell(&event, host);
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

fn tell(event: &ResponseEvent, host: &Host<'_>) {
    match event {
        ResponseEvent::TextDelta(text) => host.tell(Event::TextDelta(text.clone())),
        ResponseEvent::ThoughtDelta(text) => host.tell(Event::ThoughtDelta(text.clone())),
        ResponseEvent::Part(_) | ResponseEvent::Usage(_) | ResponseEvent::Finished(_) => {}
    }
}
