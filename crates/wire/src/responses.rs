//! Reads the items of OpenAI Responses: of requests and of answers; Codex rollouts are made of the same items.
//!
//! A model's turn is a run of items (reasoning, texts, calls); it becomes one message that grows item by item. Each item
//! of the user's side is a message of its own.

use longhaul_conversation::{
    Body, CallId, Extra, Media, MediaData, Message, MessageId, Origin, Output, Part, Role, Signature,
    Thought, Timestamp, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::shared::{body_of_url, from_tool, keep_rest, read_arguments, text_parts};

/// True if this can only be an item of Responses: its type says so, or the blocks of its content.
pub fn is_item(item: &Object<'_>) -> bool {
    match item.str("type") {
        Some("message") | None => {
            let blocks = item.get("content").and_then(Json::as_array).unwrap_or_default();
            let is_typed = |block: &Json<'_>| {
                let kind = block.get("type").and_then(Json::as_str).unwrap_or_default();
                kind.starts_with("input_") && kind != "input_audio" || kind == "output_text"
            };
            item.has("role")
                && (blocks.iter().any(is_typed) || item.has("type") && item.str("content").is_some())
        }
        Some("function_call" | "custom_tool_call") => item.has("call_id") && item.has("name"),
        Some("function_call_output" | "custom_tool_call_output") => item.has("call_id"),
        Some("reasoning") => item.has("summary"),
        _ => false,
    }
}

/// Reads what a request says beside its items: the model, the instruction and the tools, which are taken out of it.
pub fn read_head(document: &mut Object<'_>, out: &mut dyn Intake) {
    if let Some(model) = document.take_string("model") {
        out.note(None, Some(&model), None);
    }
    if let Some(text) = document.take_string("instructions") {
        out.add_system(vec![Part::text(Origin::Hook, text)]);
    }
    for tool in document.take_array("tools").unwrap_or_default() {
        match tool {
            Json::Object(tool) if tool.str("type") == Some("function") => {
                out.add_tool(read_tool(tool));
            }
            other => {
                let kind = other.get("type").and_then(Json::as_str).unwrap_or("?");
                out.skip(&format!("tool:{kind}"));
            }
        }
    }
}

/// The fields of a request that are left when its head and its items were taken out of it.
pub fn read_rest(document: Object<'_>) -> Option<Box<Extra>> {
    Extra::boxed(Vendor::OpenAiResponses, document.into_map())
}

/// A declared function.
pub fn read_tool(mut tool: Object<'_>) -> ToolDeclaration {
    ToolDeclaration {
        name: tool.take_string("name").unwrap_or_default(),
        description: tool.take_string("description").unwrap_or_default(),
        parameters: tool.take("parameters").map_or(Value::Null, Json::into_value),
    }
}

/// Puts items together to messages.
#[derive(Debug, Default)]
pub struct Items {
    /// The model that writes from now on, where known.
    pub model: Option<String>,
    /// The model's message that is still growing.
    growing: Option<MessageId>,
    /// The id of the last reasoning item in this turn of the model's.
    reasoning: Option<String>,
}

impl Items {
    /// Takes the next item, said at the given time.
    pub fn item(&mut self, item: Object<'_>, at: Option<Timestamp>, out: &mut dyn Intake) {
        match item.str("type").unwrap_or("message") {
            "message" => self.message(item, at, out),
            "reasoning" => self.reasoning(item, at, out),
            "function_call" | "custom_tool_call" => self.call(item, at, out),
            "local_shell_call" if item.str("call_id").or(item.str("id")).is_some() => {
                self.call(item, at, out);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.result(item, at, out);
            }
            kind => {
                let (role, origin) = if kind.ends_with("_output") {
                    (Role::User, Origin::Tool)
                } else {
                    (Role::Model, Origin::Model)
                };
                let id = item.str("id").map(MessageId::from);
                let value = Value::Object(item.into_map());
                let part = Part::opaque(origin, Vendor::OpenAiResponses, value);
                self.place(role, id, vec![part], at, out);
            }
        }
    }

