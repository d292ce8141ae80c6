//! A message in full, told by what the record before it says of it already: a tool's output, the arguments of a call or a
//! long text stands in the log once, and only what differs is written beside it.
//!
//! A part `{"read": 0}` is the first part of the message as it was read; fields beside `read` say what is different.

use longhaul_conversation::{Body, Message, Origin, Output, Part, Thought, ToolCall, ToolResult};
use longhaul_wire::{Json, Object, object};
use serde_json::{Map, Value};

use super::exact::{
    decode_call, decode_extra, decode_message_with, decode_part, decode_result, decode_thought, encode_call,
    encode_message_with, encode_part, encode_result, encode_thought, insert_extra,
};

/// The output of a result is the one that was read.
const SAME: &str = "same";
/// The output of a result is the text of the one that was read.
const TEXT: &str = "text";
/// The result has no output but what is nested in it.
const NONE: &str = "none";

/// The message as JSON, without what `read` has of it already.
pub(super) fn encode_delta(message: &Message, read: &Message) -> Value {
    encode_message_with(message, encode_parts(&message.parts, &read.parts))
}

/// The message that [`encode_delta`] wrote, or one that was written in full.
pub(super) fn decode_delta(message: Json<'_>, read: Option<&Message>) -> Option<Message> {
    let read = read.map_or(&[][..], |read| &read.parts);
    decode_message_with(message, |parts| decode_parts(parts, read))
}

fn encode_parts(parts: &[Part], read: &[Part]) -> Value {
    parts.iter().map(|part| encode_known(part, read).unwrap_or_else(|| encode_part(part))).collect()
}

fn decode_parts(parts: Vec<Json<'_>>, read: &[Part]) -> Option<Vec<Part>> {
    let decoded = parts.into_iter().map(|part| match part {
        Json::Object(mut fields) if fields.has("read") => {
            let place = fields.take("read").as_ref().and_then(Json::as_u64)?;
            decode_known(fields, read.get(usize::try_from(place).ok()?)?)
        }
        part => decode_part(part),
    });
    decoded.collect()
}

/// A part by the one that was read, if there is one with the same content.
fn encode_known(part: &Part, read: &[Part]) -> Option<Value> {
    read.iter().enumerate().find_map(|(place, known)| {
        let difference = encode_difference(part, known)?;
        let mut encoded = object([("read", place.into())]);
        encoded.extend(difference);
        Some(Value::Object(encoded))
    })
}

/// The fields that differ between two parts; `None` if their content does.
fn encode_difference(part: &Part, known: &Part) -> Option<Map<String, Value>> {
    let body = match (&part.body, &known.body) {
        (body, known) if body == known => None,
        (Body::Result(result), Body::Result(known)) => Some(("result", encode_known_result(result, known)?)),
        (Body::Call(call), Body::Call(known)) if call.args == known.args => {
            let bare = ToolCall { args: Value::Null, ..ToolCall::clone(call) };
            Some(("call", encode_call(&bare)))
        }
        (Body::Thought(thought), Body::Thought(known)) if thought.text == known.text => {
            let bare = Thought { text: String::new(), ..Thought::clone(thought) };
            Some(("thought", encode_thought(&bare)))
        }
        _ => return None,
    };
    let mut fields = Map::new();
    if part.origin != known.origin {
        fields.insert("origin".into(), part.origin.as_str().into());
    }
    if part.extra != known.extra {
        fields.insert("unlike".into(), true.into());
        insert_extra(&mut fields, &part.extra);
    }
    fields.extend(body.map(|(key, value)| (key.to_string(), value)));
    Some(fields)
}

/// The part that [`encode_difference`] told of.
fn decode_known(mut fields: Object<'_>, known: &Part) -> Option<Part> {
    let origin = match fields.str("origin") {
        Some(word) => Origin::from_word(word)?,
        None => known.origin,
    };
    let extra = match fields.is_true("unlike") {
        true => decode_extra(&mut fields)?,
        false => known.extra.clone(),
    };
    let body = match &known.body {
        Body::Result(known) if fields.has("result") => {
            Body::Result(Box::new(decode_known_result(fields.take_object("result")?, known)?))
        }
        Body::Call(known) if fields.has("call") => {
            let call = decode_call(fields.take_object("call")?)?;
            Body::Call(Box::new(ToolCall { args: known.args.clone(), ..call }))
        }
        Body::Thought(known) if fields.has("thought") => {
            let thought = decode_thought(fields.take_object("thought")?)?;
            Body::Thought(Box::new(Thought { text: known.text.clone(), ..thought }))
        }
        body => body.clone(),
    };
    Some(Part { origin, body, extra })
}

