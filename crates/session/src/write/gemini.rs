//! Writes Gemini requests.

use std::collections::HashMap;

use longhaul_conversation::{
    Body, CallId, FileReference, Media, MediaData, Message, Output, Part, Request, Role, ToolDeclaration,
    ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use super::fit::{
    call_names, fields_of, fit_call_with_object, fit_opaque, fit_thought, keep_fields, lose_fields,
    lose_misplaced, output_text, rebuilt, refitted,
};
use super::loss::{LossKind, Losses};
use super::{Target, add_missing, object, restore_rest, with_told_origins};

const OWN: Vendor = Vendor::Gemini;

/// What becomes of call ids that the source lacked and we made up.
#[derive(Clone, Copy)]
pub(super) enum MadeUpIds {
    /// They are left out; a reader finds results by their tool's name.
    LeftOut,
    /// They are written, so that results are found whatever the order.
    Written,
}

pub(super) fn fit(request: &Request, losses: &mut Losses) -> Request {
    let system = request.system.iter().filter_map(|part| fit_system(part, losses)).collect();
    let names = call_names(&request.messages);
    let messages = request.messages.iter().filter_map(|message| {
        let message = &with_told_origins(Target::Gemini, message);
        losses.at(message);
        let parts = message.parts.iter().filter_map(|part| fit_part(part, &names, losses)).collect();
        let extra = keep_fields(&message.extra, OWN, losses);
        rebuilt(message, message.role, parts, extra)
    });
    let messages = messages.collect();
    refitted(request, system, messages)
}

/// The instruction is made of plain texts.
pub(super) fn fit_system(part: &Part, losses: &mut Losses) -> Option<Part> {
    if !matches!(part.body, Body::Text(_)) {
        lose_misplaced(part, losses);
        return None;
    }
    lose_fields(&part.extra, losses);
    Some(Part { extra: None, ..part.clone() })
}

pub(super) fn fit_part(part: &Part, names: &HashMap<&CallId, &str>, losses: &mut Losses) -> Option<Part> {
    let body = match &part.body {
        Body::Thought(thought) => {
            let thought = fit_thought(thought, OWN, losses);
            if thought.text.is_empty() && thought.signature.is_none() {
                lose_fields(&part.extra, losses);
                return None;
            }
            Body::Thought(Box::new(thought))
        }
        Body::Call(call) => Body::Call(Box::new(fit_call_with_object(call, losses))),
        Body::Result(result) => Body::Result(Box::new(fit_result(result, names, losses))),
        Body::Opaque(_) => return fit_opaque(part, OWN, losses),
        Body::Text(_) | Body::Media(_) | Body::File(_) => part.body.clone(),
    };
    Some(Part { origin: part.origin, body, extra: keep_fields(&part.extra, OWN, losses) })
}

/// A response is an object whose `error` says that the call failed; beside it stand media, but no text.
pub(super) fn fit_result(
    result: &ToolResult,
    names: &HashMap<&CallId, &str>,
    losses: &mut Losses,
) -> ToolResult {
    let mut nested = Vec::new();
    let mut texts = false;
    for part in &result.nested {
        match &part.body {
            Body::Text(_) => {
                texts = true;
                lose_fields(&part.extra, losses);
            }
            Body::Media(_) | Body::File(_) => {
                nested.push(Part { extra: keep_fields(&part.extra, OWN, losses), ..part.clone() });
            }
            Body::Opaque(_) => nested.extend(fit_opaque(part, OWN, losses)),
            Body::Thought(_) | Body::Call(_) | Body::Result(_) => lose_misplaced(part, losses),
        }
    }
    if result.status == ToolStatus::Cancelled {
        losses.add(LossKind::Status, result.call.as_str());
    }
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    let response = match &result.output {
        Output::Structured(Value::Object(fields)) if !texts && says_failed(fields) == failed => {
            fields.clone()
        }
        Output::Structured(value) if !texts && !value.is_null() => object([(key_of(failed), value.clone())]),
        _ if texts => object([(key_of(failed), result.readable().into())]),
        _ => object([(key_of(failed), output_text(result).into())]),
    };
    ToolResult {
        call: result.call.clone(),
        name: result.name.clone().or_else(|| names.get(&result.call).map(|name| name.to_string())),
        status: if failed { ToolStatus::Failed } else { ToolStatus::Unstated },
        output: Output::Structured(Value::Object(response)),
        nested,
    }
}

fn key_of(failed: bool) -> &'static str {
    if failed { "error" } else { "output" }
}

