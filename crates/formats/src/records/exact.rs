//! A message in full as JSON, for where another program's record has no place for all of it.
//!
//! A message encoded here is decoded to an equal value: origins, vendors, signatures and everything nested included. Only
//! the ordinal is left out, for it follows from the message's place in the log.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Opaque, Origin, Output, Part,
    Role, Signature, Thought, Timestamp, TokenCount, ToolCall, ToolDeclaration, ToolResult, ToolStatus,
    Usage, Vendor,
};
use longhaul_wire::{Json, Object, object};
use serde_json::{Map, Value};

use super::{status_of_word, status_word};

/// Values nested deeper than this are written as text, for a reader of lines takes no more than 128 levels in all.
const DEPTH_LIMIT: usize = 48;
/// Values nested deeper than this cannot be read at all.
const LEGIBLE_DEPTH: usize = 120;
/// The deepest nesting of results.
const NESTED_RESULTS: usize = 12;

const VENDORS: [(&str, Vendor); 5] = [
    ("gemini", Vendor::Gemini),
    ("openai-chat", Vendor::OpenAiChat),
    ("openai-responses", Vendor::OpenAiResponses),
    ("anthropic", Vendor::Anthropic),
    ("agent", Vendor::Agent),
];

/// The message as JSON.
pub(super) fn encode_message(message: &Message) -> Value {
    encode_message_with(message, encode_parts(&message.parts))
}

/// The message as JSON, with its parts as they are given.
pub(super) fn encode_message_with(message: &Message, parts: Value) -> Value {
    let mut encoded = object([("id", message.id.as_str().into()), ("role", message.role.as_str().into())]);
    if let Some(at) = message.at {
        encoded.insert("at".into(), at.as_millis().into());
    }
    insert_text(&mut encoded, "model", message.model.as_ref());
    if let Some(usage) = &message.usage {
        encoded.insert("usage".into(), encode_usage(usage));
    }
    encoded.insert("parts".into(), parts);
    insert_extra(&mut encoded, &message.extra);
    Value::Object(encoded)
}

/// The message that [`encode_message`] wrote.
pub(super) fn decode_message(message: Json<'_>) -> Option<Message> {
    decode_message_with(message, decode_parts)
}

