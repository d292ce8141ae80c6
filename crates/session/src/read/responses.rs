//! Reads the items of OpenAI Responses: requests, bare lists, answers; Codex rollouts are made of the same items.
//!
//! A model's turn is a run of items (reasoning, texts, calls); it becomes one message that grows item by item. Each item
//! of the user's side is a message of its own.

use longhaul_conversation::{
    Body, CallId, Extra, Media, MediaData, Message, MessageId, Origin, Output, Part, Role, Signature,
    Thought, Timestamp, TokenCount, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Usage, Vendor,
};
use serde_json::{Map, Value};

use super::codex::status_in_text;
use super::shared::{body_of_url, each_object, from_tool, keep_rest, read_arguments, text_parts};
use super::{Known, Reader};
use crate::Format;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::OpenAiResponses,
    is_record: is_item,
    is_document,
    open: || Box::new(Responses::default()),
    unread: &[],
};

fn is_document(document: &Json<'_>) -> bool {
    let has_items = |value: Option<&Json<'_>>| {
        let items = value.and_then(Json::as_array).unwrap_or_default();
        items.iter().filter_map(Json::as_object).any(is_item)
    };
    match document {
        Json::Array(_) | Json::List(_) => has_items(Some(document)),
        Json::Object(fields) => {
            let is_request = fields.has("instructions") || fields.has("previous_response_id");
            has_items(fields.get("input"))
                || has_items(fields.get("output")) && fields.str("object") == Some("response")
                || fields.has("input") && fields.has("model") && is_request
                || is_item(fields)
        }
        _ => false,
    }
}

/// Whether this can only be an item of Responses: its type says so, or the blocks of its content.
pub(super) fn is_item(item: &Object<'_>) -> bool {
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

#[derive(Default)]
struct Responses {
    items: Items,
}

impl Reader for Responses {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        match record {
            Json::Object(item) if is_item(&item) => self.items.item(item, None, out),
            Json::Object(mut document) => {
                self.items.model = document.str("model").map(str::to_string);
                read_head(&mut document, out);
                if let Some(text) = document.take_string("input") {
                    out.put(Message::new(out.made_up_id(), Role::User, text_parts(text, Role::User)));
                }
                // What was asked, then what was answered.
                for key in ["input", "output"] {
                    let list = document.take_list(key).unwrap_or_default();
                    each_object(list, key, out, |item, _, out| self.items.item(item, None, out));
                }
            }
            list @ (Json::Array(_) | Json::List(_)) => {
                let list = list.into_list().unwrap_or_default();
                each_object(list, "items", out, |item, _, out| self.items.item(item, None, out));
            }
            other => out.warn(format!("expected an item, found {}; skipped", other.kind())),
        }
    }
}

fn read_head(document: &mut Object<'_>, out: &mut Out<'_>) {
    let usage = document.get("usage").and_then(read_usage);
    out.note(document.time("created_at"), document.str("model"), usage.as_ref());
    if out.info.session_id.is_none() {
        out.info.session_id = document.str("id").map(str::to_string);
    }
    if let Some(text) = document.take_string("instructions") {
        out.info.system.push(Part::text(Origin::Hook, text));
    }
    for tool in document.take_array("tools").unwrap_or_default() {
        match tool {
            Json::Object(tool) if tool.str("type") == Some("function") => {
                out.info.tools.push(read_tool(tool));
            }
            other => {
                let kind = other.get("type").and_then(Json::as_str).unwrap_or("?");
                out.skip(&format!("tool:{kind}"));
            }
        }
    }
}

/// A declared function.
pub(super) fn read_tool(mut tool: Object<'_>) -> ToolDeclaration {
    ToolDeclaration {
        name: tool.take_string("name").unwrap_or_default(),
        description: tool.take_string("description").unwrap_or_default(),
        parameters: tool.take("parameters").map_or(Value::Null, Json::into_value),
    }
}

/// Usage as Responses reports it.
pub(super) fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let count = |value: Option<&Json<'_>>| value.and_then(Json::as_u64).map(TokenCount);
    let detail = |of: &str, key: &str| count(usage.get(of).and_then(|details| details.get(key)));
    let usage = Usage {
        input: count(usage.get("input_tokens")),
        output: count(usage.get("output_tokens")),
        cached: detail("input_tokens_details", "cached_tokens"),
        thoughts: detail("output_tokens_details", "reasoning_tokens"),
        total: count(usage.get("total_tokens")),
        ..Usage::default()
    }
    .with_thoughts_apart();
    (!usage.is_empty()).then_some(usage)
}

/// Puts items together to messages.
#[derive(Default)]
pub(super) struct Items {
    /// The model that writes from now on, where known.
    pub(super) model: Option<String>,
    /// The model's message that is still growing.
    growing: Option<MessageId>,
    /// The id of the last reasoning item in this turn of the model's.
    reasoning: Option<String>,
}

