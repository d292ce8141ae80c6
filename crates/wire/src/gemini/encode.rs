//! Writes Gemini requests and their parts.

use longhaul_conversation::{
    Body, CallId, FileReference, Media, MediaData, Message, Output, Part, Request, Role, Sampling,
    ToolChoice, ToolDeclaration, ToolResult,
};
use serde_json::Value;

use crate::fields::{Fields, add_missing, object, restore_rest, said};
use crate::fit::fields_of;

/// The treatment of made-up call ids, which the source lacked.
#[derive(Clone, Copy, Debug)]
pub enum MadeUpIds {
    /// They are left out; a reader finds results by their tool's name.
    LeftOut,
    /// They are written, so that results are found whatever the order.
    Written,
}

/// The body of a request that was fitted or prepared.
pub(crate) fn encode(request: &Request) -> Fields {
    let mut body = Fields::new();
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
    let mode = match request.tool_choice {
        ToolChoice::Free => None,
        ToolChoice::Required => Some("ANY"),
        ToolChoice::Forbidden => Some("NONE"),
    };
    if let Some(mode) = mode.filter(|_| !request.tools.is_empty()) {
        let config = Value::Object(object([("mode", mode.into())]));
        body.insert("toolConfig".into(), Value::Object(object([("functionCallingConfig", config)])));
    }
    body.insert("contents".into(), Value::Array(request.messages.iter().map(encode_message).collect()));
    let config = encode_sampling(&request.sampling);
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    body
}

fn encode_sampling(sampling: &Sampling) -> Fields {
    said([
        ("maxOutputTokens", sampling.max_output.map(|limit| limit.0.into())),
        ("temperature", sampling.temperature.map(Value::from)),
        ("topP", sampling.top_p.map(Value::from)),
        ("topK", sampling.top_k.map(Value::from)),
        ("stopSequences", (!sampling.stop.is_empty()).then(|| sampling.stop.clone().into())),
    ])
}

/// Encodes a declared tool.
pub fn encode_tool(tool: &ToolDeclaration) -> Value {
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

/// Encodes a part that was fitted or prepared.
pub fn encode_part(part: &Part, ids: MadeUpIds) -> Value {
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

fn wrap(key: &str, mut inner: Fields, fields: &mut Fields) -> Fields {
    restore_rest(&mut inner, fields, key);
    object([(key, Value::Object(inner))])
}

fn encode_id(id: &CallId, ids: MadeUpIds) -> Fields {
    match ids {
        MadeUpIds::LeftOut if id.is_made_up() => Fields::new(),
        _ => object([("id", id.as_str().into())]),
    }
}

fn encode_result(result: &ToolResult, ids: MadeUpIds) -> Fields {
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

fn encode_media(media: &Media) -> Fields {
    let mime = ("mimeType", media.mime.as_str().into());
    match &media.data {
        MediaData::Base64(data) => object([mime, ("data", data.as_str().into())]),
        // Not for sending: this is how the neutral form says that the content was left out.
        MediaData::Omitted { bytes } => object([mime, ("omittedBytes", (*bytes).into())]),
    }
}

fn encode_file(file: &FileReference) -> Fields {
    let mut inner = object([("fileUri", file.uri.as_str().into())]);
    if let Some(mime) = &file.mime {
        inner.insert("mimeType".into(), mime.as_str().into());
    }
    inner
}
