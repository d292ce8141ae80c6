//! Reads Anthropic requests, messages and blocks.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Origin, Output, Part, Role,
    Signature, Thought, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::shared::{blocks_of, keep_rest, text_parts};
use crate::usage::anthropic_usage;

/// The beginning of a skill's text as Claude Code puts it into a conversation.
pub const SKILL_START: &str = "Base directory for this skill:";

/// Reads what a request says beside its messages: the model, the instruction and the tools, which are taken out of it.
pub fn read_head(document: &mut Object<'_>, out: &mut dyn Intake) {
    if let Some(model) = document.take_string("model") {
        out.note(None, Some(&model), None);
    }
    match document.take("system") {
        Some(Json::String(text)) => out.add_system(vec![Part::text(Origin::Hook, text)]),
        Some(Json::Array(blocks)) => {
            for block in blocks {
                out.add_system(read_block(block, Role::User, Some(Origin::Hook)));
            }
        }
        _ => {}
    }
    for tool in document.take_array("tools").unwrap_or_default() {
        match tool {
            Json::Object(tool) if tool.has("input_schema") => out.add_tool(read_tool(tool)),
            other => {
                let kind = other.get("type").and_then(Json::as_str).unwrap_or("?");
                out.skip(&format!("tool:{kind}"));
            }
        }
    }
}

/// Kinds of blocks that only Anthropic has.
const BLOCKS: &[&str] = &[
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "search_result",
];

/// True if this is a model's answer as it came back.
pub fn is_answer(message: &Object<'_>) -> bool {
    message.str("type") == Some("message") && message.has("stop_reason")
}

/// True if the message has blocks that only Anthropic has.
pub fn has_blocks(message: &Object<'_>) -> bool {
    blocks_of(message).iter().filter_map(Json::as_object).any(is_block)
}

/// True if only Anthropic has such a block.
pub fn is_block(block: &Object<'_>) -> bool {
    match block.str("type") {
        Some("image" | "document") => block.has("source"),
        Some(kind) => BLOCKS.contains(&kind),
        None => false,
    }
}

/// The fields of a request that are left when its head and its messages were taken out of it.
pub fn read_rest(document: Object<'_>) -> Option<Box<Extra>> {
    Extra::boxed(Vendor::Anthropic, document.into_map())
}

/// A declared tool.
pub fn read_tool(mut tool: Object<'_>) -> ToolDeclaration {
    ToolDeclaration {
        name: tool.take_string("name").unwrap_or_default(),
        description: tool.take_string("description").unwrap_or_default(),
        parameters: tool.take("input_schema").map_or(Value::Null, Json::into_value),
    }
}

/// Reads one message.
pub fn read_message(mut message: Object<'_>, out: &mut dyn Intake) {
    let said_by = message.take_string("role");
    // Claude Code tells the model what changed in messages of the system; others would refuse the role.
    let whole = (said_by.as_deref() == Some("system")).then_some(Origin::Hook);
    let role = match said_by.as_deref() {
        Some("assistant") => Role::Model,
        Some("user" | "system") => Role::User,
        other => {
            out.warn(format!("unknown role {:?}; read as user", other.unwrap_or_default()));
            Role::User
        }
    };
    let mut parts = Vec::new();
    match message.take("content") {
        Some(Json::String(text)) if role == Role::User => parts.extend(user_text(text.into_owned(), whole)),
        Some(Json::String(text)) => parts.extend(text_parts(text.into_owned(), role)),
        Some(Json::Array(blocks)) => {
            for block in blocks {
                parts.extend(read_block(block, role, whole));
            }
            close_references(&mut parts);
        }
        Some(Json::Null) | None => {}
        Some(other) => out.warn(format!("message content is {}; ignored", other.kind())),
    }
    let id = message.take_string("id").map(MessageId::new);
    let mut read = Message::new(out.unused_id(id), role, parts);
    read.at = message.time("timestamp");
    read.model = message.take_string("model");
    read.usage = message.take("usage").as_ref().and_then(anthropic_usage).map(Box::new);
    if is_answer(&message) {
        // These belong to an answer; a request that repeats it must not have them.
        for key in ["type", "stop_reason", "stop_sequence"] {
            message.take(key);
        }
    }
    read.extra = Extra::boxed(Vendor::Anthropic, message.into_map());
    out.put(read);
}

/// The text of a user message; `whole` is the origin of all of it, where that is known.
pub fn user_text(text: String, whole: Option<Origin>) -> Vec<Part> {
    match whole {
        Some(Origin::Hook) if text.trim_start().starts_with(SKILL_START) => {
            vec![Part::text(Origin::Memory, text)]
        }
        Some(origin) => vec![Part::text(origin, text)],
        None => text_parts(text, Role::User),
    }
}

