//! Reads Anthropic answers, whole or in pieces.

use longhaul_conversation::{
    CallId, FinishReason, Origin, Part, ResponseEvent, Signature, Thought, ToolCall, Vendor,
};
use serde_json::Value;

use crate::answer::AnswerSize;
use crate::answer::{Progress, StreamFault};
use crate::fields::{Fields, Take, into_object, parse_arguments, size_of, size_of_fields};
use crate::usage::anthropic_usage;

const OWN: Vendor = Vendor::Anthropic;

/// Reads the events of one answer; a whole answer is one event of the type `message`.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The block that is arriving, with its index: one follows the other.
    open: Option<(u64, Block)>,
    /// The figures so far: the last event only tells what has changed.
    usage: Fields,
    finish: Option<FinishReason>,
    held: AnswerSize,
}

/// A block of content that is still arriving.
#[derive(Debug)]
struct Block {
    kind: Kind,
    /// Its text or reasoning so far.
    text: String,
    /// The arguments of a call so far.
    input: String,
    signature: String,
    citations: Vec<Value>,
    /// The block as it began, less what is kept above.
    fields: Fields,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    Thinking,
    ToolUse,
    Other,
}

impl Decoder {
    /// Takes one event, or a whole answer.
    pub(crate) fn event(
        &mut self,
        event: Value,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Progress, StreamFault> {
        let mut event = into_object(event);
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "error" => return Err(StreamFault::Error(Value::Object(event))),
            "message" => self.whole(event, out),
            "message_start" => {
                let mut message = event.take_object("message").unwrap_or_default();
                self.add_usage(message.take_object("usage"), out);
            }
            "content_block_start" => {
                self.close(out);
                let fields = event.take_object("content_block").unwrap_or_default();
                let block = Block::begin(fields, &mut self.held, out);
                self.open = Some((index, block));
            }
            "content_block_delta" => {
                let delta = event.take_object("delta").unwrap_or_default();
                if let Some((open, block)) = &mut self.open
                    && *open == index
                {
                    block.delta(delta, &mut self.held, out);
                }
            }
            "content_block_stop" => self.close(out),
            "message_delta" => {
                let mut delta = event.take_object("delta").unwrap_or_default();
                if let Some(reason) = delta.take_string("stop_reason") {
                    self.finish = Some(finish_reason(&reason));
                }
                self.add_usage(event.take_object("usage"), out);
            }
            "message_stop" => return Ok(Progress::Done),
            "" if event.contains_key("error") => return Err(StreamFault::Error(Value::Object(event))),
            // Pings, and what may be added later.
            _ => {}
        }
        Ok(Progress::More)
    }

    /// The size taken in besides text and reasoning.
    pub(crate) fn held(&self) -> AnswerSize {
        self.held
    }

    /// The reason why the model stopped, if the response is complete.
    pub(crate) fn end(&mut self, out: &mut Vec<ResponseEvent>) -> Option<FinishReason> {
        self.close(out);
        self.finish.take()
    }

    fn close(&mut self, out: &mut Vec<ResponseEvent>) {
        if let Some((_, block)) = self.open.take() {
            out.extend(block.into_part().map(ResponseEvent::Part));
        }
    }

    fn whole(&mut self, mut message: Fields, out: &mut Vec<ResponseEvent>) {
        for block in message.take_array("content").unwrap_or_default() {
            let block = Block::begin(into_object(block), &mut self.held, out);
            out.extend(block.into_part().map(ResponseEvent::Part));
        }
        if let Some(reason) = message.take_string("stop_reason") {
            self.finish = Some(finish_reason(&reason));
        }
        self.add_usage(message.take_object("usage"), out);
    }

    fn add_usage(&mut self, usage: Option<Fields>, out: &mut Vec<ResponseEvent>) {
        let Some(usage) = usage else { return };
        self.usage.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
        out.extend(anthropic_usage(&Value::Object(self.usage.clone())).map(ResponseEvent::Usage));
    }
}

