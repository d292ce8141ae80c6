//! Assembles a model's response from its stream of events.

use crate::{Body, FinishReason, Message, MessageId, Part, ResponseEvent, Role, Thought, Usage};

/// A model's response, assembled from its events.
///
/// ```
/// use longhaul_conversation::{FinishReason, Part, ResponseBuilder, ResponseEvent};
///
/// let mut response = ResponseBuilder::default();
/// response.add(ResponseEvent::TextDelta("Hel".into()));
/// response.add(ResponseEvent::TextDelta("lo.".into()));
/// response.add(ResponseEvent::Finished(FinishReason::Stop));
/// assert_eq!(response.finish, Some(FinishReason::Stop));
/// assert_eq!(response.into_message("a1").parts, [Part::model_text("Hello.")]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseBuilder {
    /// The provider's figures for the call.
    pub usage: Option<Usage>,
    /// The reason why the model stopped; none until it has.
    pub finish: Option<FinishReason>,
    parts: Vec<Part>,
    open: Option<OpenDelta>,
}

/// The part that the latest deltas belong to.
#[derive(Clone, Debug, PartialEq)]
enum OpenDelta {
    Text(String),
    Thought(String),
}

impl ResponseBuilder {
    /// Adds an event.
    pub fn add(&mut self, event: ResponseEvent) {
        match event {
            ResponseEvent::TextDelta(delta) => match &mut self.open {
                Some(OpenDelta::Text(text)) => text.push_str(&delta),
                _ => self.open_with(OpenDelta::Text(delta)),
            },
            ResponseEvent::ThoughtDelta(delta) => match &mut self.open {
                Some(OpenDelta::Thought(text)) => text.push_str(&delta),
                _ => self.open_with(OpenDelta::Thought(delta)),
            },
            ResponseEvent::Part(part) => {
                match (&part.body, &self.open) {
                    (Body::Text(_), Some(OpenDelta::Text(_)))
                    | (Body::Thought(_), Some(OpenDelta::Thought(_))) => {
                        self.open = None;
                    }
                    _ => self.close(),
                }
                self.parts.push(part);
            }
            ResponseEvent::Usage(usage) => self.usage = Some(usage),
            ResponseEvent::Finished(reason) => self.finish = Some(reason),
        }
    }

    /// The message, complete or as far as it arrived.
    pub fn into_message(mut self, id: impl Into<MessageId>) -> Message {
        self.close();
        Message { usage: self.usage.map(Box::new), ..Message::new(id, Role::Model, self.parts) }
    }

    fn open_with(&mut self, open: OpenDelta) {
        self.close();
        self.open = Some(open);
    }

    fn close(&mut self) {
        let part = match self.open.take() {
            Some(OpenDelta::Text(text)) => Part::model_text(text),
            Some(OpenDelta::Thought(text)) => Part::thought(Thought { text, ..Thought::default() }),
            None => return,
        };
        if !part.is_empty() {
            self.parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Signature, ToolCall, Vendor};

    fn text(delta: &str) -> ResponseEvent {
        ResponseEvent::TextDelta(delta.into())
    }

    fn thought(delta: &str) -> ResponseEvent {
        ResponseEvent::ThoughtDelta(delta.into())
    }

    fn signed(text: &str) -> Part {
        let signature = Some(Signature { vendor: Vendor::Anthropic, value: "s".into() });
        Part::thought(Thought { text: text.into(), signature, item: None })
    }

    fn unsigned(text: &str) -> Part {
        Part::thought(Thought { text: text.into(), ..Thought::default() })
    }

    #[track_caller]
    fn check(events: impl IntoIterator<Item = ResponseEvent>, expected: &[Part]) {
        let mut answer = ResponseBuilder::default();
        events.into_iter().for_each(|event| answer.add(event));
        assert_eq!(answer.into_message("a").parts, expected);
    }

    #[test]
    fn deltas_of_one_kind_are_one_part() {
        check([], &[]);
        check([text("a"), text("b")], &[Part::model_text("ab")]);
        check([thought("t"), text("a")], &[unsigned("t"), Part::model_text("a")]);
        check([text(""), thought("")], &[]);
    }

    #[test]
    fn a_whole_part_stands_for_its_deltas() {
        check([thought("t"), thought("u"), ResponseEvent::Part(signed("tu"))], &[signed("tu")]);
        check([text("a"), ResponseEvent::Part(signed(""))], &[Part::model_text("a"), signed("")]);
        let call = Part::call(ToolCall::new("c", "ls"));
        let whole = [text("a"), ResponseEvent::Part(call.clone()), text("b")];
        check(whole, &[Part::model_text("a"), call, Part::model_text("b")]);
    }

    #[test]
    fn the_last_usage_counts() {
        let mut answer = ResponseBuilder::default();
        let usage = |tokens| Usage { input: Some(crate::TokenCount(tokens)), ..Usage::default() };
        answer.add(ResponseEvent::Usage(usage(1)));
        answer.add(ResponseEvent::Usage(usage(2)));
        assert_eq!(answer.into_message("a").usage, Some(Box::new(usage(2))));
    }
}