fn says_failed(response: &Map<String, Value>) -> bool {
    response.get("error").is_some_and(|error| !error.is_null())
}

pub(super) fn encode(request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    if !request.model.is_empty() {
        body.insert("model".into(), format!("models/{}", request.model).into());
    }
    if !request.system.is_empty() {
        let parts = request.system.iter().map(|part| encode_part(part, MadeUpIds::LeftOut)).collect();
        body.insert("systemInstruction".into(), Value::Object(object([("parts", Value::Array(parts))])));
    }
    if !request.tools.is_empty() {
        let declared = Value::Array(request.tools.iter().map(encode_tool).collect());
        let tool = Value::Object(object([("functionDeclarations", declared)]));
        body.insert("tools".into(), Value::Array(vec![tool]));
    }
    body.insert("contents".into(), Value::Array(request.messages.iter().map(encode_message).collect()));
    body
}

pub(super) fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut declared = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        declared.insert("description".into(), tool.description.as_str().into());
    }
    if !tool.parameters.is_null() {
        declared.insert("parametersJsonSchema".into(), tool.parameters.clone());
    }
    Value::Object(declared)
}

fn encode_message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Model => "model",
    };
    let parts = message.parts.iter().map(|part| encode_part(part, MadeUpIds::LeftOut)).collect();
    let mut content = object([("role", role.into()), ("parts", Value::Array(parts))]);
    add_missing(&mut content, fields_of(&message.extra));
    Value::Object(content)
}

pub(super) fn encode_part(part: &Part, ids: MadeUpIds) -> Value {
    let mut fields = fields_of(&part.extra);
    let mut encoded = match &part.body {
        Body::Text(text) => object([("text", text.as_str().into())]),
        Body::Thought(thought) => {
            let mut encoded = object([("text", thought.text.as_str().into()), ("thought", true.into())]);
            if let Some(signature) = &thought.signature {
                encoded.insert("thoughtSignature".into(), signature.value.as_str().into());
            }
            encoded
        }
        Body::Call(call) => {
            let mut inner = encode_id(&call.id, ids);
            inner.insert("name".into(), call.name.as_str().into());
            inner.insert("args".into(), call.args.clone());
            wrap("functionCall", inner, &mut fields)
        }
        Body::Result(result) => wrap("functionResponse", encode_result(result, ids), &mut fields),
        Body::Media(media) => wrap("inlineData", encode_media(media), &mut fields),
        Body::File(file) => wrap("fileData", encode_file(file), &mut fields),
        Body::Opaque(opaque) => return opaque.value.clone(),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn wrap(key: &str, mut inner: Map<String, Value>, fields: &mut Map<String, Value>) -> Map<String, Value> {
    restore_rest(&mut inner, fields, key);
    object([(key, Value::Object(inner))])
}

fn encode_id(id: &CallId, ids: MadeUpIds) -> Map<String, Value> {
    match ids {
        MadeUpIds::LeftOut if id.is_made_up() => Map::new(),
        _ => object([("id", id.as_str().into())]),
    }
}

fn encode_result(result: &ToolResult, ids: MadeUpIds) -> Map<String, Value> {
    let mut inner = encode_id(&result.call, ids);
    if let Some(name) = &result.name {
        inner.insert("name".into(), name.as_str().into());
    }
    match &result.output {
        Output::Empty => {}
        Output::Text(text) => {
            inner.insert("response".into(), text.as_str().into());
        }
        Output::Structured(value) => {
            inner.insert("response".into(), value.clone());
        }
    }
    if !result.nested.is_empty() {
        inner.insert(
            "parts".into(),
            Value::Array(result.nested.iter().map(|part| encode_part(part, ids)).collect()),
        );
    }
    inner
}

fn encode_media(media: &Media) -> Map<String, Value> {
    let mime = ("mimeType", media.mime.as_str().into());
    match &media.data {
        MediaData::Base64(data) => object([mime, ("data", data.as_str().into())]),
        // Not for sending: this is how the neutral form says that the content was left out.
        MediaData::Omitted { bytes } => object([mime, ("omittedBytes", (*bytes).into())]),
    }
}

fn encode_file(file: &FileReference) -> Map<String, Value> {
    let mut inner = object([("fileUri", file.uri.as_str().into())]);
    if let Some(mime) = &file.mime {
        inner.insert("mimeType".into(), mime.as_str().into());
    }
    inner
}