    /// The model's turn is over: what comes next is another message, also if it is the model's.
    pub fn end_turn(&mut self) {
        self.growing = None;
        self.reasoning = None;
    }

    fn message(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut dyn Intake) {
        item.take("type");
        let said_by = item.take_string("role").unwrap_or_default();
        let role = if said_by == "assistant" { Role::Model } else { Role::User };
        let is_instruction = matches!(said_by.as_str(), "system" | "developer");
        let mut parts = Vec::new();
        match item.take("content") {
            Some(Json::String(text)) => parts.extend(text_parts(text.into_owned(), role)),
            Some(Json::Array(blocks)) => {
                for block in blocks {
                    parts.extend(read_block(block, role));
                }
                close_references(&mut parts);
            }
            Some(Json::Null) | None => {}
            Some(other) => out.warn(format!("message content is {}; ignored", other.kind())),
        }
        if is_instruction {
            parts.iter_mut().for_each(|part| part.origin = Origin::Hook);
            if !out.has_messages() {
                return out.add_system(parts);
            }
        } else if !matches!(said_by.as_str(), "user" | "assistant") {
            out.warn(format!("unknown role {said_by:?}; read as user"));
        }
        let id = item.take_string("id").map(MessageId::new);
        if role == Role::Model {
            if let Some(first) = parts.first_mut().filter(|_| !item.is_empty()) {
                // The message grows by other items: what else this one said stays with its first part.
                let mut fields = first.extra.take().map(|extra| extra.fields).unwrap_or_default();
                fields.insert("message".into(), Value::Object(item.into_map()));
                first.extra = Extra::boxed(Vendor::OpenAiResponses, fields);
            }
            return self.place(role, id, parts, at, out);
        }
        let mut fields = item.into_map();
        if said_by != "user" {
            fields.insert("role".into(), Value::String(said_by));
        }
        self.end_turn();
        let mut message = Message::new(out.unused_id(id), role, parts);
        message.at = at;
        message.extra = Extra::boxed(Vendor::OpenAiResponses, fields);
        out.put(message);
    }

    fn reasoning(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut dyn Intake) {
        item.take("type");
        let id = item.take_string("id");
        // The reasoning itself where it is given, otherwise its summary; the other one stays beside it.
        let text = take_texts(&mut item, "content").or_else(|| take_texts(&mut item, "summary"));
        let signature = item.take_string("encrypted_content").filter(|value| !value.is_empty());
        let thought = Thought {
            text: text.unwrap_or_default(),
            signature: signature.map(|value| Signature { vendor: Vendor::OpenAiResponses, value }),
            item: id.clone(),
        };
        let part = Part::thought(thought).with_extra(Vendor::OpenAiResponses, item.into_map());
        self.place(Role::Model, id.clone().map(MessageId::new), vec![part], at, out);
        self.reasoning = id;
    }

    fn call(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut dyn Intake) {
        let id = item.str("id").map(MessageId::from);
        let call_id = item.take_string("call_id").or_else(|| item.take_string("id")).unwrap_or_default();
        let (name, args) = match item.str("type") {
            Some("local_shell_call") => {
                let action = item.take("action").map_or(Value::Null, Json::into_value);
                ("local_shell".to_string(), action)
            }
            Some("custom_tool_call") => {
                // A custom tool takes free text, which is no JSON even where it looks like it.
                let input = item.take("input").map_or(Value::Null, Json::into_value);
                (item.take_string("name").unwrap_or_default(), input)
            }
            _ => {
                item.take("type");
                let args = read_arguments(item.take("arguments"));
                (item.take_string("name").unwrap_or_default(), args)
            }
        };
        let call = ToolCall { id: CallId::new(call_id), name, args, reasoning: self.reasoning.clone() };
        let part = Part::call(call).with_extra(Vendor::OpenAiResponses, item.into_map());
        self.place(Role::Model, id, vec![part], at, out);
    }

