//! Asks a model and counts what it costs: cut-off answers are asked for again, a bounded number of times.

use std::future::poll_fn;
use std::time::Duration;

use longhaul_conversation::Estimator;
use longhaul_conversation::{
    CallLimits, FinishReason, Message, MessageId, Model, ModelError, Origin, Part, Request, ResponseEvent,
    Role, TokenCount,
};

use super::{ByModel, Summariser, SummaryError, SummaryTask, prompts};

/// The calls of one summary.
pub(super) struct Calls<'a> {
    pub(super) by: &'a ByModel<'a>,
    pub(super) estimator: Estimator,
    pub(super) system: String,
    pub(super) task: &'a SummaryTask<'a>,
    pub(super) started: Duration,
    /// True if an answer that said nothing was asked for again.
    pub(super) has_retried_empty: bool,
}

/// An answer longer than so many times what was asked for is cut off by us.
const MOST_TIMES: usize = 10;
/// But never one of fewer characters than this: thinking aloud takes room too.
const LEAST_CUT: usize = 40_000;

impl Calls<'_> {
    /// Asks for one answer of about `tokens`; what is behind the record, `instruction`, stands last.
    pub(super) async fn ask(
        &mut self,
        before: &[Message],
        instruction: &str,
        tokens: TokenCount,
    ) -> Result<String, SummaryError> {
        let mut instruction = instruction.to_string();
        let mut left = self.by.retries;
        loop {
            let asked_at = (self.task.clock)();
            let answer = self.ask_once(before, &instruction, tokens, asked_at).await?;
            let has_begun = answer.has_begun;
            match answer.read() {
                // Nothing but thoughts.
                Ok(text) if text.trim().is_empty() => {
                    if std::mem::replace(&mut self.has_retried_empty, true) {
                        return Err(SummaryError::Empty);
                    }
                    continue;
                }
                Err(SummaryError::CutOff) if left > 0 => {
                    instruction.push_str(&prompts::shorter(TokenCount(tokens.0 / 2)));
                }
                // Where nothing arrived at all, whoever sends requests has tried again already.
                Err(SummaryError::Model(ModelError::Interrupted { .. }))
                    if left > 0 && has_begun && !self.has_stalled(asked_at) => {}
                read => return read,
            }
            left -= 1;
        }
    }

    /// Tells whether a call that broke off took as long as a silence may take: who waited for that does not wait again.
    fn has_stalled(&self, asked_at: Duration) -> bool {
        let took = (self.task.clock)().saturating_sub(asked_at);
        self.by.limits.idle.is_some_and(|idle| took >= idle)
    }

    async fn ask_once(
        &mut self,
        before: &[Message],
        instruction: &str,
        tokens: TokenCount,
        asked_at: Duration,
    ) -> Result<Answer, SummaryError> {
        let mut messages = before.to_vec();
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(Part::user_text(instruction)),
            None => messages.push(user(instruction.to_string())),
        }
        let sizes = messages.iter().map(|message| self.estimator.message(message).tokens());
        let input = sizes.sum::<TokenCount>() + self.estimator.text(&self.system).tokens();
        let spent = self.by.spend(&self.task.meter.total());
        if spent.calls >= self.by.most_calls {
            return Err(SummaryError::TooLong);
        }
        if !self.task.left.less(spent).allow(input, tokens, self.by.prices.as_ref()) {
            return Err(SummaryError::TooExpensive);
        }
        let wait = self.by.wait.saturating_sub(asked_at.saturating_sub(self.started));
        if wait.is_zero() {
            return Err(SummaryError::TooSlow(self.by.wait));
        }
        let time = Some(self.by.limits.time.map_or(wait, |time| time.min(wait)));
        let request = Request {
            model: self.by.name.clone(),
            system: vec![Part::text(Origin::Hook, self.system.clone())],
            messages,
            extra: self.by.extra.clone(),
            limits: CallLimits { time, ..self.by.limits },
            meter: self.task.meter.for_call(input),
            ..Request::default()
        };
        let most = (tokens.0 as usize).saturating_mul(4 * MOST_TIMES).max(LEAST_CUT);
        Ok(read(self.by.model, request, most).await)
    }
}

/// A message on the user's side.
pub(super) fn user(text: String) -> Message {
    Message::new(MessageId::made_up("ask"), Role::User, vec![Part::user_text(text)])
}

struct Answer {
    text: String,
    /// True if anything of what it says arrived.
    has_begun: bool,
    end: Result<FinishReason, ModelError>,
}

impl Answer {
    /// The text, if the answer is complete.
    fn read(self) -> Result<String, SummaryError> {
        match self.end {
            Ok(FinishReason::Stop | FinishReason::ToolCalls) => Ok(self.text),
            Ok(FinishReason::Length) => Err(SummaryError::CutOff),
            Ok(FinishReason::Filtered) => Err(SummaryError::Stopped("withheld by the provider".into())),
            Ok(FinishReason::Other(reason)) => Err(SummaryError::Stopped(reason)),
            Err(error) => Err(SummaryError::Model(error)),
        }
    }
}

/// Reads an answer to its end; one of more than `most` bytes counts as cut off.
async fn read(model: &dyn Model, request: Request, most: usize) -> Answer {
    let mut stream = model.stream(request);
    let mut text = String::new();
    let mut has_begun = false;
    let mut finished = None;
    let end = loop {
        let next = poll_fn(|context| stream.as_mut().poll_next(context)).await;
        has_begun |= matches!(
            &next,
            Some(Ok(ResponseEvent::TextDelta(_) | ResponseEvent::ThoughtDelta(_) | ResponseEvent::Part(_)))
        );
        match next {
            Some(Ok(ResponseEvent::TextDelta(delta))) => text.push_str(&delta),
            Some(Ok(ResponseEvent::Part(part))) => text.push_str(part.as_text().unwrap_or_default()),
            Some(Ok(ResponseEvent::Finished(reason))) => finished = Some(reason),
            Some(Ok(ResponseEvent::ThoughtDelta(_) | ResponseEvent::Usage(_))) => {}
            Some(Err(error)) => break Err(error),
            None => {
                let broken = ModelError::Interrupted { reason: "no response".into() };
                break finished.ok_or(broken);
            }
        }
        if text.len() > most {
            break Ok(FinishReason::Length);
        }
    };
    Answer { text, has_begun, end }
}