impl Items {
    /// Takes the next item, said at the given time.
    pub(super) fn item(&mut self, item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
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
    pub(super) fn end_turn(&mut self) {
        self.growing = None;
        self.reasoning = None;
    }

    fn message(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
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
            Some(other) => out.warn(format!("a message whose content is {}", other.kind())),
        }
        if is_instruction {
            parts.iter_mut().for_each(|part| part.origin = Origin::Hook);
            if !out.has_messages() {
                return out.info.system.extend(parts);
            }
        } else if !matches!(said_by.as_str(), "user" | "assistant") {
            out.warn(format!("a message with the unknown role {said_by:?}; read as user"));
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

    fn reasoning(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
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

    fn call(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
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

    fn result(&mut self, mut item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
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
        out: &mut Out<'_>,
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
pub(super) fn read_block(block: Json<'_>, role: Role) -> Vec<Part> {
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
pub(super) fn read_audio(block: &mut Object<'_>) -> Option<Body> {
    let audio = block.get("input_audio")?;
    if audio.as_object()?.keys().count() != 2 {
        return None;
    }
    let data = audio.get("data")?.as_str()?.to_string();
    let mime = format!("audio/{}", audio.get("format")?.as_str()?);
    block.take("input_audio");
    Some(Body::Media(Box::new(Media { mime, data: MediaData::Base64(data) })))
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(document: &Value, expected: &[&str]) {
        let session = read_text(&document.to_string());
        assert_eq!(session.info.format, Format::OpenAiResponses);
        assert_eq!(outline(session.transcript.messages()), expected);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
    }

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    #[test]
    fn a_turn_of_the_models_is_one_message() {
        check(
            &json!({"model": "gpt-5", "instructions": "Be brief.", "input": [
                user("list"),
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
                 "encrypted_content": "E"},
                {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                 "content": [{"type": "output_text", "text": "Looking."}]},
                {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{\"a\":1}"},
                {"type": "function_call", "call_id": "c2", "name": "ls", "arguments": "{broken"},
                {"type": "function_call_output", "call_id": "c1", "output": "one"},
                {"type": "function_call_output", "call_id": "c2", "output": "two"},
                {"type": "function_call", "call_id": "c3", "name": "ls", "arguments": "{}"},
            ]}),
            &[
                "user: user \"list\"",
                "model: thought \"hm\" signed E item rs_1, model \"Looking.\", call c1 ls {\"a\":1} after rs_1, \
                 call c2 ls \"{broken\" after rs_1",
                "user: result c1 \"one\"",
                "user: result c2 \"two\"",
                "model: call c3 ls {}",
            ],
        );
    }

    #[test]
    fn a_request_says_its_model_system_and_tools() {
        let request = json!({"model": "gpt-5", "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "ls", "description": "Lists.", "parameters": {"type": "object"}},
                  {"type": "web_search"}],
        "input": [
            {"role": "developer", "content": "Use tabs."},
            user("hi"),
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Now spaces."}]},
        ]});
        let session = read_text(&request.to_string());
        assert_eq!(session.info.model(), Some("gpt-5"));
        let system: Vec<_> = session.info.system.iter().filter_map(Part::as_text).collect();
        assert_eq!(system, ["Be brief.", "Use tabs."]);
        assert_eq!(session.info.tools.len(), 1);
        assert_eq!(session.info.skipped.iter().collect::<Vec<_>>(), [("tool:web_search", 1)]);
        let messages = session.transcript.messages();
        assert_eq!(outline(messages), ["user: user \"hi\"", "user: hook \"Now spaces.\""]);
        let fields = Extra::for_vendor(&messages[1].extra, Vendor::OpenAiResponses);
        assert_eq!(fields.and_then(|fields| fields.get("role")), Some(&json!("developer")));
    }

    #[test]
    fn a_text_alone_and_an_answer_alone_are_read() {
        check(&json!({"model": "m", "instructions": "x", "input": "hello"}), &["user: user \"hello\""]);
        let answer = json!({"object": "response", "id": "resp_1", "model": "m",
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                      "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 2}},
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]});
        check(&answer, &["model: model \"hi\""]);
        let usage = read_text(&answer.to_string()).info.last_usage.expect("given");
        assert_eq!((usage.input, usage.cached), (Some(TokenCount(10)), Some(TokenCount(4))));
        assert_eq!((usage.thoughts, usage.total), (Some(TokenCount(2)), Some(TokenCount(15))));
    }

    #[test]
    fn items_come_bare_and_line_by_line() {
        check(&json!([user("a")]), &["user: user \"a\""]);
        check(&user("a"), &["user: user \"a\""]);
        let lines = format!(
            "{}\n{}\n",
            user("a"),
            json!({"type": "function_call_output", "call_id": "c", "output": "x"})
        );
        assert_eq!(
            outline(read_text(&lines).transcript.messages()),
            ["user: user \"a\"", "user: result c \"x\""]
        );
    }

    #[test]
    fn all_kinds_of_blocks_are_read() {
        let blocks = json!([
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            {"type": "input_image", "image_url": "https://example.com/a.png"},
            {"type": "input_image", "file_id": "file-1"},
            {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "a.pdf"},
            {"type": "input_audio", "input_audio": {"data": "CCCC", "format": "wav"}},
            {"type": "input_text", "text": "see"},
        ]);
        check(
            &json!([{"type": "message", "role": "user", "content": blocks},
                   {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]),
            &[
                "user: media image/png AAAA, file https://example.com/a.png, \
                 opaque {\"type\":\"input_image\",\"file_id\":\"file-1\"}, media application/pdf BBBB, \
                 media audio/wav CCCC, user \"see\"",
                "model: model \"No.\"",
            ],
        );
    }

    #[test]
    fn other_calls_keep_what_they_say() {
        check(
            &json!([
                user("go"),
                {"type": "local_shell_call", "call_id": "s1", "status": "completed",
                 "action": {"type": "exec", "command": ["ls"]}},
                {"type": "custom_tool_call", "call_id": "t1", "name": "apply_patch", "input": "{\"x\":1}"},
                {"type": "web_search_call", "id": "ws", "status": "completed"},
                {"type": "local_shell_call_output", "id": "s1", "output": "done"},
                {"type": "custom_tool_call_output", "call_id": "t1", "output": [{"type": "input_text", "text": "ok"}]},
                {"type": "computer_call_output", "call_id": "cc", "output": {}},
            ]),
            &[
                "user: user \"go\"",
                "model: call s1 local_shell {\"type\":\"exec\",\"command\":[\"ls\"]}, \
                 call t1 apply_patch \"{\\\"x\\\":1}\", \
                 opaque {\"type\":\"web_search_call\",\"id\":\"ws\",\"status\":\"completed\"}",
                "user: result s1 \"done\"",
                "user: result t1 nested [tool \"ok\"]",
                "user: opaque {\"type\":\"computer_call_output\",\"call_id\":\"cc\",\"output\":{}}",
            ],
        );
    }

    #[test]
    fn the_outcome_of_a_command_is_unpacked() {
        let output = |output: Value| json!([user("go"), {"type": "function_call_output", "call_id": "c", "output": output}]);
        let packed = r#"{"output":"a.txt\n","metadata":{"exit_code":0,"duration_seconds":0.1}}"#;
        check(&output(json!(packed)), &["user: user \"go\"", "user: result c succeeded \"a.txt\\n\""]);
        let failed = packed.replace(":0,", ":127,");
        check(&output(json!(failed)), &["user: user \"go\"", "user: result c failed \"a.txt\\n\""]);
        let plain = r#"{"output":"x"}"#;
        check(&output(json!(plain)), &["user: user \"go\"", "user: result c \"{\\\"output\\\":\\\"x\\\"}\""]);
        check(
            &output(json!({"content": "no", "success": false})),
            &["user: user \"go\"", "user: result c failed \"no\""],
        );
        check(&output(json!({"a": 1})), &["user: user \"go\"", "user: result c {\"a\":1}"]);
    }

    #[test]
    fn the_agents_own_texts_are_not_the_users() {
        check(
            &json!([
                user("<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
                user("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
                user("<user_instructions>Use tabs.</user_instructions>")
            ]),
            &[
                "user: hook \"<environment_context>\\n<cwd>/x</cwd>\\n</environment_context>\"",
                "user: memory \"# AGENTS.md instructions for /x\\n\\n<INSTRUCTIONS>\\nUse tabs.\\n</INSTRUCTIONS>\"",
                "user: memory \"<user_instructions>Use tabs.</user_instructions>\"",
            ],
        );
    }

    #[test]
    fn nothing_of_an_item_is_lost() {
        let session = read_text(
            &json!([
                {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "short"}],
                 "content": [{"type": "reasoning_text", "text": "long"}]},
                {"type": "message", "id": "m", "role": "assistant", "phase": "final", "content": [
                    {"type": "output_text", "text": "x", "annotations": []}]},
            ])
            .to_string(),
        );
        let parts = &session.transcript.messages()[0].parts;
        assert_eq!(outline(session.transcript.messages()), ["model: thought \"long\" item rs, model \"x\""]);
        let fields =
            |part: &Part| Value::Object(part.extra.as_ref().expect("extra").fields.clone()).to_string();
        assert_eq!(fields(&parts[0]), r#"{"summary":[{"type":"summary_text","text":"short"}]}"#);
        assert_eq!(fields(&parts[1]), r#"{"annotations":[],"message":{"phase":"final"}}"#);
    }
}