/// The message that [`encode_message_with`] wrote, with its parts as `decode` reads them.
pub(super) fn decode_message_with(
    message: Json<'_>,
    decode: impl FnOnce(Vec<Json<'_>>) -> Option<Vec<Part>>,
) -> Option<Message> {
    let mut fields = message.into_object()?;
    let role = match fields.str("role")? {
        "user" => Role::User,
        "model" => Role::Model,
        _ => return None,
    };
    let id = MessageId::new(fields.take_string("id")?);
    let parts = decode(fields.take_array("parts")?)?;
    let at = fields.get("at").and_then(as_millis);
    let usage = fields.get("usage").map(decode_usage);
    let model = fields.take_string("model");
    let extra = decode_extra(&mut fields)?;
    Some(Message { at, model, usage: usage.map(Box::new), extra, ..Message::new(id, role, parts) })
}

/// True if the message can be decoded again: not if it is nested beyond all measure.
pub fn is_legible(message: &Message) -> bool {
    is_legible_extra(&message.extra) && message.parts.iter().all(|part| is_legible_part(part, NESTED_RESULTS))
}

fn is_legible_part(part: &Part, levels: usize) -> bool {
    let is_legible_body = match &part.body {
        Body::Call(call) => !is_deeper_than(LEGIBLE_DEPTH, &call.args),
        Body::Opaque(opaque) => !is_deeper_than(LEGIBLE_DEPTH, &opaque.value),
        Body::Result(result) => {
            let is_legible_output = match &result.output {
                Output::Structured(value) => !is_deeper_than(LEGIBLE_DEPTH, value),
                Output::Empty | Output::Text(_) => true,
            };
            is_legible_output
                && (result.nested.is_empty() || levels > 0)
                && result.nested.iter().all(|part| is_legible_part(part, levels - 1))
        }
        Body::Text(_) | Body::Thought(_) | Body::Media(_) | Body::File(_) => true,
    };
    is_legible_body && is_legible_extra(&part.extra)
}

fn is_legible_extra(extra: &Option<Box<Extra>>) -> bool {
    let mut fields = extra.iter().flat_map(|extra| extra.fields.values());
    fields.all(|value| !is_deeper_than(LEGIBLE_DEPTH, value))
}

/// Parts as JSON.
pub(super) fn encode_parts(parts: &[Part]) -> Value {
    parts.iter().map(encode_part).collect()
}

/// The parts that [`encode_parts`] wrote.
pub(super) fn decode_parts(parts: Vec<Json<'_>>) -> Option<Vec<Part>> {
    parts.into_iter().map(decode_part).collect()
}

/// Declarations of tools as JSON.
pub(super) fn encode_tools(tools: &[ToolDeclaration]) -> Value {
    let encoded = tools.iter().map(|tool| {
        Value::Object(object([
            ("name", tool.name.as_str().into()),
            ("description", tool.description.as_str().into()),
            ("parameters", encode_value(&tool.parameters)),
        ]))
    });
    encoded.collect()
}

/// The declarations that [`encode_tools`] wrote.
pub(super) fn decode_tools(tools: Vec<Json<'_>>) -> Option<Vec<ToolDeclaration>> {
    let decoded = tools.into_iter().map(|tool| {
        let mut tool = tool.into_object()?;
        Some(ToolDeclaration {
            name: tool.take_string("name")?,
            description: tool.take_string("description")?,
            parameters: decode_value(tool.take("parameters")?.into_value())?,
        })
    });
    decoded.collect()
}

pub(super) fn encode_part(part: &Part) -> Value {
    let (kind, body) = match &part.body {
        Body::Text(text) => ("text", text.as_str().into()),
        Body::Thought(thought) => ("thought", encode_thought(thought)),
        Body::Call(call) => ("call", encode_call(call)),
        Body::Result(result) => ("result", encode_result(result)),
        Body::Media(media) => ("media", encode_media(media)),
        Body::File(file) => {
            let mut encoded = object([("uri", file.uri.as_str().into())]);
            insert_text(&mut encoded, "mime", file.mime.as_ref());
            ("file", Value::Object(encoded))
        }
        Body::Opaque(opaque) => ("opaque", encode_opaque(opaque)),
    };
    let mut encoded = object([("origin", part.origin.as_str().into()), (kind, body)]);
    insert_extra(&mut encoded, &part.extra);
    Value::Object(encoded)
}

pub(super) fn decode_part(part: Json<'_>) -> Option<Part> {
    let mut fields = part.into_object()?;
    let origin = Origin::from_word(fields.str("origin")?)?;
    let extra = decode_extra(&mut fields)?;
    let body = if let Some(text) = fields.take_string("text") {
        Body::Text(text)
    } else if let Some(thought) = fields.take_object("thought") {
        Body::Thought(Box::new(decode_thought(thought)?))
    } else if let Some(call) = fields.take_object("call") {
        Body::Call(Box::new(decode_call(call)?))
    } else if let Some(result) = fields.take_object("result") {
        Body::Result(Box::new(decode_result(result)?))
    } else if let Some(media) = fields.take_object("media") {
        Body::Media(Box::new(decode_media(media)?))
    } else if let Some(mut file) = fields.take_object("file") {
        Body::File(Box::new(FileReference { mime: file.take_string("mime"), uri: file.take_string("uri")? }))
    } else {
        Body::Opaque(Box::new(decode_opaque(fields.take("opaque")?.into_value())?))
    };
    Some(Part { origin, body, extra })
}

/// A vendor's item with the vendor's name.
pub(crate) fn encode_opaque(opaque: &Opaque) -> Value {
    let fields = [("vendor", vendor_word(opaque.vendor).into()), ("value", encode_value(&opaque.value))];
    Value::Object(object(fields))
}

/// The item that [`encode_opaque`] wrote.
pub(crate) fn decode_opaque(mut opaque: Value) -> Option<Opaque> {
    let vendor = vendor_of_word(opaque.get("vendor")?.as_str()?)?;
    let value = opaque.as_object_mut()?.remove("value")?;
    Some(Opaque { vendor, value: decode_value(value)? })
}

pub(super) fn encode_thought(thought: &Thought) -> Value {
    let mut encoded = object([("text", thought.text.as_str().into())]);
    if let Some(Signature { vendor, value }) = &thought.signature {
        let signature = object([("vendor", vendor_word(*vendor).into()), ("value", value.as_str().into())]);
        encoded.insert("signature".into(), Value::Object(signature));
    }
    insert_text(&mut encoded, "item", thought.item.as_ref());
    Value::Object(encoded)
}

pub(super) fn decode_thought(mut thought: Object<'_>) -> Option<Thought> {
    let signature = match thought.take_object("signature") {
        None => None,
        Some(mut signature) => {
            let vendor = vendor_of_word(signature.str("vendor")?)?;
            Some(Signature { vendor, value: signature.take_string("value")? })
        }
    };
    Some(Thought { text: thought.take_string("text")?, signature, item: thought.take_string("item") })
}

pub(super) fn encode_call(call: &ToolCall) -> Value {
    let mut encoded = object([
        ("id", call.id.as_str().into()),
        ("name", call.name.as_str().into()),
        ("args", encode_value(&call.args)),
    ]);
    insert_text(&mut encoded, "reasoning", call.reasoning.as_ref());
    Value::Object(encoded)
}

pub(super) fn decode_call(mut call: Object<'_>) -> Option<ToolCall> {
    Some(ToolCall {
        id: CallId::new(call.take_string("id")?),
        name: call.take_string("name")?,
        args: decode_value(call.take("args")?.into_value())?,
        reasoning: call.take_string("reasoning"),
    })
}

pub(super) fn encode_result(result: &ToolResult) -> Value {
    let mut encoded = object([("call", result.call.as_str().into())]);
    insert_text(&mut encoded, "name", result.name.as_ref());
    if result.status != ToolStatus::Unstated {
        encoded.insert("status".into(), status_word(result.status).into());
    }
    match &result.output {
        Output::Empty => {}
        Output::Text(text) => {
            encoded.insert("text".into(), text.as_str().into());
        }
        Output::Structured(value) => {
            encoded.insert("value".into(), encode_value(value));
        }
    }
    if !result.nested.is_empty() {
        encoded.insert("nested".into(), encode_parts(&result.nested));
    }
    Value::Object(encoded)
}

pub(super) fn decode_result(mut result: Object<'_>) -> Option<ToolResult> {
    let status = match result.str("status") {
        None => ToolStatus::Unstated,
        Some(word) => status_of_word(word)?,
    };
    let output = match (result.take_string("text"), result.take("value")) {
        (Some(text), _) => Output::Text(text),
        (None, Some(value)) => Output::Structured(decode_value(value.into_value())?),
        (None, None) => Output::Empty,
    };
    let nested = decode_parts(result.take_array("nested").unwrap_or_default())?;
    let call = CallId::new(result.take_string("call")?);
    Some(ToolResult { call, name: result.take_string("name"), status, output, nested })
}

fn encode_media(media: &Media) -> Value {
    let content = match &media.data {
        MediaData::Base64(data) => ("data", data.as_str().into()),
        MediaData::Omitted { bytes } => ("omitted", (*bytes).into()),
    };
    Value::Object(object([("mime", media.mime.as_str().into()), content]))
}

fn decode_media(mut media: Object<'_>) -> Option<Media> {
    let data = match media.take_string("data") {
        Some(data) => MediaData::Base64(data),
        None => MediaData::Omitted { bytes: media.get("omitted")?.as_u64()? },
    };
    Some(Media { mime: media.take_string("mime")?, data })
}

fn encode_usage(usage: &Usage) -> Value {
    let figures = figures(usage).into_iter();
    Value::Object(figures.filter_map(|(key, count)| Some((key.to_string(), count?.0.into()))).collect())
}

fn decode_usage(usage: &Json<'_>) -> Usage {
    let count = |key| usage.get(key).and_then(Json::as_u64).map(TokenCount);
    let [input, output, cached, written, written_hour, thoughts, tool, total] =
        figures(&Usage::default()).map(|(key, _)| count(key));
    Usage { input, output, cached, written, written_hour, thoughts, tool, total }
}

fn figures(usage: &Usage) -> [(&'static str, Option<TokenCount>); 8] {
    [
        ("input", usage.input),
        ("output", usage.output),
        ("cached", usage.cached),
        ("written", usage.written),
        ("written_hour", usage.written_hour),
        ("thoughts", usage.thoughts),
        ("tool", usage.tool),
        ("total", usage.total),
    ]
}

fn insert_text(encoded: &mut Map<String, Value>, key: &str, text: Option<&String>) {
    if let Some(text) = text {
        encoded.insert(key.into(), text.as_str().into());
    }
}

pub(super) fn insert_extra(encoded: &mut Map<String, Value>, extra: &Option<Box<Extra>>) {
    if let Some(extra) = extra {
        let fields: Map<String, Value> =
            extra.fields.iter().map(|(key, value)| (key.clone(), encode_value(value))).collect();
        let extra = object([("vendor", vendor_word(extra.vendor).into()), ("fields", Value::Object(fields))]);
        encoded.insert("extra".into(), Value::Object(extra));
    }
}

/// The extra fields; the outer `None` says that they cannot be read.
#[expect(clippy::option_option, reason = "no fields and broken fields are different things")]
pub(super) fn decode_extra(fields: &mut Object<'_>) -> Option<Option<Box<Extra>>> {
    let Some(mut extra) = fields.take_object("extra") else { return Some(None) };
    let vendor = vendor_of_word(extra.str("vendor")?)?;
    let fields = extra.take_object("fields")?.into_fields();
    let fields = fields.map(|(key, value)| Some((key.into_owned(), decode_value(value.into_value())?)));
    Some(Some(Box::new(Extra { vendor, fields: fields.collect::<Option<_>>()? })))
}

/// A value of any shape: itself, or `{"$json": text}` where it is nested too deep or looks just like that.
fn encode_value(value: &Value) -> Value {
    let is_wrapper = value.as_object().is_some_and(|fields| fields.contains_key("$json"));
    if is_wrapper || is_deeper_than(DEPTH_LIMIT, value) {
        return Value::Object(object([("$json", value.to_string().into())]));
    }
    value.clone()
}

fn decode_value(value: Value) -> Option<Value> {
    match value.get("$json") {
        Some(text) => serde_json::from_str(text.as_str()?).ok(),
        None => Some(value),
    }
}

fn is_deeper_than(limit: usize, value: &Value) -> bool {
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(|item| is_deeper_than(limit - 1, item)),
        Value::Object(fields) => limit == 0 || fields.values().any(|item| is_deeper_than(limit - 1, item)),
        _ => false,
    }
}

fn as_millis(number: &Json<'_>) -> Option<Timestamp> {
    match number {
        Json::Number(number) => number.as_i64().map(Timestamp::from_millis),
        _ => None,
    }
}

fn vendor_word(vendor: Vendor) -> &'static str {
    VENDORS.iter().find(|(_, known)| *known == vendor).map_or("agent", |(word, _)| word)
}

