//! Reads Gemini answers, whole or in pieces.

use longhaul_conversation::{
    Body, CallId, FileReference, FinishReason, Media, MediaData, Origin, Part, ResponseEvent, Signature,
    Thought, ToolCall, Vendor,
};
use serde_json::Value;

use crate::answer::AnswerSize;
use crate::answer::{Progress, StreamFault};
use crate::fields::{Fields, Take, into_object, size_of, size_of_fields};
use crate::usage::gemini_usage;

const OWN: Vendor = Vendor::Gemini;

/// Reads the chunks of one answer; a whole answer is one chunk.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Sets apart the ids of calls that come without one.
    seed: String,
    held: AnswerSize,
    /// The text or reasoning whose deltas are not closed by a part.
    open_text: String,
    open_thought: String,
    finish: Option<FinishReason>,
}

impl Decoder {
    pub(crate) fn new(seed: String) -> Self {
        Self {
            seed,
            held: AnswerSize::default(),
            open_text: String::new(),
            open_thought: String::new(),
            finish: None,
        }
    }

    /// Takes one chunk.
    pub(crate) fn chunk(
        &mut self,
        chunk: Value,
        out: &mut Vec<ResponseEvent>,
    ) -> Result<Progress, StreamFault> {
        let mut chunk = into_object(chunk);
        if chunk.contains_key("error") {
            return Err(StreamFault::Error(Value::Object(chunk)));
        }
        if let Some(id) = chunk.take_string("responseId").filter(|id| !id.is_empty()) {
            self.seed = id;
        }
        if let Some(usage) = chunk.get("usageMetadata").and_then(gemini_usage) {
            out.push(ResponseEvent::Usage(usage));
        }
        let blocked = chunk.get("promptFeedback").and_then(|feedback| feedback.get("blockReason")).is_some();
        if blocked {
            self.finish = Some(FinishReason::Filtered);
        }
        let candidate =
            chunk.take_array("candidates").and_then(|mut all| (!all.is_empty()).then(|| all.swap_remove(0)));
        let Some(mut candidate) = candidate.map(into_object) else { return Ok(Progress::More) };
        let parts = candidate.take_object("content").and_then(|mut content| content.take_array("parts"));
        for part in parts.unwrap_or_default() {
            self.part(part, out);
        }
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.finish = Some(self.finish_reason(reason));
        }
        Ok(Progress::More)
    }

    /// The size taken in besides text and reasoning.
    pub(crate) fn held(&self) -> AnswerSize {
        self.held
    }

    /// The reason why the model stopped, if the response is complete.
    pub(crate) fn end(&mut self) -> Option<FinishReason> {
        self.finish.take()
    }

    fn part(&mut self, part: Value, out: &mut Vec<ResponseEvent>) {
        let mut part = match part {
            Value::Object(part) => part,
            other => {
                self.held.media += size_of(&other);
                return self.whole(Part::opaque(Origin::Model, OWN, other), out);
            }
        };
        if let Some(text) = part.take_string("text") {
            return if part.get("thought").and_then(Value::as_bool) == Some(true) {
                part.shift_remove("thought");
                self.thought(text, part, out);
            } else {
                self.text(text, part, out);
            };
        }
        let (key, body, rest) = if let Some(call) = part.take_object("functionCall") {
            self.held.arguments += size_of_fields(&call);
            let (call, rest) = self.call(call);
            ("functionCall", Body::Call(Box::new(call)), rest)
        } else if let Some(media) = part.take_object("inlineData") {
            self.held.media += size_of_fields(&media);
            let (media, rest) = read_media(media);
            ("inlineData", Body::Media(Box::new(media)), rest)
        } else if let Some(mut file) = part.take_object("fileData") {
            let uri = file.take_string("fileUri").unwrap_or_default();
            let file_reference = FileReference { mime: file.take_string("mimeType"), uri };
            ("fileData", Body::File(Box::new(file_reference)), file)
        } else {
            self.held.media += size_of_fields(&part);
            return self.whole(Part::opaque(Origin::Model, OWN, Value::Object(part)), out);
        };
        if !rest.is_empty() {
            part.insert(key.to_string(), Value::Object(rest));
        }
        self.whole(Part::new(Origin::Model, body).with_extra(OWN, part), out);
    }

    /// Text without further fields is only a delta. With them it is a part of its own: Google wants signed pieces back
    /// as they came, so what streamed before is closed first.
    fn text(&mut self, text: String, fields: Fields, out: &mut Vec<ResponseEvent>) {
        self.open_thought.clear();
        if fields.is_empty() {
            self.open_text.push_str(&text);
            return push_delta(ResponseEvent::TextDelta, text, out);
        }
        self.held.media += size_of_fields(&fields);
        if !self.open_text.is_empty() {
            let open = std::mem::take(&mut self.open_text);
            out.push(ResponseEvent::Part(Part::model_text(open)));
        }
        push_delta(ResponseEvent::TextDelta, text.clone(), out);
        out.push(ResponseEvent::Part(Part::model_text(text).with_extra(OWN, fields)));
    }

    fn thought(&mut self, text: String, mut fields: Fields, out: &mut Vec<ResponseEvent>) {
        self.open_text.clear();
        if fields.is_empty() {
            self.open_thought.push_str(&text);
            return push_delta(ResponseEvent::ThoughtDelta, text, out);
        }
        self.held.media += size_of_fields(&fields);
        if !self.open_thought.is_empty() {
            let text = std::mem::take(&mut self.open_thought);
            out.push(ResponseEvent::Part(Part::thought(Thought { text, ..Thought::default() })));
        }
        push_delta(ResponseEvent::ThoughtDelta, text.clone(), out);
        let signature = fields.take_string("thoughtSignature");
        let signature = signature.map(|value| Signature { vendor: OWN, value });
        let thought = Part::thought(Thought { text, signature, item: None });
        out.push(ResponseEvent::Part(thought.with_extra(OWN, fields)));
    }

    fn whole(&mut self, part: Part, out: &mut Vec<ResponseEvent>) {
        self.open_text.clear();
        self.open_thought.clear();
        out.push(ResponseEvent::Part(part));
    }

    fn call(&mut self, mut call: Fields) -> (ToolCall, Fields) {
        let name = call.take_string("name").unwrap_or_default();
        self.held.calls += 1;
        let id = match call.take_string("id").filter(|id| !id.is_empty()) {
            Some(id) => CallId::new(id),
            None => CallId::made_up(format_args!("{}-{}", self.seed, self.held.calls)),
        };
        let args = match call.shift_remove("args") {
            None | Some(Value::Null) => Value::Object(Fields::new()),
            Some(args) => args,
        };
        (ToolCall { id, name, args, reasoning: None }, call)
    }

    fn finish_reason(&self, reason: &str) -> FinishReason {
        match reason {
            "STOP" if self.held.calls > 0 => FinishReason::ToolCalls,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => FinishReason::Filtered,
            other => FinishReason::Other(other.to_string()),
        }
    }
}