impl Block {
    fn begin(mut fields: Fields, held: &mut AnswerSize, out: &mut Vec<ResponseEvent>) -> Self {
        let kind = match fields.get("type").and_then(Value::as_str) {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            Some("tool_use") => Kind::ToolUse,
            _ => Kind::Other,
        };
        if kind != Kind::Other {
            fields.shift_remove("type");
        }
        let mut block = Self {
            kind,
            text: String::new(),
            input: String::new(),
            signature: String::new(),
            citations: Vec::new(),
            fields: Fields::new(),
        };
        match kind {
            Kind::Text => {
                block.citations = fields.take_array("citations").unwrap_or_default();
                fields.retain(|key, value| key != "citations" || !value.is_null());
                block.say(fields.take_string("text").unwrap_or_default(), out);
            }
            Kind::Thinking => {
                block.signature = fields.take_string("signature").unwrap_or_default();
                block.say(fields.take_string("thinking").unwrap_or_default(), out);
            }
            Kind::ToolUse | Kind::Other => {}
        }
        let size = size_of_fields(&fields) + block.citations.iter().map(size_of).sum::<u64>();
        if kind == Kind::ToolUse {
            held.calls += 1;
            held.arguments += size;
        } else {
            held.media += size + block.signature.len() as u64;
        }
        block.fields = fields;
        block
    }

    fn say(&mut self, text: String, out: &mut Vec<ResponseEvent>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(&text);
        match self.kind {
            Kind::Text => out.push(ResponseEvent::TextDelta(text)),
            Kind::Thinking => out.push(ResponseEvent::ThoughtDelta(text)),
            Kind::ToolUse | Kind::Other => {}
        }
    }