/// A result by one that has the same output, perhaps in another form.
fn encode_known_result(result: &ToolResult, known: &ToolResult) -> Option<Value> {
    let output = match &result.output {
        output if *output == known.output => SAME,
        Output::Text(text) if *text == output_text(known) => TEXT,
        Output::Empty if result.call == known.call => NONE,
        _ => return None,
    };
    let bare = ToolResult { output: Output::Empty, nested: Vec::new(), ..ToolResult::clone(result) };
    let Value::Object(mut encoded) = encode_result(&bare) else { return None };
    encoded.insert("output".into(), output.into());
    if !result.nested.is_empty() {
        encoded.insert("nested".into(), encode_parts(&result.nested, &nested_or_output(known)));
    }
    Some(Value::Object(encoded))
}

/// The result that [`encode_known_result`] told of.
fn decode_known_result(mut fields: Object<'_>, known: &ToolResult) -> Option<ToolResult> {
    let nested = fields.take_array("nested").unwrap_or_default();
    let nested = decode_parts(nested, &nested_or_output(known))?;
    let output = match fields.take_string("output")?.as_str() {
        SAME => known.output.clone(),
        TEXT => Output::Text(output_text(known)),
        NONE => Output::Empty,
        _ => return None,
    };
    Some(ToolResult { output, nested, ..decode_result(fields)? })
}

/// The parts nested in a result, and its output as one more: other vendors nest what Gemini has as output.
fn nested_or_output(result: &ToolResult) -> Vec<Part> {
    let output = Part::text(Origin::Tool, output_text(result));
    result.nested.iter().cloned().chain([output]).collect()
}

/// The text of a result's output, without what came with it.
fn output_text(result: &ToolResult) -> String {
    let bare = ToolResult { output: result.output.clone(), ..ToolResult::text(result.call.clone(), "") };
    bare.readable().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Extra, Role, Signature, ToolStatus, Vendor};
    use longhaul_testkit::messages::messages;
    use proptest::prelude::*;
    use serde_json::json;

    fn message(parts: Vec<Part>) -> Message {
        Message::new("m", Role::User, parts)
    }

    /// Checks that a message comes back, and returns what is written of it.
    #[track_caller]
    fn check(message: &Message, read: &Message) -> String {
        let text = encode_delta(message, read).to_string();
        let decoded = decode_delta(Json::parse(&text).expect("we wrote it"), Some(read));
        assert_eq!(decoded.as_ref(), Some(message), "{text}");
        text
    }

    #[track_caller]
    fn check_is_not_written(meant: Part, read: Part) {
        let text = check(&message(vec![meant]), &message(vec![Part::user_text("before"), read]));
        assert!(!text.contains("long") && text.contains(r#""read":1"#), "{text}");
    }

    #[test]
    fn what_was_read_is_not_written_again() {
        let result = |output| ToolResult { output, ..ToolResult::text("c", "").with_name("ls") };
        let structured = |key: &str| result(Output::Structured(json!({key: "a long list"})));
        let plain = Part::result(result(Output::Text("a long list".into())).with_status(ToolStatus::Failed));
        check_is_not_written(plain.clone(), Part::result(structured("output")));
        check_is_not_written(plain, Part::result(structured("error")));
        check_is_not_written(Part::text(Origin::Hook, "a long text"), Part::user_text("a long text"));
        let call = ToolCall::new("c", "write").with_args(json!({"text": "a long text"}));
        let reasoned = ToolCall { reasoning: Some("r".into()), ..call.clone() };
        check_is_not_written(Part::call(reasoned), Part::call(call));
        let thought = Thought { text: "a long thought".into(), ..Thought::default() };
        let signature = Some(Signature { vendor: Vendor::Anthropic, value: "s".into() });
        let fields = json!({"x": 1}).as_object().cloned().unwrap_or_default();
        let signed = Part::thought(Thought { signature, ..thought.clone() });
        let signed = Part { extra: Extra::boxed(Vendor::Anthropic, fields), ..signed };
        check_is_not_written(signed, Part::thought(thought));
    }

    #[test]
    fn what_comes_with_a_result_is_not_written_again() {
        let picture = Part::opaque(Origin::Tool, Vendor::Gemini, json!({"data": "long"}));
        let with = |output, nested| ToolResult { output, nested, ..ToolResult::text("c", "") };
        let meant = with(Output::Text("a long list".into()), vec![picture.clone(), Part::user_text("new")]);
        let read = with(Output::Structured(json!({"output": "a long list"})), vec![picture]);
        check_is_not_written(Part::result(meant), Part::result(read.clone()));
        let blocks = with(Output::Empty, vec![Part::text(Origin::Tool, "a long list")]);
        check_is_not_written(Part::result(blocks), Part::result(read));
    }

    #[test]
    fn a_message_in_full_needs_nothing_else() {
        let full = message(vec![Part::user_text("hi")]);
        let text = super::super::exact::encode_message(&full).to_string();
        assert_eq!(decode_delta(Json::parse(&text).expect("valid"), None), Some(full.clone()));
        let delta = encode_delta(&full, &full).to_string();
        assert_eq!(decode_delta(Json::parse(&delta).expect("valid"), None), None, "nothing to refer to");
    }

    proptest! {
        #[test]
        fn every_message_comes_back_whatever_was_read(message in messages(), read in messages()) {
            check(&message, &read);
            check(&message, &message);
        }
    }
}