fn push_delta(kind: fn(String) -> ResponseEvent, text: String, out: &mut Vec<ResponseEvent>) {
    if !text.is_empty() {
        out.push(kind(text));
    }
}

fn read_media(mut media: Fields) -> (Media, Fields) {
    let mime = media.take_string("mimeType").unwrap_or_default();
    let data = media.take_string("data").map_or(MediaData::Omitted { bytes: 0 }, MediaData::Base64);
    (Media { mime, data }, media)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ResponseBuilder, TokenCount, Usage};
    use serde_json::json;

    fn decode(chunks: &[Value]) -> (Vec<ResponseEvent>, Option<FinishReason>) {
        let mut decoder = Decoder::new("seed".into());
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.chunk(chunk.clone(), &mut events).expect("no error inside");
        }
        (events, decoder.end())
    }

    /// The parts that chunks of these parts amount to.
    #[track_caller]
    fn check(chunks: &[Value], expected: &[Part]) {
        let chunks: Vec<Value> = chunks
            .iter()
            .map(|parts| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]}))
            .collect();
        let mut answer = ResponseBuilder::default();
        decode(&chunks).0.into_iter().for_each(|event| answer.add(event));
        assert_eq!(answer.into_message("a").parts, expected);
    }

    fn signed(text: &str, signature: &str) -> Part {
        let fields = into_object(json!({"thoughtSignature": signature}));
        Part::model_text(text).with_extra(OWN, fields)
    }

    #[test]
    fn pieces_are_joined_but_never_with_signed_ones() {
        check(&[json!([{"text": "a"}]), json!([{"text": "b"}])], &[Part::model_text("ab")]);
        check(
            &[
                json!([{"text": "a"}]),
                json!([{"text": "b", "thoughtSignature": "s"}]),
                json!([{"text": "c"}]),
            ],
            &[Part::model_text("a"), signed("b", "s"), Part::model_text("c")],
        );
        check(
            &[json!([{"text": "a"}, {"text": "", "thoughtSignature": "s"}])],
            &[Part::model_text("a"), signed("", "s")],
        );
    }

    #[test]
    fn thoughts_are_kept_apart_from_text() {
        let thought = |text: &str, signature: Option<&str>| {
            let signature = signature.map(|value| Signature { vendor: OWN, value: value.into() });
            Part::thought(Thought { text: text.into(), signature, item: None })
        };
        check(
            &[
                json!([{"text": "t", "thought": true}]),
                json!([{"text": "u", "thought": true}, {"text": "a"}]),
            ],
            &[thought("tu", None), Part::model_text("a")],
        );
        check(
            &[
                json!([{"text": "t", "thought": true}, {"text": "u", "thought": true, "thoughtSignature": "s"}]),
            ],
            &[thought("t", None), thought("u", Some("s"))],
        );
    }

    #[test]
    fn calls_keep_their_fields_and_get_ids_of_their_own() {
        let call =
            |id: CallId, args: Value| Part::call(ToolCall { id, name: "ls".into(), args, reasoning: None });
        check(
            &[json!([
                {"functionCall": {"name": "ls", "args": {"z": 1, "a": 2}, "new": 3}, "thoughtSignature": "s"},
                {"functionCall": {"id": "own", "name": "ls"}},
                {"functionCall": {"name": "ls", "args": null}},
            ])],
            &[
                call(CallId::made_up("seed-1"), json!({"z": 1, "a": 2})).with_extra(
                    OWN,
                    into_object(json!({"thoughtSignature": "s", "functionCall": {"new": 3}})),
                ),
                call(CallId::new("own"), json!({})),
                call(CallId::made_up("seed-3"), json!({})),
            ],
        );
    }

    #[test]
    fn what_is_not_modelled_is_carried_along() {
        let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
        check(
            &[json!([code, 7])],
            &[Part::opaque(Origin::Model, OWN, code), Part::opaque(Origin::Model, OWN, json!(7))],
        );
    }

    #[track_caller]
    fn check_finish(chunk: Value, expected: Option<&FinishReason>) {
        assert_eq!(decode(&[chunk]).1.as_ref(), expected);
    }

    #[test]
    fn reasons_to_stop() {
        let stopped = |reason: &str, parts: Value| json!({"candidates": [{"content": {"parts": parts}, "finishReason": reason}]});
        check_finish(stopped("STOP", json!([])), Some(&FinishReason::Stop));
        check_finish(
            stopped("STOP", json!([{"functionCall": {"name": "x"}}])),
            Some(&FinishReason::ToolCalls),
        );
        check_finish(stopped("MAX_TOKENS", json!([])), Some(&FinishReason::Length));
        check_finish(stopped("SAFETY", json!([])), Some(&FinishReason::Filtered));
        check_finish(
            stopped("MALFORMED_FUNCTION_CALL", json!([])),
            Some(&FinishReason::Other("MALFORMED_FUNCTION_CALL".into())),
        );
        check_finish(json!({"promptFeedback": {"blockReason": "SAFETY"}}), Some(&FinishReason::Filtered));
        check_finish(json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}), None);
        check_finish(json!({"candidates": []}), None);
    }

    #[test]
    fn usage_tells_cached_and_thinking_tokens() {
        let chunk = json!({"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 15,
            "cachedContentTokenCount": 8, "thoughtsTokenCount": 3}});
        let usage = Usage {
            input: Some(TokenCount(10)),
            output: Some(TokenCount(2)),
            cached: Some(TokenCount(8)),
            thoughts: Some(TokenCount(3)),
            total: Some(TokenCount(15)),
            ..Usage::default()
        };
        assert_eq!(decode(&[chunk]).0, [ResponseEvent::Usage(usage)]);
    }

    #[test]
    fn an_error_inside_is_handed_on() {
        let error = json!({"error": {"code": 503, "message": "overloaded"}});
        let seen = Decoder::new(String::new()).chunk(error.clone(), &mut Vec::new());
        assert_eq!(seen, Err(StreamFault::Error(error)));
    }
}
