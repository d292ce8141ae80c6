//! Reads OpenAI chat completions: requests, logs of requests, bare lists, one message a line.
//!
//! Many servers speak this format with additions of their own. What is not modelled stays with the message, the block or
//! the call it came with; blocks of Anthropic's, which some proxies pass on, are read as what they are.

use longhaul_conversation::{
    Body, CallId, Extra, Message, MessageId, Origin, Output, Part, Role, Thought, TokenCount, ToolCall,
    ToolResult, ToolStatus, Usage, Vendor,
};
use serde_json::{Map, Value};

use super::contents::CallIds;
use super::responses::{read_audio, read_tool};
use super::shared::{
    blocks_of, body_of_url, each_object, from_tool, keep_rest, messages_of, read_arguments, text_parts,
};
use super::{Known, Reader, anthropic};
use crate::Format;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::out::Out;

pub(crate) const KNOWN: Known = Known {
    format: Format::OpenAiChat,
    is_record: is_message,
    is_document: |document| messages_of(document).iter().filter_map(Json::as_object).any(is_message),
    open: || Box::new(Chat::default()),
    unread: &[],
};

fn is_message(message: &Object<'_>) -> bool {
    let known_role = matches!(
        message.str("role"),
        Some("system" | "developer" | "user" | "assistant" | "tool" | "function")
    );
    known_role && ["content", "tool_calls", "function_call"].iter().any(|key| message.has(key))
}

/// Whether the message has something that only OpenAI's format has.
pub(super) fn has_marks(message: &Object<'_>) -> bool {
    let is_block = |block: &Json<'_>| {
        let kind = block.get("type").and_then(Json::as_str);
        matches!(kind, Some("image_url" | "input_audio" | "refusal"))
    };
    matches!(message.str("role"), Some("system" | "developer" | "tool" | "function"))
        || message.has("tool_calls")
        || message.has("function_call")
        || blocks_of(message).iter().any(is_block)
}

#[derive(Default)]
struct Chat {
    /// Calls of the old kind have no ids.
    ids: CallIds,
    /// Whether something showed that this is OpenAI's format and not just plain messages.
    is_certain: bool,
}

impl Reader for Chat {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let messages = match record {
            list @ (Json::Array(_) | Json::List(_)) => list.into_list().unwrap_or_default(),
            Json::Object(message) if message.has("role") => return self.message(message, out),
            Json::Object(mut document) => {
                self.is_certain = true;
                read_head(&mut document, out);
                document.take_list("messages").unwrap_or_default()
            }
            other => return out.warn(format!("expected a message, found {}; skipped", other.kind())),
        };
        each_object(messages, "messages", out, |message, _, out| self.message(message, out));
    }
}

fn read_head(document: &mut Object<'_>, out: &mut Out<'_>) {
    let response = document.get("response");
    let answered_by = response.and_then(|response| response.get("model")).and_then(Json::as_str);
    let usage = response.and_then(|response| response.get("usage")).or_else(|| document.get("usage"));
    out.note(document.time("timestamp"), document.str("model"), None);
    out.note(None, answered_by, usage.and_then(read_usage).as_ref());
    out.info.window = document.get("context_window").and_then(Json::as_u64).map(TokenCount);
    let tools = document.take_array("tools").or_else(|| document.take_array("functions"));
    for tool in tools.unwrap_or_default() {
        match tool.into_object() {
            Some(mut tool) if tool.get("function").is_some_and(|function| function.as_object().is_some()) => {
                out.info.tools.extend(tool.take_object("function").map(read_tool));
            }
            Some(tool) if tool.has("input_schema") => out.info.tools.push(anthropic::read_tool(tool)),
            // The old list of functions, without the wrapper.
            Some(tool) if tool.has("name") => out.info.tools.push(read_tool(tool)),
            Some(tool) => out.skip(&format!("tool:{}", tool.str("type").unwrap_or("?"))),
            None => out.skip("tool:?"),
        }
    }
}

/// Usage as chat completions report it.
fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let count = |value: Option<&Json<'_>>| value.and_then(Json::as_u64).map(TokenCount);
    let detail = |of: &str, key: &str| count(usage.get(of).and_then(|details| details.get(key)));
    let usage = Usage {
        input: count(usage.get("prompt_tokens")),
        output: count(usage.get("completion_tokens")),
        cached: detail("prompt_tokens_details", "cached_tokens"),
        thoughts: detail("completion_tokens_details", "reasoning_tokens"),
        total: count(usage.get("total_tokens")),
        ..Usage::default()
    }
    .with_thoughts_apart();
    (!usage.is_empty()).then_some(usage)
}

