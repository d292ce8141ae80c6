//! Reads chat completions, whole or in pieces.

use longhaul_conversation::{CallId, FinishReason, Origin, Part, ResponseEvent, Thought, ToolCall, Vendor};
use serde_json::Value;

use super::{DETAILS, SENT_AS};
use crate::answer::AnswerSize;
use crate::answer::{Progress, StreamFault};
use crate::fields::{Fields, Take, into_object, object, parse_arguments, size_of, size_of_fields};
use crate::usage::chat_usage;

const OWN: Vendor = Vendor::OpenAiChat;

/// Reads the chunks of one answer; a whole answer is one chunk with a `message` in place of the `delta`.
#[derive(Debug)]
pub(crate) struct Decoder {
    seed: String,
    reasoning: Option<Reasoning>,
    details: Vec<Value>,
    calls: Vec<OpenCall>,
    has_content: bool,
    finish: Option<String>,
    held: AnswerSize,
}

/// Reasoning whose deltas no part has closed yet.
#[derive(Debug)]
struct Reasoning {
    sent_as: &'static str,
    text: String,
}

/// A call whose arguments are still arriving.
#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Some servers send the arguments as an object.
    args: Option<Value>,
    fields: Fields,
}

impl Decoder {
    pub(crate) fn new(seed: String) -> Self {
        Self {
            seed,
            reasoning: None,
            details: Vec::new(),
            calls: Vec::new(),
            has_content: false,
            finish: None,
            held: AnswerSize::default(),
        }
    }

    /// The size taken in besides text and reasoning.
    pub(crate) fn held(&self) -> AnswerSize {
        self.held
    }

    /// Takes one chunk.
    pub(crate) fn chunk(
        &mut self,
        chunk: Value,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Progress, StreamFault> {
        let mut chunk = into_object(chunk);
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(StreamFault::Error(Value::Object(chunk)));
        }
        if let Some(id) = chunk.take_string("id").filter(|id| !id.is_empty()) {
            self.seed = id;
        }
        let choices = chunk.take_array("choices").unwrap_or_default();
        for mut choice in choices.into_iter().map(into_object) {
            if choice.get("index").and_then(Value::as_u64).is_some_and(|index| index > 0) {
                continue;
            }
            if let Some(delta) = choice.take_object("delta").or_else(|| choice.take_object("message")) {
                self.delta(delta, out);
            }
            if let Some(reason) = choice.take_string("finish_reason").filter(|reason| !reason.is_empty()) {
                self.finish = Some(reason);
            }
        }
        if let Some(usage) = chunk.get("usage").and_then(chat_usage) {
            out.push(ResponseEvent::Usage(usage));
        }
        Ok(Progress::More)
    }

    /// Hands on the calls and tells why the model stopped, if the answer is complete. A server that says it is done
    /// need not say why.
    pub(crate) fn end(&mut self, is_done: bool, out: &mut Vec<ResponseEvent>) -> Option<FinishReason> {
        let finish = self.finish.take();
        let said_all = is_done && (self.has_content || !self.calls.is_empty());
        if finish.is_none() && !said_all {
            return None;
        }
        self.close_reasoning(out);
        if !self.details.is_empty() {
            let details = object([(DETAILS, Value::Array(std::mem::take(&mut self.details)))]);
            out.push(ResponseEvent::Part(Part::opaque(Origin::Model, OWN, Value::Object(details))));
        }
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        for (place, call) in calls.into_iter().enumerate() {
            out.push(ResponseEvent::Part(call.into_part(&self.seed, place + 1)));
        }
        Some(match finish.as_deref() {
            None | Some("stop" | "tool_calls" | "function_call") if has_calls => FinishReason::ToolCalls,
            None | Some("stop" | "eos") => FinishReason::Stop,
            Some("tool_calls" | "function_call") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("content_filter") => FinishReason::Filtered,
            Some(other) => FinishReason::Other(other.to_string()),
        })
    }