    fn result(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut dyn Intake) {
        let id = item.str("id").map(MessageId::from);
        let call = item.take_string("call_id").or_else(|| item.take_string("id")).unwrap_or_default();
        if item.str("type") == Some("function_call_output") {
            item.take("type");
        }
        let answer = read_output(item.take("output"));
        let result = ToolResult {
            call: CallId::new(call),
            name: None,
            status: answer.status,
            output: answer.output,
            nested: answer.nested,
        };
        let mut fields = item.into_map();
        fields.extend(answer.rest);
        let part = Part::result(result).with_extra(Vendor::OpenAiResponses, fields);
        self.place(Role::User, id, vec![part], at, out);
    }

    fn place(
        &mut self,
        role: Role,
        id: Option<MessageId>,
        parts: Vec<Part>,
        at: Option<Timestamp>,
        out: &mut dyn Intake,
    ) {
        if role == Role::Model
            && let Some(growing) = &self.growing
        {
            out.note(at, None, None);
            return out.extend(growing.clone(), parts);
        }
        let mut message = Message::new(out.unused_id(id), role, parts);
        message.at = at;
        if role == Role::Model {
            self.growing = Some(message.id.clone());
            message.model.clone_from(&self.model);
        } else {
            self.end_turn();
        }
        out.put(message);
    }
}

/// The texts of a list of blocks, which is taken out if it has any.
fn take_texts(item: &mut Object<'_>, key: &str) -> Option<String> {
    let blocks = item.get(key)?.as_array()?;
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let text = texts.join("\n\n");
    let all = texts.len() == blocks.len();
    if all {
        item.take(key);
    }
    (!text.is_empty()).then_some(text)
}

/// A tool's answer, with what else the program said about it.
struct Answer {
    status: ToolStatus,
    output: Output,
    nested: Vec<Part>,
    rest: Map<String, Value>,
}

fn read_output(output: Option<Json<'_>>) -> Answer {
    let mut answer =
        Answer { status: ToolStatus::Unstated, output: Output::Empty, nested: Vec::new(), rest: Map::new() };
    match output {
        None | Some(Json::Null) => {}
        Some(Json::String(text)) => match read_envelope(&text) {
            Some(unpacked) => return unpacked,
            None => {
                answer.status = status_in_text(&text);
                answer.output = Output::Text(text.into_owned());
            }
        },
        Some(Json::Array(blocks)) => {
            answer.nested =
                blocks.into_iter().flat_map(|block| from_tool(read_block(block, Role::Model))).collect();
        }
        Some(Json::Object(mut fields)) if fields.str("content").is_some() && fields.has("success") => {
            answer.output = Output::Text(fields.take_string("content").unwrap_or_default());
            match fields.take("success") {
                Some(Json::Bool(true)) => answer.status = ToolStatus::Succeeded,
                Some(Json::Bool(false)) => answer.status = ToolStatus::Failed,
                _ => {}
            }
            answer.rest = keep_rest(Map::new(), "output", fields);
        }
        Some(value) => answer.output = Output::Structured(value.into_value()),
    }
    answer
}

/// Codex packs what a command printed into JSON, beside its exit code.
fn read_envelope(text: &str) -> Option<Answer> {
    if !text.starts_with('{') {
        return None;
    }
    let mut fields = Json::parse(text).ok()?.into_object()?;
    fields.get("metadata")?.as_object()?;
    let printed = fields.take_string("output")?;
    let status = match fields.get("metadata").and_then(|metadata| metadata.get("exit_code")) {
        Some(code @ Json::Number(_)) if code.as_u64() == Some(0) => ToolStatus::Succeeded,
        Some(Json::Number(_)) => ToolStatus::Failed,
        _ => ToolStatus::Unstated,
    };
    let rest = fields.into_map();
    Some(Answer { status, output: Output::Text(printed), nested: Vec::new(), rest })
}