/// Reads one Anthropic content block; `whole` is the origin of the record, where it is known.
pub fn read_block(block: Json<'_>, role: Role, whole: Option<Origin>) -> Vec<Part> {
    let default = if role == Role::User { Origin::User } else { Origin::Model };
    let origin = whole.unwrap_or(default);
    let mut block = match block {
        Json::Object(block) => block,
        Json::String(text) if role == Role::User => return user_text(text.into_owned(), whole),
        Json::String(text) => return vec![Part::text(origin, text)],
        other => return vec![Part::opaque(origin, Vendor::Anthropic, other.into_value())],
    };
    let kind = block.str("type").unwrap_or_default().to_string();
    let body = match kind.as_str() {
        "text" if block.str("text").is_some() => {
            block.take("type");
            let text = block.take_string("text").unwrap_or_default();
            let mut parts =
                if role == Role::User { user_text(text, whole) } else { vec![Part::text(origin, text)] };
            if let Some(last) = parts.last_mut() {
                last.extra = Extra::boxed(Vendor::Anthropic, block.into_map());
            }
            return parts;
        }
        "thinking" => {
            let text = block.take_string("thinking").unwrap_or_default();
            let signature = block.take_string("signature").filter(|value| !value.is_empty());
            let signature = signature.map(|value| Signature { vendor: Vendor::Anthropic, value });
            Body::Thought(Box::new(Thought { text, signature, item: None }))
        }
        "tool_use" => {
            let id = block.take_string("id").map_or_else(|| CallId::new(""), CallId::new);
            let name = block.take_string("name").unwrap_or_default();
            let args = block.take("input").map_or_else(|| Value::Object(Map::new()), Json::into_value);
            Body::Call(Box::new(ToolCall { id, name, args, reasoning: None }))
        }
        "tool_result" => Body::Result(Box::new(read_result(&mut block))),
        "image" | "document" => match read_source(&block) {
            Some((body, rest)) => {
                block.take("source");
                if kind == kind_of_source(&body) {
                    block.take("type");
                }
                let fields = keep_rest(block.into_map(), "source", rest);
                return vec![Part::new(origin, body).with_extra(Vendor::Anthropic, fields)];
            }
            None => return vec![Part::opaque(origin, Vendor::Anthropic, Value::Object(block.into_map()))],
        },
        _ => return vec![Part::opaque(origin, Vendor::Anthropic, Value::Object(block.into_map()))],
    };
    block.take("type");
    let origin = if matches!(body, Body::Result(_)) { Origin::Tool } else { origin };
    vec![Part::new(origin, body).with_extra(Vendor::Anthropic, block.into_map())]
}

fn read_result(block: &mut Object<'_>) -> ToolResult {
    let call = block.take_string("tool_use_id").map_or_else(|| CallId::new(""), CallId::new);
    let status = match block.get("is_error").and_then(Json::as_bool) {
        Some(true) => ToolStatus::Failed,
        Some(false) => ToolStatus::Succeeded,
        None => ToolStatus::Unstated,
    };
    if status != ToolStatus::Unstated {
        block.take("is_error");
    }
    let mut nested = Vec::new();
    let output = match block.take("content") {
        Some(Json::String(text)) => Output::Text(text.into_owned()),
        Some(Json::Array(blocks)) => {
            nested = blocks
                .into_iter()
                .flat_map(|block| read_block(block, Role::Model, Some(Origin::Tool)))
                .collect();
            Output::Empty
        }
        Some(Json::Null) | None => Output::Empty,
        Some(other) => Output::Structured(other.into_value()),
    };
    ToolResult { call, name: None, status, output, nested }
}

/// The media or file of an image or document block, and what else its source says.
fn read_source<'a>(block: &Object<'a>) -> Option<(Body, Object<'a>)> {
    let mut source = block.get("source")?.as_object()?.clone();
    let body = match source.take_string("type")?.as_str() {
        "base64" => {
            let mime = source.take_string("media_type")?;
            Body::Media(Box::new(Media { mime, data: MediaData::Base64(source.take_string("data")?) }))
        }
        "url" => {
            let mime = source.take_string("media_type");
            Body::File(Box::new(FileReference { mime, uri: source.take_string("url")? }))
        }
        _ => return None,
    };
    Some((body, source))
}

/// The kind of block that media and files usually come in; another kind is kept beside them.
pub(super) fn kind_of_source(body: &Body) -> &'static str {
    let mime = match body {
        Body::Media(media) => Some(media.mime.as_str()),
        Body::File(file) => file.mime.as_deref(),
        _ => None,
    };
    if mime.is_none_or(|mime| mime.starts_with("image/")) { "image" } else { "document" }
}