    fn delta(&mut self, mut delta: Fields, held: &mut AnswerSize, out: &mut Vec<ResponseEvent>) {
        match delta.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text_delta" => self.say(delta.take_string("text").unwrap_or_default(), out),
            "thinking_delta" => self.say(delta.take_string("thinking").unwrap_or_default(), out),
            "signature_delta" => {
                let signature = delta.take_string("signature").unwrap_or_default();
                held.media += signature.len() as u64;
                self.signature.push_str(&signature);
            }
            "input_json_delta" => {
                let input = delta.take_string("partial_json").unwrap_or_default();
                held.arguments += input.len() as u64;
                self.input.push_str(&input);
            }
            "citations_delta" => {
                let citation = delta.shift_remove("citation");
                held.media += citation.as_ref().map_or(0, size_of);
                self.citations.extend(citation);
            }
            _ => {}
        }
    }

    fn into_part(mut self) -> Option<Part> {
        if !self.citations.is_empty() {
            self.fields.insert("citations".into(), Value::Array(self.citations));
        }
        let part = match self.kind {
            Kind::Text if self.text.is_empty() => return None,
            Kind::Text => Part::model_text(self.text),
            Kind::Thinking => {
                let signature = Some(self.signature).filter(|signature| !signature.is_empty());
                let signature = signature.map(|value| Signature { vendor: OWN, value });
                Part::thought(Thought { text: self.text, signature, item: None })
            }
            Kind::ToolUse => {
                let begun = self.fields.shift_remove("input").unwrap_or_default();
                let args = if self.input.is_empty() && begun.is_object() {
                    begun
                } else {
                    parse_arguments(self.input)
                };
                let id = CallId::new(self.fields.take_string("id").unwrap_or_default());
                let name = self.fields.take_string("name").unwrap_or_default();
                Part::call(ToolCall { id, name, args, reasoning: None })
            }
            Kind::Other => {
                if !self.input.is_empty() {
                    self.fields.insert("input".into(), parse_arguments(self.input));
                }
                return Some(Part::opaque(Origin::Model, OWN, Value::Object(self.fields)));
            }
        };
        Some(part.with_extra(OWN, self.fields))
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::Filtered,
        other => FinishReason::Other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ResponseBuilder, TokenCount, Usage};
    use serde_json::json;

    fn decode(events: &[Value]) -> (ResponseBuilder, Option<FinishReason>) {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        for event in events {
            decoder.event(event.clone(), &mut out).expect("no error inside");
        }
        let finish = decoder.end(&mut out);
        let mut answer = ResponseBuilder::default();
        out.into_iter().for_each(|event| answer.add(event));
        (answer, finish)
    }

    /// The part that a block with these deltas amounts to.
    #[track_caller]
    fn check(block: Value, deltas: &[Value], expected: &[Part]) {
        let mut start = json!({"type": "content_block_start", "index": 0});
        start["content_block"] = block;
        let mut events = vec![start];
        events.extend(
            deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        );
        events.push(json!({"type": "ping"}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
        assert_eq!(decode(&events).0.into_message("a").parts, expected);
    }

    #[test]
    fn blocks_become_parts() {
        let text = |text: &str| json!({"type": "text_delta", "text": text});
        check(json!({"type": "text", "text": ""}), &[text("a"), text("b")], &[Part::model_text("ab")]);
        check(json!({"type": "text", "text": ""}), &[], &[]);
        let signature = Some(Signature { vendor: OWN, value: "s1s2".into() });
        check(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            &[
                json!({"type": "thinking_delta", "thinking": "hm"}),
                json!({"type": "signature_delta", "signature": "s1"}),
                json!({"type": "signature_delta", "signature": "s2"}),
            ],
            &[Part::thought(Thought { text: "hm".into(), signature, item: None })],
        );
        let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
        check(redacted.clone(), &[], &[Part::opaque(Origin::Model, OWN, redacted)]);
        let json_delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
        check(
            json!({"type": "tool_use", "id": "t", "name": "ls", "input": {}, "caller": {"type": "direct"}}),
            &[json_delta(""), json_delta("{\"z\":1,"), json_delta("\"a\":2}")],
            &[Part::call(ToolCall::new("t", "ls").with_args(json!({"z": 1, "a": 2})))
                .with_extra(OWN, into_object(json!({"caller": {"type": "direct"}})))],
        );
        check(
            json!({"type": "tool_use", "id": "t", "name": "ls", "input": {}}),
            &[],
            &[Part::call(ToolCall::new("t", "ls"))],
        );
        check(
            json!({"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}}),
            &[json_delta("{\"query\":\"q\"}")],
            &[Part::opaque(
                Origin::Model,
                OWN,
                json!({"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "q"}}),
            )],
        );
        check(
            json!({"type": "text", "text": "", "citations": null}),
            &[text("a"), json!({"type": "citations_delta", "citation": {"c": 1}})],
            &[Part::model_text("a").with_extra(OWN, into_object(json!({"citations": [{"c": 1}]})))],
        );
    }

    #[test]
    fn a_block_that_is_never_closed_ends_where_the_next_begins() {
        let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}});
        let delta =
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}});
        let (answer, _) = decode(&[start.clone(), start, delta]);
        assert_eq!(answer.into_message("a").parts, [Part::model_text("a"), Part::model_text("ab")]);
    }

    #[test]
    fn usage_grows_and_the_end_tells_why() {
        let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 5,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10, "output_tokens": 1,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 3}}}});
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 42}});
        let (answer, finish) = decode(&[start, delta]);
        let usage = Usage {
            input: Some(TokenCount(115)),
            output: Some(TokenCount(42)),
            cached: Some(TokenCount(100)),
            written: Some(TokenCount(10)),
            written_hour: Some(TokenCount(3)),
            ..Usage::default()
        };
        assert_eq!((answer.usage, finish), (Some(usage), Some(FinishReason::Length)));
    }

    #[test]
    fn a_whole_answer_is_read_the_same() {
        let (answer, finish) = decode(&[json!({"type": "message", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "t", "name": "ls", "input": {"p": 1}}]})]);
        let signature = Some(Signature { vendor: OWN, value: "s".into() });
        assert_eq!(finish, Some(FinishReason::ToolCalls));
        assert_eq!(
            answer.into_message("a").parts,
            [
                Part::thought(Thought { text: "hm".into(), signature, item: None }),
                Part::model_text("a"),
                Part::call(ToolCall::new("t", "ls").with_args(json!({"p": 1}))),
            ]
        );
    }

    #[test]
    fn errors_are_handed_on_and_the_unknown_is_skipped() {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(Decoder::default().event(error.clone(), &mut Vec::new()), Err(StreamFault::Error(error)));
        let stop = json!({"type": "message_stop"});
        assert_eq!(Decoder::default().event(stop, &mut Vec::new()), Ok(Progress::Done));
        for odd in [
            json!({"type": "new"}),
            json!(7),
            json!({"type": "content_block_delta", "index": 9, "delta": {}}),
        ] {
            assert_eq!(Decoder::default().event(odd, &mut Vec::new()), Ok(Progress::More));
        }
    }
}