/// Reads one block of a message's content.
pub fn read_block(block: Json<'_>, role: Role) -> Vec<Part> {
    let origin = if role == Role::User { Origin::User } else { Origin::Model };
    let mut block = match block {
        Json::Object(block) => block,
        Json::String(text) => return text_parts(text.into_owned(), role),
        other => return vec![Part::opaque(origin, Vendor::OpenAiResponses, other.into_value())],
    };
    let kind = block.str("type").unwrap_or_default().to_string();
    let text = match kind.as_str() {
        "input_text" | "output_text" | "text" => block.take_string("text"),
        "refusal" => block.take_string("refusal"),
        _ => None,
    };
    if let Some(text) = text {
        // The side tells which of the two kinds of text it is.
        if kind != "refusal" {
            block.take("type");
        }
        let mut parts = text_parts(text, role);
        if let Some(last) = parts.last_mut() {
            last.extra = Extra::boxed(Vendor::OpenAiResponses, block.into_map());
        }
        return parts;
    }
    let body = match kind.as_str() {
        "input_image" => block.take_string("image_url").map(body_of_url),
        "input_file" => {
            let address = block.take_string("file_data").or_else(|| block.take_string("file_url"));
            address.map(body_of_url)
        }
        "input_audio" => read_audio(&mut block),
        _ => None,
    };
    match body {
        Some(body) => vec![Part::new(origin, body).with_extra(Vendor::OpenAiResponses, block.into_map())],
        None => vec![Part::opaque(origin, Vendor::OpenAiResponses, Value::Object(block.into_map()))],
    }
}

/// The sound in an `input_audio` block.
pub fn read_audio(block: &mut Object<'_>) -> Option<Body> {
    let audio = block.get("input_audio")?;
    if audio.as_object()?.keys().count() != 2 {
        return None;
    }
    let data = audio.get("data")?.as_str()?.to_string();
    let mime = format!("audio/{}", audio.get("format")?.as_str()?);
    block.take("input_audio");
    Some(Body::Media(Box::new(Media { mime, data: MediaData::Base64(data) })))
}

/// Beginnings of a tool's answer with which Codex says that it never got to run, or was stopped.
const ENDINGS: &[(&str, ToolStatus)] = &[
    ("failed in sandbox ", ToolStatus::Failed),
    ("execution error: ", ToolStatus::Failed),
    ("failed to parse function arguments: ", ToolStatus::Failed),
    ("apply_patch verification failed: ", ToolStatus::Failed),
    ("unsupported call: ", ToolStatus::Failed),
    ("aborted by user", ToolStatus::Cancelled),
    ("exec command rejected by user", ToolStatus::Cancelled),
    ("patch rejected by user", ToolStatus::Cancelled),
];

/// The outcome that is read from a tool's answer, packed or plain.
pub fn status_when_read(text: &str) -> ToolStatus {
    read_envelope(text).map_or_else(|| status_in_text(text), |answer| answer.status)
}

/// The outcome of a tool call, where the head of a plain answer tells.
fn status_in_text(text: &str) -> ToolStatus {
    if let Some((_, status)) = ENDINGS.iter().find(|(start, _)| text.starts_with(start)) {
        return *status;
    }
    // A command's answer has a head of a few lines, which ends with the word before what was printed.
    let head = text.lines().take(8).take_while(|line| *line != "Output:");
    let code = head.filter_map(|line| {
        line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))
    });
    let has_head = ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|start| text.starts_with(start));
    match code.filter_map(|code| code.trim().parse::<i64>().ok()).next() {
        Some(0) if has_head => ToolStatus::Succeeded,
        Some(_) if has_head => ToolStatus::Failed,
        _ => ToolStatus::Unstated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_answer_tells_how_it_went() {
        for (text, status) in [
            ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", ToolStatus::Succeeded),
            ("Exit code: 101\nWall time: 0.1 seconds\nOutput:\n", ToolStatus::Failed),
            (
                "Chunk ID: a1\nWall time: 1 seconds\nProcess exited with code -1\nOutput:\nx",
                ToolStatus::Failed,
            ),
            ("Chunk ID: a1\nProcess running with session ID 7\nOutput:\nExit code: 1", ToolStatus::Unstated),
            ("failed in sandbox None with execution error: command timed out", ToolStatus::Failed),
            ("aborted by user after 3.1s", ToolStatus::Cancelled),
            ("It printed\nExit code: 1", ToolStatus::Unstated),
            ("Exit code: none", ToolStatus::Unstated),
            ("", ToolStatus::Unstated),
        ] {
            assert_eq!(status_in_text(text), status, "{text}");
        }
    }
}