    fn delta(&mut self, mut delta: Fields, out: &mut Vec<ResponseEvent>) {
        for sent_as in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta.take_string(sent_as).filter(|text| !text.is_empty()) {
                self.think(sent_as, text, out);
                // OpenRouter sends the same under both names.
                break;
            }
        }
        for detail in delta.take_array(DETAILS).unwrap_or_default() {
            self.held.media += add_detail(&mut self.details, detail);
        }
        match delta.shift_remove("content") {
            Some(Value::String(text)) => self.say(text, out),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    self.block(block, out);
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta.take_string("refusal") {
            self.say(refusal, out);
        }
        for call in delta.take_array("tool_calls").unwrap_or_default() {
            self.call(into_object(call));
        }
        if let Some(function) = delta.take_object("function_call") {
            self.call(object([("index", 0.into()), ("function", Value::Object(function))]));
        }
    }

    fn say(&mut self, text: String, out: &mut Vec<ResponseEvent>) {
        if !text.is_empty() {
            self.close_reasoning(out);
            self.has_content = true;
            out.push(ResponseEvent::TextDelta(text));
        }
    }

    fn think(&mut self, sent_as: &'static str, text: String, out: &mut Vec<ResponseEvent>) {
        match &mut self.reasoning {
            Some(open) if open.sent_as == sent_as => open.text.push_str(&text),
            _ => {
                self.close_reasoning(out);
                self.reasoning = Some(Reasoning { sent_as, text: text.clone() });
            }
        }
        self.has_content = true;
        out.push(ResponseEvent::ThoughtDelta(text));
    }

    fn close_reasoning(&mut self, out: &mut Vec<ResponseEvent>) {
        if let Some(Reasoning { sent_as, text }) = self.reasoning.take() {
            let thought = Part::thought(Thought { text, ..Thought::default() });
            out.push(ResponseEvent::Part(thought.with_extra(OWN, object([(SENT_AS, sent_as.into())]))));
        }
    }

    /// Content in blocks, as some servers send it.
    fn block(&mut self, block: Value, out: &mut Vec<ResponseEvent>) {
        let mut block = into_object(block);
        match block.get("type").and_then(Value::as_str) {
            Some("text") => self.say(block.take_string("text").unwrap_or_default(), out),
            Some("thinking") => {
                let texts = block.take_array("thinking").unwrap_or_default();
                let texts = texts.iter().filter_map(|text| text.get("text")?.as_str());
                let text: String = texts.collect();
                if !text.is_empty() {
                    self.think("content", text, out);
                }
            }
            _ => {
                self.close_reasoning(out);
                self.has_content = true;
                self.held.media += size_of_fields(&block);
                out.push(ResponseEvent::Part(Part::opaque(Origin::Model, OWN, Value::Object(block))));
            }
        }
    }

