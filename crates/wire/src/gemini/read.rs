//! Reads Gemini `contents` and the requests they stand in.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Origin, Output, Part, Role,
    Signature, Thought, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use crate::call_ids::CallIds;
use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::shared::text_parts;

/// Reads what a request says beside its contents: the model, the instruction and the tools, which are taken out of it.
pub fn read_head(document: &mut Object<'_>, out: &mut dyn Intake) {
    if let Some(model) = document.take_string("model") {
        out.note(None, Some(model.strip_prefix("models/").unwrap_or(&model)), None);
    }
    for key in ["systemInstruction", "system_instruction", "system"] {
        match document.take(key) {
            Some(Json::String(text)) => out.add_system(vec![Part::text(Origin::Hook, text)]),
            Some(Json::Object(mut content)) => {
                let parts = content.take_array("parts").unwrap_or_default();
                let texts = parts
                    .into_iter()
                    .filter_map(|part| Some(Part::text(Origin::Hook, part.get("text")?.as_str()?)));
                out.add_system(texts.collect());
            }
            _ => {}
        }
    }
    let tools = document.take_array("tools").unwrap_or_default();
    for mut tool in tools.into_iter().filter_map(Json::into_object) {
        for key in ["functionDeclarations", "function_declarations"] {
            let declared = tool.take_array(key).unwrap_or_default();
            declared.into_iter().filter_map(Json::into_object).for_each(|tool| out.add_tool(read_tool(tool)));
        }
    }
}

/// The fields of a request that are left when its head and its contents were taken out of it.
pub fn read_rest(document: Object<'_>) -> Option<Box<Extra>> {
    Extra::boxed(Vendor::Gemini, document.into_map())
}

fn read_tool(mut declared: Object<'_>) -> ToolDeclaration {
    ToolDeclaration {
        name: declared.take_string("name").unwrap_or_default(),
        description: declared.take_string("description").unwrap_or_default(),
        parameters: declared
            .take("parameters")
            .or_else(|| declared.take("parametersJsonSchema"))
            .map_or(Value::Null, Json::into_value),
    }
}

/// Reads one of a request's contents, which stands at `index`; `read` reads its parts.
pub fn read_content(
    mut content: Object<'_>,
    index: usize,
    out: &mut dyn Intake,
    mut read: impl FnMut(Json<'_>, Role) -> Vec<Part>,
) -> Message {
    let role = match content.take_string("role").as_deref() {
        Some("user" | "function") | None => Role::User,
        Some("model") => Role::Model,
        Some(other) => {
            out.warn(format!("contents[{index}]: unknown role {other:?}; read as user"));
            Role::User
        }
    };
    let id = out.unused_id(content.take_string("id").map(MessageId::new));
    let given = content.take_array("parts").unwrap_or_default();
    let mut parts = Vec::with_capacity(given.len());
    for part in given {
        parts.extend(read(part, role));
    }
    close_references(&mut parts);
    let mut message = Message::new(id, role, parts);
    message.extra = Extra::boxed(Vendor::Gemini, content.into_map());
    message
}

/// The status of a response that states none: an `error` in it says that the call failed.
pub fn status_when_read(output: &Output) -> ToolStatus {
    match output {
        Output::Structured(value) if value.get("error").is_some_and(|error| !error.is_null()) => {
            ToolStatus::Failed
        }
        _ => ToolStatus::Unstated,
    }
}

/// Reads one Gemini part; a text that a person only partly typed becomes several.
pub fn read_part(part: Json<'_>, role: Role, ids: &mut CallIds) -> Vec<Part> {
    let origin = if role == Role::User { Origin::User } else { Origin::Model };
    let mut part = match part {
        Json::Object(part) => part,
        Json::String(text) => return text_parts(text.into_owned(), role),
        other => return vec![Part::opaque(origin, Vendor::Gemini, other.into_value())],
    };
    if let Some(text) = part.take_string("text") {
        if part.is_true("thought") {
            part.take("thought");
            let signature = part.take_string("thoughtSignature");
            let signature = signature.map(|value| Signature { vendor: Vendor::Gemini, value });
            let thought = Part::thought(Thought { text, signature, item: None });
            return vec![thought.with_extra(Vendor::Gemini, part.into_map())];
        }
        let extra = part.into_map();
        let mut parts = text_parts(text, role);
        if let Some(last) = parts.last_mut() {
            *last = last.clone().with_extra(Vendor::Gemini, extra);
        }
        return parts;
    }
    let (key, body, rest) = if let Some(call) = part.take_object("functionCall") {
        let (body, rest) = read_call(call, ids);
        ("functionCall", body, rest)
    } else if let Some(response) = part.take_object("functionResponse") {
        let (body, rest) = read_response(response, ids);
        ("functionResponse", body, rest)
    } else if let Some(media) = part.take_object("inlineData") {
        let (body, rest) = read_media(media);
        ("inlineData", body, rest)
    } else if let Some(mut file) = part.take_object("fileData") {
        let uri = file.take_string("fileUri").unwrap_or_default();
        let body = Body::File(Box::new(FileReference { mime: file.take_string("mimeType"), uri }));
        ("fileData", body, file)
    } else {
        let origin = if role == Role::User { Origin::Hook } else { Origin::Model };
        return vec![Part::opaque(origin, Vendor::Gemini, Value::Object(part.into_map()))];
    };
    let origin = if matches!(body, Body::Result(_)) { Origin::Tool } else { origin };
    let mut extra = part.into_map();
    if !rest.is_empty() {
        // What else the vendor said inside the call, the response or the file is written back into it.
        extra.insert(key.to_string(), Value::Object(rest.into_map()));
    }
    vec![Part::new(origin, body).with_extra(Vendor::Gemini, extra)]
}

fn read_call<'a>(mut call: Object<'a>, ids: &mut CallIds) -> (Body, Object<'a>) {
    let name = call.take_string("name").unwrap_or_default();
    let id = call.take_string("id").map_or_else(|| ids.of_call(&name), CallId::new);
    let args = call.take("args").map_or_else(|| Value::Object(Map::new()), Json::into_value);
    (Body::Call(Box::new(ToolCall { id, name, args, reasoning: None })), call)
}

fn read_response<'a>(mut response: Object<'a>, ids: &mut CallIds) -> (Body, Object<'a>) {
    let name = response.take_string("name");
    let id = response.take_string("id");
    let call = id.map_or_else(|| ids.of_result(name.as_deref().unwrap_or_default()), CallId::new);
    let output = match response.take("response") {
        None | Some(Json::Null) => Output::Empty,
        Some(Json::String(text)) => Output::Text(text.into_owned()),
        Some(value) => Output::Structured(value.into_value()),
    };
    let status = status_when_read(&output);
    let nested = response.take_array("parts").unwrap_or_default();
    let nested = nested.into_iter().flat_map(|part| {
        read_part(part, Role::Model, ids).into_iter().map(|part| Part { origin: Origin::Tool, ..part })
    });
    let nested = nested.collect();
    (Body::Result(Box::new(ToolResult { call, name, status, output, nested })), response)
}

fn read_media(mut media: Object<'_>) -> (Body, Object<'_>) {
    let mime = media.take_string("mimeType").unwrap_or_default();
    let omitted = media.get("omittedBytes").and_then(Json::as_u64);
    let data = match (media.take_string("data"), omitted) {
        (Some(data), _) => MediaData::Base64(data),
        (None, bytes) => {
            media.take("omittedBytes");
            MediaData::Omitted { bytes: bytes.unwrap_or(0) }
        }
    };
    (Body::Media(Box::new(Media { mime, data })), media)
}
