//! Reads chat completions: requests, messages and blocks.
//!
//! Many servers speak this format with additions of their own. What is not modelled stays with the message, the block or
//! the call it came with; blocks of Anthropic's, which some proxies pass on, are read as what they are.

use longhaul_conversation::{
    Body, CallId, Extra, Message, MessageId, Origin, Output, Part, Role, Thought, ToolCall, ToolResult,
    ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use crate::anthropic;
use crate::call_ids::CallIds;
use crate::fields::object;
use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::responses::{read_audio, read_tool};
use crate::shared::{blocks_of, body_of_url, from_tool, keep_rest, read_arguments, text_parts};

/// Reads what a request says beside its messages: the model and the tools, which are taken out of it.
pub fn read_head(document: &mut Object<'_>, out: &mut dyn Intake) {
    if let Some(model) = document.take_string("model") {
        out.note(None, Some(&model), None);
    }
    let tools = document.take_array("tools").or_else(|| document.take_array("functions"));
    for tool in tools.unwrap_or_default() {
        match tool.into_object() {
            Some(mut tool) if tool.get("function").is_some_and(|function| function.as_object().is_some()) => {
                tool.take_object("function").map(read_tool).into_iter().for_each(|tool| out.add_tool(tool));
            }
            Some(tool) if tool.has("input_schema") => out.add_tool(anthropic::read_tool(tool)),
            // The old list of functions, without the wrapper.
            Some(tool) if tool.has("name") => out.add_tool(read_tool(tool)),
            Some(tool) => out.skip(&format!("tool:{}", tool.str("type").unwrap_or("?"))),
            None => out.skip("tool:?"),
        }
    }
}

/// The fields of a request that are left when its head and its messages were taken out of it.
pub fn read_rest(document: Object<'_>) -> Option<Box<Extra>> {
    let mut fields = document.into_map();
    // The old list of functions is written as tools, so that the choice among them is one among tools.
    if let Some(choice) = fields.shift_remove("function_call") {
        let choice = match choice {
            Value::Object(function) => {
                let function = ("function", Value::Object(function));
                Value::Object(object([("type", "function".into()), function]))
            }
            choice => choice,
        };
        fields.entry("tool_choice").or_insert(choice);
    }
    Extra::boxed(Vendor::OpenAiChat, fields)
}

/// True if the message has something that only OpenAI's format has.
pub fn has_marks(message: &Object<'_>) -> bool {
    let is_block = |block: &Json<'_>| {
        let kind = block.get("type").and_then(Json::as_str);
        matches!(kind, Some("image_url" | "input_audio" | "refusal"))
    };
    matches!(message.str("role"), Some("system" | "developer" | "tool" | "function"))
        || message.has("tool_calls")
        || message.has("function_call")
        || blocks_of(message).iter().any(is_block)
}

/// Reads the messages of a chat.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    /// Calls of the old kind have no ids.
    ids: CallIds,
}

impl ChatDecoder {
    /// Reads one message.
    pub fn message(&mut self, mut message: Object<'_>, out: &mut dyn Intake) {
        let said_by = message.take_string("role").unwrap_or_default();
        let (role, mut parts) = match said_by.as_str() {
            "assistant" => (Role::Model, self.read_answer(&mut message, out)),
            "tool" | "function" => {
                let at = message.time("timestamp");
                let id = take_id(&mut message, out);
                let mut read = Message::new(id, Role::User, vec![self.read_result(message, &said_by)]);
                read.at = at;
                return out.put(read);
            }
            _ => (Role::User, read_content(message.take("content"), Role::User, out)),
        };
        match said_by.as_str() {
            "system" | "developer" => {
                parts.iter_mut().for_each(|part| part.origin = Origin::Hook);
                if !out.has_messages() {
                    return out.add_system(parts);
                }
            }
            "user" | "assistant" => {}
            _ => out.warn(format!("unknown role {said_by:?}; read as user")),
        }
        let mut read = Message::new(take_id(&mut message, out), role, parts);
        read.at = message.time("timestamp");
        let mut fields = message.into_map();
        if !matches!(said_by.as_str(), "user" | "assistant" | "") {
            fields.insert("role".into(), Value::String(said_by));
        }
        read.extra = Extra::boxed(Vendor::OpenAiChat, fields);
        out.put(read);
    }

