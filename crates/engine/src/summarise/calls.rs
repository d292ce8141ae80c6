//! Asks a model and counts what it costs: cut-off answers are asked for again, a bounded number of times.

use std::future::poll_fn;

use longhaul_context::Estimator;
use longhaul_conversation::{
    FinishReason, Message, MessageId, Model, ModelError, Origin, Part, Request, ResponseEvent, Role,
    TokenCount, Usage,
};

use super::{ByModel, Fault, prompts};
use crate::{Spend, SpendCaps};

/// The calls of one summary.
pub(super) struct Calls<'a> {
    pub(super) by: &'a ByModel<'a>,
    pub(super) estimator: Estimator,
    pub(super) system: String,
    pub(super) left: SpendCaps,
    pub(super) spend: Spend,
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
    ) -> Result<String, Fault> {
        let mut fault = Fault::CutOff;
        let mut instruction = instruction.to_string();
        for _ in 0..=self.by.retries {
            match self.ask_once(before, &instruction, tokens).await {
                Err(Fault::CutOff) => {
                    fault = Fault::CutOff;
                    instruction.push_str(&prompts::shorter(TokenCount(tokens.0 / 2)));
                }
                Err(Fault::Model(ModelError::Interrupted { reason })) => {
                    fault = Fault::Model(ModelError::Interrupted { reason });
                }
                answered => return answered,
            }
        }
        Err(fault)
    }

    async fn ask_once(
        &mut self,
        before: &[Message],
        instruction: &str,
        tokens: TokenCount,
    ) -> Result<String, Fault> {
        let mut messages = before.to_vec();
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(Part::user_text(instruction)),
            None => messages.push(user(instruction.to_string())),
        }
        let sizes = messages.iter().map(|message| self.estimator.message(message).tokens());
        let input = sizes.sum::<TokenCount>() + self.estimator.text(&self.system).tokens();
        if self.spend.calls >= self.by.most_calls {
            return Err(Fault::TooLong);
        }
        if !self.left.less(self.spend).allow(input, tokens, self.by.prices.as_ref()) {
            return Err(Fault::TooExpensive);
        }
        let request = Request {
            model: self.by.name.clone(),
            system: vec![Part::text(Origin::Hook, self.system.clone())],
            messages,
            extra: self.by.extra.clone(),
            ..Request::default()
        };
        // A call that breaks off has been paid for as well.
        let paid = self.spend;
        self.spend =
            paid.plus(Spend::of_call(&Usage::default(), input, TokenCount::ZERO, self.by.prices.as_ref()));
        let most = (tokens.0 as usize).saturating_mul(4 * MOST_TIMES).max(LEAST_CUT);
        let answer = read(self.by.model, request, most).await;
        let output = self.estimator.text(&answer.text).tokens();
        let input = if answer.is_refusal() { TokenCount::ZERO } else { input };
        self.spend = paid.plus(Spend::of_call(&answer.usage, input, output, self.by.prices.as_ref()));
        match answer.end {
            Ok(FinishReason::Stop | FinishReason::ToolCalls) => Ok(answer.text),
            Ok(FinishReason::Length) => Err(Fault::CutOff),
            Ok(FinishReason::Filtered) => Err(Fault::Stopped("the provider withheld it".into())),
            Ok(FinishReason::Other(reason)) => Err(Fault::Stopped(reason)),
            Err(error) => Err(Fault::Model(error)),
        }
    }
}

/// A message on the user's side.
pub(super) fn user(text: String) -> Message {
    Message::new(MessageId::made_up("ask"), Role::User, vec![Part::user_text(text)])
}

struct Answer {
    text: String,
    usage: Usage,
    end: Result<FinishReason, ModelError>,
}

impl Answer {
    /// Whether the model never began to work on it, which costs nothing.
    fn is_refusal(&self) -> bool {
        let is_refused = matches!(&self.end, Err(error) if !matches!(error, ModelError::Interrupted { .. }));
        is_refused && self.text.is_empty()
    }
}

/// Reads an answer to its end; one of more than `most` bytes counts as cut off.
async fn read(model: &dyn Model, request: Request, most: usize) -> Answer {
    let mut stream = model.stream(request);
    let mut text = String::new();
    let mut usage = Usage::default();
    let mut finished = None;
    let end = loop {
        match poll_fn(|context| stream.as_mut().poll_next(context)).await {
            Some(Ok(ResponseEvent::TextDelta(delta))) => text.push_str(&delta),
            Some(Ok(ResponseEvent::Part(part))) => text.push_str(part.as_text().unwrap_or_default()),
            Some(Ok(ResponseEvent::Usage(reported))) => usage = reported,
            Some(Ok(ResponseEvent::Finished(reason))) => finished = Some(reason),
            Some(Ok(ResponseEvent::ThoughtDelta(_))) => {}
            Some(Err(error)) => break Err(error),
            None => {
                let broken = ModelError::Interrupted { reason: "it ended without a word".into() };
                break finished.ok_or(broken);
            }
        }
        if text.len() > most {
            break Ok(FinishReason::Length);
        }
    };
    Answer { text, usage, end }
}
