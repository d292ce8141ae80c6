//! Writes Anthropic messages requests and their blocks.

use longhaul_conversation::{
    Body, MediaData, Message, Output, Part, Request, Role, Sampling, ToolChoice, ToolDeclaration, ToolResult,
    ToolStatus,
};
use serde_json::Value;

use super::read::kind_of_source;
use crate::fields::{Fields, add_missing, object, restore_rest, said};
use crate::fit::fields_of;

/// The form of a content of one plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainContent {
    /// As the text itself.
    Text,
    /// As a block, which can be marked for the cache.
    Block,
}

/// The body of a request that was fitted or prepared.
pub(crate) fn encode(request: &Request, plain: PlainContent) -> Fields {
    let mut body = Fields::new();
    if !request.model.is_empty() {
        body.insert("model".into(), request.model.as_str().into());
    }
    if !request.system.is_empty() {
        body.insert("system".into(), encode_content(&request.system, plain));
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), Value::Array(request.tools.iter().map(encode_tool).collect()));
        let choice = match request.tool_choice {
            ToolChoice::Free => None,
            ToolChoice::Required => Some("any"),
            ToolChoice::Forbidden => Some("none"),
        };
        let choice = choice.map(|kind| Value::Object(object([("type", kind.into())])));
        body.extend(said([("tool_choice", choice)]));
    }
    let messages = request.messages.iter().map(|message| encode_message(message, plain)).collect();
    body.insert("messages".into(), Value::Array(messages));
    let Sampling { temperature, top_p, top_k, max_output, stop } = &request.sampling;
    body.extend(said([
        ("max_tokens", max_output.map(|limit| limit.0.into())),
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("top_k", top_k.map(Value::from)),
        ("stop_sequences", (!stop.is_empty()).then(|| stop.clone().into())),
    ]));
    body
}

fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut encoded = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        encoded.insert("description".into(), tool.description.as_str().into());
    }
    encoded.insert("input_schema".into(), tool.parameters.clone());
    Value::Object(encoded)
}

fn encode_message(message: &Message, plain: PlainContent) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Model => "assistant",
    };
    let mut encoded = object([("role", role.into()), ("content", encode_content(&message.parts, plain))]);
    add_missing(&mut encoded, fields_of(&message.extra));
    Value::Object(encoded)
}

fn encode_content(parts: &[Part], plain: PlainContent) -> Value {
    match parts {
        [Part { body: Body::Text(text), extra: None, .. }] if plain == PlainContent::Text => {
            text.as_str().into()
        }
        _ => Value::Array(parts.iter().map(encode_block).collect()),
    }
}

/// Encodes a part that was fitted or prepared.
pub fn encode_block(part: &Part) -> Value {
    let mut fields = fields_of(&part.extra);
    let mut encoded = match &part.body {
        Body::Text(text) => object([("type", "text".into()), ("text", text.as_str().into())]),
        Body::Thought(thought) => {
            let signature = thought.signature.as_ref().map_or("", |signature| signature.value.as_str());
            object([
                ("type", "thinking".into()),
                ("thinking", thought.text.as_str().into()),
                ("signature", signature.into()),
            ])
        }
        Body::Call(call) => object([
            ("type", "tool_use".into()),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("input", call.args.clone()),
        ]),
        Body::Result(result) => encode_result(result),
        Body::Media(_) | Body::File(_) => {
            let kind = match fields.get("type").and_then(Value::as_str) {
                Some("document") => "document",
                Some("image") => "image",
                _ => kind_of_source(&part.body),
            };
            let mut source = encode_source(&part.body);
            restore_rest(&mut source, &mut fields, "source");
            object([("type", kind.into()), ("source", Value::Object(source))])
        }
        Body::Opaque(opaque) => return opaque.value.clone(),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_source(body: &Body) -> Fields {
    match body {
        Body::Media(media) => {
            let data = match &media.data {
                MediaData::Base64(data) => data.as_str(),
                MediaData::Omitted { .. } => "",
            };
            let mime = media.mime.as_str();
            object([("type", "base64".into()), ("media_type", mime.into()), ("data", data.into())])
        }
        Body::File(file) => object([("type", "url".into()), ("url", file.uri.as_str().into())]),
        _ => Fields::new(),
    }
}

fn encode_result(result: &ToolResult) -> Fields {
    let mut encoded = object([("type", "tool_result".into()), ("tool_use_id", result.call.as_str().into())]);
    let content = match &result.output {
        Output::Empty if result.nested.is_empty() => None,
        Output::Empty => Some(Value::Array(result.nested.iter().map(encode_block).collect())),
        Output::Text(text) => Some(text.as_str().into()),
        Output::Structured(value) => Some(value.clone()),
    };
    if let Some(content) = content {
        encoded.insert("content".into(), content);
    }
    match result.status {
        ToolStatus::Unstated => {}
        ToolStatus::Succeeded => {
            encoded.insert("is_error".into(), false.into());
        }
        ToolStatus::Failed | ToolStatus::Cancelled => {
            encoded.insert("is_error".into(), true.into());
        }
    }
    encoded
}
