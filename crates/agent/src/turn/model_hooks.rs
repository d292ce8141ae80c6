//! Where the user's hooks take part in asking the model: before it is asked, in the choice of tools, behind its answer.

use longhaul_conversation::{Answer, FinishReason, Message, Request};
use longhaul_hooks::{Event as HookEvent, EventName};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::Host;
use crate::hooks::{
    apply_request, choose_tools, decode_response, encode_request, encode_response, rewrite, text_of,
};

/// What hooks make of a request.
pub(crate) enum Asked {
    /// It is sent, perhaps with changes.
    Sent { request: Request, is_changed: bool },
    /// A hook answers in the model's place.
    Answered(Answer),
    /// The turn ends.
    Stopped(String),
}

/// What hooks make of an answer.
pub(crate) enum Heard {
    /// It counts.
    Taken(Message),
    /// Its words count, and the turn ends.
    Stopped(Message, String),
    /// It does not count, and the turn ends.
    Withheld(String),
}

impl Agent {
    /// Shows a request to hooks. One that they would break is sent as it was.
    pub(crate) async fn before_model(
        &self,
        mut request: Request,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Asked {
        let mut is_changed = false;
        if self.hears(EventName::BeforeModel, host)
            && let event = (HookEvent::BeforeModel { llm_request: encode_request(&request) })
            && let Some(outcome) = self.run_hooks(event, host, cancel).await
        {
            if let Some(reason) = outcome.stop() {
                return Asked::Stopped(reason.to_string());
            }
            if let Some(response) = outcome.llm_response() {
                match decode_response(response) {
                    Ok(answer) => return Asked::Answered(answer),
                    Err(reason) => host.warn(format!("what a hook answers does not count: {reason}")),
                }
            }
            if let Some(reason) = outcome.block() {
                return Asked::Stopped(reason.to_string());
            }
            if let Some(over) = outcome.llm_request() {
                let changed = apply_request(request.clone(), over).and_then(|changed| self.fitting(changed));
                is_changed = changed.is_ok();
                request = taken(changed, request, host);
            }
        }
        if self.hears(EventName::BeforeToolSelection, host) && !request.tools.is_empty() {
            let event = HookEvent::BeforeToolSelection { llm_request: encode_request(&request) };
            let outcome = self.run_hooks(event, host, cancel).await;
            if let Some(choice) = outcome.and_then(|outcome| outcome.tool_choice()) {
                let names: Vec<&str> = choice.allowed.iter().map(String::as_str).collect();
                let changed = choose_tools(request.clone(), choice.mode.as_deref(), &names);
                request = taken(changed, request, host);
            }
        }
        Asked::Sent { request, is_changed }
    }

    /// Shows a whole answer to hooks.
    pub(crate) async fn after_model(
        &self,
        llm_request: Value,
        mut reply: Message,
        finish: Option<&FinishReason>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Heard {
        let event = HookEvent::AfterModel { llm_request, llm_response: encode_response(&reply, finish) };
        let Some(outcome) = self.run_hooks(event, host, cancel).await else { return Heard::Taken(reply) };
        if let Some(response) = outcome.llm_response() {
            match decode_response(response) {
                Ok(answer) => {
                    let text = text_of(&answer.into_message(reply.id.clone()));
                    if text != text_of(&reply) {
                        rewrite(&mut reply, Some(&text).filter(|text| !text.is_empty()).map(String::as_str));
                    }
                }
                Err(reason) => host.warn(format!("what a hook makes of the answer does not count: {reason}")),
            }
        }
        if let Some(reason) = outcome.block() {
            return Heard::Withheld(reason.to_string());
        }
        match outcome.stop() {
            Some(reason) => Heard::Stopped(reply, reason.to_string()),
            None => Heard::Taken(reply),
        }
    }

    /// Whether any hook is meant for an event.
    pub(crate) fn hears(&self, event: EventName, host: &Host<'_>) -> bool {
        host.hooks.is_some_and(|points| points.hooks.has(event))
    }

    fn fitting(&self, request: Request) -> Result<Request, String> {
        let tokens = self.fixed().total() + self.settings.estimator.messages(&request.messages);
        if tokens > self.room() { Err("it would not fit in the window".into()) } else { Ok(request) }
    }
}

fn taken(changed: Result<Request, String>, original: Request, host: &Host<'_>) -> Request {
    changed.unwrap_or_else(|reason| {
        host.warn(format!("what a hook changes in the request does not count: {reason}"));
        original
    })
}
