//! Writes chat-completions requests.

use longhaul_conversation::{
    Body, Media, MediaData, Message, Output, Part, Request, Role, Sampling, ToolCall, ToolChoice,
    ToolDeclaration, ToolResult,
};
use serde_json::Value;

use super::{DETAILS, sent_as};
use crate::fields::{Fields, add_missing, object, restore_rest, said};
use crate::fit::fields_of;
use crate::options::LimitName;

/// The body of a request that was fitted or prepared.
pub(crate) fn encode(request: &Request, limit_name: LimitName) -> Fields {
    let mut body = Fields::new();
    if !request.model.is_empty() {
        body.insert("model".into(), request.model.as_str().into());
    }
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        let content = encode_content(request.system.iter());
        messages.push(Value::Object(object([("role", "system".into()), ("content", content)])));
    }
    messages.extend(request.messages.iter().map(encode_message));
    body.insert("messages".into(), Value::Array(messages));
    if !request.tools.is_empty() {
        body.insert("tools".into(), Value::Array(request.tools.iter().map(encode_tool).collect()));
        let choice = match request.tool_choice {
            ToolChoice::Free => None,
            ToolChoice::Required => Some("required"),
            ToolChoice::Forbidden => Some("none"),
        };
        body.extend(said([("tool_choice", choice.map(Value::from))]));
    }
    let Sampling { temperature, top_p, max_output, stop, .. } = &request.sampling;
    let limit_name = match limit_name {
        LimitName::MaxTokens => "max_tokens",
        LimitName::MaxCompletionTokens => "max_completion_tokens",
    };
    body.extend(said([
        (limit_name, max_output.map(|limit| limit.0.into())),
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("stop", (!stop.is_empty()).then(|| stop.clone().into())),
    ]));
    body
}

fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut function = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        function.insert("description".into(), tool.description.as_str().into());
    }
    if !tool.parameters.is_null() {
        function.insert("parameters".into(), tool.parameters.clone());
    }
    Value::Object(object([("type", "function".into()), ("function", Value::Object(function))]))
}

fn encode_message(message: &Message) -> Value {
    let mut fields = fields_of(&message.extra);
    let mut encoded = match (message.role, message.parts.as_slice()) {
        (Role::User, [Part { body: Body::Result(result), extra, .. }]) => {
            add_missing(&mut fields, fields_of(extra));
            encode_result(result)
        }
        (Role::User, parts) => {
            let role = match fields.shift_remove("role") {
                Some(Value::String(role)) => role,
                _ => "user".to_string(),
            };
            object([("role", role.into()), ("content", encode_content(parts.iter()))])
        }
        (Role::Model, parts) => encode_answer(parts),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_result(result: &ToolResult) -> Fields {
    let mut encoded = object([("role", "tool".into()), ("tool_call_id", result.call.as_str().into())]);
    if let Some(name) = &result.name {
        encoded.insert("name".into(), name.as_str().into());
    }
    let content = match &result.output {
        Output::Empty => Value::Array(result.nested.iter().map(encode_block).collect()),
        Output::Text(text) => text.as_str().into(),
        Output::Structured(value) => value.clone(),
    };
    encoded.insert("content".into(), content);
    encoded
}

fn encode_answer(parts: &[Part]) -> Fields {
    let mut encoded = object([("role", "assistant".into())]);
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match &part.body {
            Body::Thought(thought) => {
                let name = sent_as(part).unwrap_or("reasoning_content");
                let known = encoded.get(name).and_then(Value::as_str).unwrap_or_default();
                let text = format!("{known}{}", thought.text);
                encoded.insert(name.to_string(), text.into());
            }
            Body::Opaque(opaque) => match opaque.value.get(DETAILS) {
                Some(details) => {
                    encoded.insert(DETAILS.into(), details.clone());
                }
                None => content.push(part),
            },
            Body::Call(call) => calls.push(encode_call(call, fields_of(&part.extra))),
            _ => content.push(part),
        }
    }
    let says_nothing = content.is_empty() && !calls.is_empty();
    let content = if says_nothing { Value::Null } else { encode_content(content.into_iter()) };
    encoded.insert("content".into(), content);
    if !calls.is_empty() {
        encoded.insert("tool_calls".into(), Value::Array(calls));
    }
    encoded
}

fn encode_call(call: &ToolCall, mut fields: Fields) -> Value {
    let is_custom = fields.get("type").and_then(Value::as_str) == Some("custom");
    let name = ("name", call.name.as_str().into());
    let (kind, mut inner) = if is_custom {
        ("custom", object([name, ("input", call.args.clone())]))
    } else {
        ("function", object([name, ("arguments", encode_arguments(&call.args).into())]))
    };
    restore_rest(&mut inner, &mut fields, kind);
    let mut encoded =
        object([("id", call.id.as_str().into()), ("type", kind.into()), (kind, Value::Object(inner))]);
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

/// Arguments travel as text; a text that a model wrote and that is no JSON goes back as it was.
fn encode_arguments(args: &Value) -> String {
    match args {
        Value::String(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() => text.clone(),
        _ => args.to_string(),
    }
}

/// One plain text is written as such, anything else as blocks.
fn encode_content<'a>(parts: impl ExactSizeIterator<Item = &'a Part> + Clone) -> Value {
    let mut rest = parts.clone();
    match (rest.next(), rest.next()) {
        (None, _) => "".into(),
        (Some(Part { body: Body::Text(text), extra: None, .. }), None) => text.as_str().into(),
        _ => Value::Array(parts.map(encode_block).collect()),
    }
}

fn encode_block(part: &Part) -> Value {
    let mut fields = fields_of(&part.extra);
    let mut encoded = match &part.body {
        Body::Text(text) => {
            // A refusal is text under another name.
            let kind = match fields.get("type").and_then(Value::as_str) {
                Some("refusal") => "refusal",
                _ => "text",
            };
            object([("type", kind.into()), (kind, text.as_str().into())])
        }
        Body::Media(media) => encode_media(media, &mut fields),
        Body::File(file) => wrap("image_url", object([("url", file.uri.as_str().into())]), &mut fields),
        Body::Opaque(opaque) => return opaque.value.clone(),
        Body::Thought(_) | Body::Call(_) | Body::Result(_) => Fields::new(),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_media(media: &Media, fields: &mut Fields) -> Fields {
    let MediaData::Base64(data) = &media.data else { return Fields::new() };
    let url = || Value::String(format!("data:{};base64,{data}", media.mime));
    match media.mime.split_once('/') {
        Some(("image", _)) => wrap("image_url", object([("url", url())]), fields),
        Some(("audio", format)) => {
            wrap("input_audio", object([("data", data.as_str().into()), ("format", format.into())]), fields)
        }
        _ => wrap("file", object([("file_data", url())]), fields),
    }
}

fn wrap(key: &str, mut inner: Fields, fields: &mut Fields) -> Fields {
    restore_rest(&mut inner, fields, key);
    object([("type", key.into()), (key, Value::Object(inner))])
}