fn vendor_of_word(word: &str) -> Option<Vendor> {
    VENDORS.iter().find(|(known, _)| *known == word).map(|(_, vendor)| *vendor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_testkit::messages::messages;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(message: &Message) {
        let text = encode_message(message).to_string();
        let decoded = decode_message(Json::parse(&text).expect("we wrote it"));
        assert_eq!(decoded.as_ref(), Some(message), "{text}");
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn values_of_any_shape_come_back() {
        let args =
            [json!(null), json!(-0.5), json!(1.0), json!({"$json": "x"}), json!({"$json": 1}), nested(120)];
        for args in args {
            check(&Message::new("a", Role::Model, vec![Part::call(ToolCall::new("c", "t").with_args(args))]));
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_told() {
        let call = |levels| {
            Message::new(
                "a",
                Role::Model,
                vec![Part::call(ToolCall::new("c", "t").with_args(nested(levels)))],
            )
        };
        assert!(is_legible(&call(LEGIBLE_DEPTH)) && !is_legible(&call(LEGIBLE_DEPTH + 1)));
        let inside = |inner| {
            Part::result(ToolResult {
                nested: vec![inner],
                output: Output::Empty,
                ..ToolResult::text("c", "")
            })
        };
        let results = |levels| {
            let part = (0..levels).fold(call(LEGIBLE_DEPTH).parts.remove(0), |inner, _| inside(inner));
            Message::new("a", Role::User, vec![part])
        };
        check(&results(NESTED_RESULTS));
        assert!(is_legible(&results(NESTED_RESULTS)) && !is_legible(&results(NESTED_RESULTS + 1)));
    }

    #[test]
    fn what_is_empty_comes_back_empty() {
        let mut message = Message::new("", Role::User, Vec::new());
        message.usage = Some(Box::new(Usage::default()));
        message.extra = Some(Box::new(Extra { vendor: Vendor::Agent, fields: Map::new() }));
        message.at = Some(Timestamp::from_millis(i64::MIN));
        check(&message);
    }

    #[test]
    fn what_is_broken_is_no_message() {
        for text in [
            "1",
            "{}",
            r#"{"id":"a","role":"user"}"#,
            r#"{"id":"a","role":"nobody","parts":[]}"#,
            r#"{"id":"a","role":"user","parts":[{"origin":"user"}]}"#,
            r#"{"id":"a","role":"user","parts":[{"origin":"user","result":{}}]}"#,
        ] {
            assert_eq!(decode_message(Json::parse(text).expect("valid")), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_message_comes_back(
            message in messages(),
            at in proptest::option::of(any::<i64>()),
            input in proptest::option::of(any::<u64>()),
        ) {
            let usage = input.map(|input| Usage { input: Some(TokenCount(input)), ..Usage::default() });
            check(&Message { at: at.map(Timestamp::from_millis), usage: usage.map(Box::new), ..message });
        }
    }
}