impl Chat {
    fn message(&mut self, mut message: Object<'_>, out: &mut Out<'_>) {
        self.settle_format(&message, out);
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
                    return out.info.system.extend(parts);
                }
            }
            "user" | "assistant" => {}
            _ => out.warn(format!("a message with the unknown role {said_by:?}; read as user")),
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

    /// Plain lines could be either format; the first block that only Anthropic has settles it.
    fn settle_format(&mut self, message: &Object<'_>, out: &mut Out<'_>) {
        self.is_certain |= has_marks(message);
        if !self.is_certain && anthropic::has_blocks(message) {
            self.is_certain = true;
            out.info.format = Format::Anthropic;
        }
    }

    fn read_answer(&mut self, message: &mut Object<'_>, out: &mut Out<'_>) -> Vec<Part> {
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
fn take_id(message: &mut Object<'_>, out: &Out<'_>) -> MessageId {
    out.unused_id(message.take_string("id").map(MessageId::new))
}

fn read_content(content: Option<Json<'_>>, role: Role, out: &mut Out<'_>) -> Vec<Part> {
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
            out.warn(format!("a message whose content is {}", other.kind()));
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

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(document: &Value, expected: &[&str]) {
        let session = read_text(&document.to_string());
        assert_eq!(session.info.format, Format::OpenAiChat);
        assert_eq!(outline(session.transcript.messages()), expected);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
    }

    #[test]
    fn a_request_is_read() {
        let request = json!({"model": "gpt-4o",
        "tools": [{"type": "function", "function": {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": "Use tabs."}]},
            {"role": "user", "content": "list"},
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"b\":1,\"a\":2}"}},
                {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{\"b\":"}}]},
            {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
            {"role": "assistant", "content": "Done."},
        ]});
        check(
            &request,
            &[
                "user: user \"list\"",
                "model: thought \"hm\", call c1 ls {\"b\":1,\"a\":2}, call c2 ls \"{\\\"b\\\":\"",
                "user: result c1 ls \"one\"",
                "user: result c2 nested [tool \"two\"]",
                "model: model \"Done.\"",
            ],
        );
        let info = read_text(&request.to_string()).info;
        assert_eq!(
            info.system.iter().filter_map(Part::as_text).collect::<Vec<_>>(),
            ["Be brief.", "Use tabs."]
        );
        assert_eq!(info.tools.iter().map(|tool| tool.description.as_str()).collect::<Vec<_>>(), ["Lists."]);
        assert_eq!(info.model(), Some("gpt-4o"));
    }

    #[test]
    fn a_log_says_what_the_answer_cost() {
        let log = json!({"messages": [{"role": "user", "content": "hi"}], "context_window": 200_000,
            "timestamp": 1_757_015_046.5,
            "response": {"model": "m-1", "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 2}, "prompt_tokens_details": {"cached_tokens": 2}}}});
        check(&log, &["user: user \"hi\""]);
        let info = read_text(&log.to_string()).info;
        assert_eq!((info.window, info.model()), (Some(TokenCount(200_000)), Some("m-1")));
        let usage = info.last_usage.expect("given");
        assert_eq!(
            [usage.input, usage.cached, usage.output, usage.thoughts],
            [7, 2, 1, 2].map(|tokens| Some(TokenCount(tokens)))
        );
        assert!(info.started.is_some());
    }

    #[test]
    fn messages_come_bare_and_line_by_line() {
        let (user, model) =
            (json!({"role": "user", "content": "a"}), json!({"role": "assistant", "content": "b"}));
        let expected = ["user: user \"a\"", "model: model \"b\""];
        check(&json!([user, model]), &expected);
        check(&user, &expected[..1]);
        let session = read_text(&format!("{user}\n{model}\n"));
        assert_eq!(session.info.format, Format::OpenAiChat);
        assert_eq!(outline(session.transcript.messages()), expected);
    }

    #[track_caller]
    fn check_format(document: &Value, expected: Format) {
        assert_eq!(read_text(&document.to_string()).info.format, expected);
    }

    #[test]
    fn the_two_kinds_of_messages_are_told_apart() {
        let plain = json!({"role": "user", "content": [{"type": "text", "text": "a"}]});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]});
        let image =
            json!({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]});
        let ask = json!({"role": "assistant", "content": null, "tool_calls": []});
        check_format(&json!([plain]), Format::OpenAiChat);
        check_format(&json!({"messages": [plain]}), Format::OpenAiChat);
        check_format(&json!({"messages": [plain], "system": "s"}), Format::Anthropic);
        check_format(
            &json!({"messages": [plain], "tools": [{"name": "f", "input_schema": {}}]}),
            Format::Anthropic,
        );
        check_format(&json!([plain, call]), Format::Anthropic);
        check_format(&json!([image, plain]), Format::Anthropic);
        check_format(&json!([plain, ask]), Format::OpenAiChat);
        check_format(&json!([{"role": "system", "content": "s"}, call]), Format::OpenAiChat);
        check_format(&json!([{"role": "tool", "tool_call_id": "c", "content": "x"}]), Format::OpenAiChat);
    }

    #[test]
    fn calls_of_the_old_kind_find_their_results() {
        check(
            &json!([
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": null, "function_call": {"name": "ls", "arguments": "{}"}},
                {"role": "function", "name": "ls", "content": "one"},
            ]),
            &["user: user \"go\"", "model: call lh-call-1 ls {}", "user: result lh-call-1 ls \"one\""],
        );
    }

    #[test]
    fn a_later_system_message_keeps_its_role() {
        let document =
            json!([{"role": "user", "content": "a"}, {"role": "system", "content": "b", "name": "host"}]);
        check(&document, &["user: user \"a\"", "user: hook \"b\""]);
        let session = read_text(&document.to_string());
        let extra = session.transcript.messages()[1].extra.clone().expect("kept");
        assert_eq!(Value::Object(extra.fields).to_string(), r#"{"name":"host","role":"system"}"#);
    }

    #[test]
    fn all_kinds_of_blocks_are_read() {
        check(
            &json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                    {"type": "image_url", "image_url": "https://example.com/b.png"},
                    {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "wav"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,CCCC", "filename": "a.pdf"}},
                    {"type": "file", "file": {"file_id": "f"}},
                    {"type": "video_url", "video_url": {"url": "x"}},
                    7,
                ]},
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
                {"role": "assistant", "content": null, "refusal": "Never."},
            ]),
            &[
                "user: user \"see\", media image/png AAAA, file https://example.com/a.png, \
                 file https://example.com/b.png, media audio/wav BBBB, media application/pdf CCCC, \
                 opaque {\"type\":\"file\",\"file\":{\"file_id\":\"f\"}}, \
                 opaque {\"type\":\"video_url\",\"video_url\":{\"url\":\"x\"}}, opaque 7",
                "model: model \"No.\"",
                "model: model \"Never.\"",
            ],
        );
    }

    #[test]
    fn what_is_not_modelled_stays_where_it_was() {
        let session = read_text(
            &json!([
                {"z": 1, "role": "user", "name": "ann", "a": 2, "content": [
                    {"type": "image_url", "cache": 1, "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}]},
                {"role": "assistant", "content": "x", "tool_calls": [
                    {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "strict": true}},
                    {"id": "d", "type": "custom", "custom": {"name": "g", "input": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "ok", "is_error": false},
            ])
            .to_string(),
        );
        let messages = session.transcript.messages();
        let fields =
            |extra: &Option<Box<Extra>>| Value::Object(extra.clone().expect("kept").fields).to_string();
        assert_eq!(fields(&messages[0].extra), r#"{"z":1,"name":"ann","a":2}"#);
        assert_eq!(fields(&messages[0].parts[0].extra), r#"{"cache":1,"image_url":{"detail":"low"}}"#);
        assert_eq!(fields(&messages[1].parts[1].extra), r#"{"index":0,"function":{"strict":true}}"#);
        assert_eq!(fields(&messages[1].parts[2].extra), r#"{"type":"custom"}"#);
        assert_eq!(messages[1].parts[2].as_call().map(|call| call.args.clone()), Some(json!("{}")));
        assert_eq!(fields(&messages[2].parts[0].extra), r#"{"is_error":false}"#);
    }

    #[test]
    fn anthropic_blocks_among_the_others_are_read() {
        check(
            &json!([{"role": "system", "content": "s"}, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "S"}, {"type": "text", "text": "x"}]}]),
            &["model: thought \"hm\" signed S, model \"x\""],
        );
    }

    #[test]
    fn broken_messages_are_reported_and_the_rest_is_read() {
        let session = read_text(
            r#"[{"role":"user","content":"a"},7,{"role":"robot","content":"b"},{"role":"user","content":3}]"#,
        );
        assert_eq!(
            outline(session.transcript.messages()),
            ["user: user \"a\"", "user: user \"b\"", "user: "]
        );
        let reasons: Vec<&str> = session.warnings.iter().map(|warning| warning.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "messages[1] is a number; skipped",
                "a message with the unknown role \"robot\"; read as user",
                "a message whose content is a number",
            ]
        );
    }
}