    fn read_answer(&mut self, message: &mut Object<'_>, out: &mut dyn Intake) -> Vec<Part> {
        let mut parts = Vec::new();
        let thought = message.take_string("reasoning_content").or_else(|| message.take_string("reasoning"));
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            parts.push(Part::thought(Thought { text, ..Thought::default() }));
        }
        parts.extend(read_content(message.take("content"), Role::Model, out));
        if let Some(refusal) = message.take_string("refusal") {
            let fields = Map::from_iter([("type".to_string(), "refusal".into())]);
            parts.push(Part::model_text(refusal).with_extra(Vendor::OpenAiChat, fields));
        }
        if message.get("tool_calls").and_then(Json::as_array).is_some_and(|calls| !calls.is_empty()) {
            parts.extend(message.take_array("tool_calls").unwrap_or_default().into_iter().map(read_call));
        }
        if let Some(mut call) = message.take_object("function_call") {
            let name = call.take_string("name").unwrap_or_default();
            let args = read_arguments(call.take("arguments"));
            let call = ToolCall { id: self.ids.of_call(&name), name, args, reasoning: None };
            parts.push(Part::call(call));
        }
        parts
    }

    fn read_result(&mut self, mut message: Object<'_>, said_by: &str) -> Part {
        let name = message.take_string("name");
        let call = match message.take_string("tool_call_id") {
            Some(id) => CallId::new(id),
            None if said_by == "function" => self.ids.of_result(name.as_deref().unwrap_or_default()),
            None => CallId::new(""),
        };
        let mut nested = Vec::new();
        let output = match message.take("content") {
            None | Some(Json::Null) => Output::Empty,
            Some(Json::String(text)) => Output::Text(text.into_owned()),
            Some(Json::Array(blocks)) => {
                nested.extend(blocks.into_iter().flat_map(|block| from_tool(read_block(block, Role::Model))));
                Output::Empty
            }
            Some(other) => Output::Structured(other.into_value()),
        };
        let result = ToolResult { call, name, status: ToolStatus::Unstated, output, nested };
        Part::result(result).with_extra(Vendor::OpenAiChat, message.into_map())
    }
}

/// The message's own id, unless another message has it already.
fn take_id(message: &mut Object<'_>, out: &dyn Intake) -> MessageId {
    out.unused_id(message.take_string("id").map(MessageId::new))
}

fn read_content(content: Option<Json<'_>>, role: Role, out: &mut dyn Intake) -> Vec<Part> {
    match content {
        Some(Json::String(text)) if text.is_empty() => Vec::new(),
        Some(Json::String(text)) => text_parts(text.into_owned(), role),
        Some(Json::Array(blocks)) => {
            let mut parts: Vec<Part> = blocks.into_iter().flat_map(|block| read_block(block, role)).collect();
            close_references(&mut parts);
            parts
        }
        Some(Json::Null) | None => Vec::new(),
        Some(other) => {
            out.warn(format!("message content is {}; ignored", other.kind()));
            Vec::new()
        }
    }
}

fn read_call(call: Json<'_>) -> Part {
    let mut call = match call {
        Json::Object(call) => call,
        other => return Part::opaque(Origin::Model, Vendor::OpenAiChat, other.into_value()),
    };
    // A custom tool takes free text; its type stays beside it to tell it from a function.
    let key = if call.str("type") == Some("custom") { "custom" } else { "function" };
    let Some(mut inner) = call.take_object(key) else {
        return Part::opaque(Origin::Model, Vendor::OpenAiChat, Value::Object(call.into_map()));
    };
    let args = match key {
        "custom" => inner.take("input").map_or(Value::Null, Json::into_value),
        _ => {
            call.take("type");
            read_arguments(inner.take("arguments"))
        }
    };
    let id = CallId::new(call.take_string("id").unwrap_or_default());
    let name = inner.take_string("name").unwrap_or_default();
    let fields = keep_rest(call.into_map(), key, inner);
    Part::call(ToolCall { id, name, args, reasoning: None }).with_extra(Vendor::OpenAiChat, fields)
}

/// Reads one block of a message's content.
fn read_block(block: Json<'_>, role: Role) -> Vec<Part> {
    let origin = if role == Role::User { Origin::User } else { Origin::Model };
    let mut block = match block {
        Json::Object(block) if anthropic::is_block(&block) => {
            return anthropic::read_block(Json::Object(block), role, None);
        }
        Json::Object(block) => block,
        Json::String(text) => return text_parts(text.into_owned(), role),
        other => return vec![Part::opaque(origin, Vendor::OpenAiChat, other.into_value())],
    };
    let kind = block.str("type").unwrap_or_default().to_string();
    if matches!(kind.as_str(), "text" | "refusal")
        && let Some(text) = block.take_string(&kind)
    {
        if kind == "text" {
            block.take("type");
        }
        let mut parts = text_parts(text, role);
        if let Some(last) = parts.last_mut() {
            last.extra = Extra::boxed(Vendor::OpenAiChat, block.into_map());
        }
        return parts;
    }
    let found = match kind.as_str() {
        "image_url" => read_image(&mut block),
        "input_audio" => read_audio(&mut block).map(|body| (body, Object::default())),
        "file" => read_file(&mut block),
        _ => None,
    };
    match found {
        Some((body, rest)) => {
            block.take("type");
            let fields = keep_rest(block.into_map(), &kind, rest);
            vec![Part::new(origin, body).with_extra(Vendor::OpenAiChat, fields)]
        }
        None => vec![Part::opaque(origin, Vendor::OpenAiChat, Value::Object(block.into_map()))],
    }
}

fn read_image<'a>(block: &mut Object<'a>) -> Option<(Body, Object<'a>)> {
    // Some clients give the address alone.
    if let Some(url) = block.take_string("image_url") {
        return Some((body_of_url(url), Object::default()));
    }
    block.get("image_url")?.get("url")?.as_str()?;
    let mut image = block.take_object("image_url")?;
    let url = image.take_string("url")?;
    Some((body_of_url(url), image))
}

fn read_file<'a>(block: &mut Object<'a>) -> Option<(Body, Object<'a>)> {
    block.get("file")?.get("file_data")?.as_str()?;
    let mut file = block.take_object("file")?;
    let data = file.take_string("file_data")?;
    Some((body_of_url(data), file))
}