    /// One piece of a call. Pieces belong together by index; a server without indices starts a call with its id.
    fn call(&mut self, mut piece: Fields) {
        let index = piece.shift_remove("index").and_then(|index| index.as_u64());
        let id = piece.take_string("id").unwrap_or_default();
        let continues = |call: &OpenCall| {
            let same_place = index.is_none() || call.index == index;
            same_place && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let place = match self.calls.iter().rposition(continues) {
            Some(place) if index.is_some() || place + 1 == self.calls.len() => place,
            _ => {
                self.calls.push(OpenCall { index, ..OpenCall::default() });
                self.held.calls += 1;
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        if !id.is_empty() {
            call.id = id;
        }
        let mut function = piece.take_object("function").unwrap_or_default();
        if let Some(name) = function.take_string("name")
            && call.name != name
        {
            self.held.arguments += name.len() as u64;
            call.name.push_str(&name);
        }
        match function.shift_remove("arguments") {
            Some(Value::String(text)) => {
                self.held.arguments += text.len() as u64;
                call.arguments.push_str(&text);
            }
            None | Some(Value::Null) => {}
            Some(args) => {
                self.held.arguments += size_of(&args);
                call.args = Some(args);
            }
        }
        if piece.get("type").and_then(Value::as_str) == Some("function") {
            piece.shift_remove("type");
        }
        if !function.is_empty() {
            piece.insert("function".into(), Value::Object(function));
        }
        self.held.media += size_of_fields(&piece);
        call.fields.extend(piece);
    }
}

impl OpenCall {
    fn into_part(self, seed: &str, place: usize) -> Part {
        let id = if self.id.is_empty() {
            CallId::made_up(format_args!("{seed}-{place}"))
        } else {
            CallId::new(self.id)
        };
        let args = self.args.unwrap_or_else(|| parse_arguments(self.arguments));
        let call = ToolCall { id, name: self.name, args, reasoning: None };
        Part::call(call).with_extra(OWN, self.fields)
    }
}

/// Details arrive in pieces, too: those of one index are one item, whose texts grow. Tells by how many bytes.
fn add_detail(details: &mut Vec<Value>, piece: Value) -> u64 {
    let same = |known: &Value| {
        piece.get("index").is_some() && ["index", "type"].iter().all(|key| known.get(key) == piece.get(key))
    };
    let Some(place) = details.iter().position(same) else {
        let size = size_of(&piece);
        details.push(piece);
        return size;
    };
    let (Value::Object(known), Value::Object(piece)) = (&mut details[place], piece) else { return 0 };
    let mut grown = 0;
    for (key, value) in piece {
        match (known.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary", "data"].contains(&&*key) =>
            {
                grown += more.len() as u64;
                text.push_str(&more);
            }
            (_, Value::Null) => {}
            (Some(same), value) if *same == value => {}
            (_, value) => {
                grown += key.len() as u64 + size_of(&value);
                known.insert(key, value);
            }
        }
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ResponseBuilder, TokenCount, Usage};
    use serde_json::json;

    fn decode(chunks: &[Value]) -> (ResponseBuilder, Option<FinishReason>) {
        let mut decoder = Decoder::new("seed".into());
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.chunk(chunk.clone(), &mut events).expect("no error inside");
        }
        let finish = decoder.end(false, &mut events);
        let mut answer = ResponseBuilder::default();
        events.into_iter().for_each(|event| answer.add(event));
        (answer, finish)
    }

    /// The parts that these deltas amount to.
    #[track_caller]
    fn check(deltas: &[Value], expected: &[Part]) {
        let mut chunks: Vec<Value> =
            deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).collect();
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        assert_eq!(decode(&chunks).0.into_message("a").parts, expected);
    }

    fn call(id: &str, name: &str, args: Value) -> Part {
        Part::call(ToolCall { id: CallId::new(id), name: name.into(), args, reasoning: None })
    }

    fn thought(sent_as: &str, text: &str) -> Part {
        let thought = Part::thought(Thought { text: text.into(), ..Thought::default() });
        thought.with_extra(OWN, object([(SENT_AS, sent_as.into())]))
    }

    #[test]
    fn texts_and_reasoning_are_joined() {
        check(
            &[json!({"content": "a"}), json!({"content": ""}), json!({"content": "b"})],
            &[Part::model_text("ab")],
        );
        check(
            &[json!({"reasoning_content": "t"}), json!({"reasoning_content": "u"}), json!({"content": "a"})],
            &[thought("reasoning_content", "tu"), Part::model_text("a")],
        );
        check(
            &[json!({"reasoning": "t", "content": "a"})],
            &[thought("reasoning", "t"), Part::model_text("a")],
        );
        check(&[json!({"refusal": "no"})], &[Part::model_text("no")]);
        check(
            &[
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]}),
            ],
            &[thought("content", "t"), Part::model_text("a")],
        );
    }

    #[test]
    fn pieces_of_calls_come_together() {
        let piece = |index: u64, id: &str, name: &str, arguments: &str| json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]});
        let more = |index: u64, arguments: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]});
        check(
            &[
                piece(0, "a", "ls", ""),
                piece(1, "b", "cat", "{\"f"),
                more(0, "{\"p\":"),
                more(1, "\":2}"),
                more(0, "1}"),
            ],
            &[call("a", "ls", json!({"p": 1})), call("b", "cat", json!({"f": 2}))],
        );
        // Servers that give every call the index 0, and servers that give none.
        check(
            &[piece(0, "a", "ls", "{}"), piece(0, "b", "ls", "{}")],
            &[call("a", "ls", json!({})), call("b", "ls", json!({}))],
        );
        check(
            &[
                json!({"tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{\"x\""}}]}),
                json!({"tool_calls": [{"function": {"arguments": ":1}"}}]}),
                json!({"tool_calls": [{"id": "b", "function": {"name": "ls", "arguments": {"y": 2}}}]}),
            ],
            &[call("a", "ls", json!({"x": 1})), call("b", "ls", json!({"y": 2}))],
        );
        check(&[piece(0, "", "ls", "{\"cut")], &[call("lh-call-seed-1", "ls", json!("{\"cut"))]);
    }

    #[test]
    fn fields_of_calls_and_details_of_reasoning_are_kept() {
        let signature = json!({"google": {"thought_signature": "s"}});
        check(
            &[
                json!({"tool_calls": [{"index": 0, "id": "a", "extra_content": signature, "function": {"name": "ls", "arguments": ""}}]}),
            ],
            &[call("a", "ls", json!({})).with_extra(OWN, object([("extra_content", signature)]))],
        );
        check(
            &[
                json!({DETAILS: [{"type": "reasoning.text", "text": "a", "index": 0}]}),
                json!({DETAILS: [{"type": "reasoning.text", "text": "b", "signature": "s", "index": 0}]}),
            ],
            &[Part::opaque(
                Origin::Model,
                OWN,
                json!({DETAILS: [{"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"}]}),
            )],
        );
    }

    #[track_caller]
    fn check_finish(chunk: Value, expected: Option<&FinishReason>) {
        assert_eq!(decode(&[chunk]).1.as_ref(), expected);
    }

    #[test]
    fn reasons_to_stop() {
        let stopped =
            |reason: Value, delta: Value| json!({"choices": [{"delta": delta, "finish_reason": reason}]});
        let calls = json!({"tool_calls": [{"id": "a", "function": {"name": "ls"}}]});
        check_finish(stopped(json!("stop"), json!({})), Some(&FinishReason::Stop));
        check_finish(stopped(json!("stop"), calls.clone()), Some(&FinishReason::ToolCalls));
        check_finish(stopped(json!("tool_calls"), calls.clone()), Some(&FinishReason::ToolCalls));
        check_finish(stopped(json!("length"), calls), Some(&FinishReason::Length));
        check_finish(stopped(json!("content_filter"), json!({})), Some(&FinishReason::Filtered));
        check_finish(stopped(json!("odd"), json!({})), Some(&FinishReason::Other("odd".into())));
        check_finish(stopped(Value::Null, json!({"content": "a"})), None);
    }

    #[test]
    fn a_whole_answer_is_read_the_same() {
        let answer = json!({"id": "r", "choices": [{"index": 0, "finish_reason": "stop", "message":
            {"role": "assistant", "content": "a", "tool_calls": null}}], "usage": {"prompt_tokens": 9,
            "completion_tokens": 7, "total_tokens": 16, "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 5}}});
        let (answer, finish) = decode(&[answer]);
        let usage = Usage {
            input: Some(TokenCount(9)),
            output: Some(TokenCount(2)),
            cached: Some(TokenCount(4)),
            thoughts: Some(TokenCount(5)),
            total: Some(TokenCount(16)),
            ..Usage::default()
        };
        assert_eq!((answer.usage, finish), (Some(usage), Some(FinishReason::Stop)));
        assert_eq!(answer.into_message("a").parts, [Part::model_text("a")]);
    }

    #[test]
    fn done_without_a_reason_is_a_stop_if_something_was_said() {
        let said = json!({"choices": [{"delta": {"content": "a"}}]});
        let mut decoder = Decoder::new(String::new());
        decoder.chunk(said, &mut Vec::new()).expect("fine");
        assert_eq!(decoder.end(true, &mut Vec::new()), Some(FinishReason::Stop));
        assert_eq!(Decoder::new(String::new()).end(true, &mut Vec::new()), None);
    }
}
