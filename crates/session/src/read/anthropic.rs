//! Reads Anthropic messages: requests, bare lists, one message a line; Claude Code sessions hold the same blocks.

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, MessageId, Origin, Output, Part, Role,
    Signature, Thought, TokenCount, ToolCall, ToolDeclaration, ToolResult, ToolStatus, Usage, Vendor,
};
use serde_json::{Map, Value};

use super::claude::SKILL_START;
use super::shared::{blocks_of, each_object, keep_rest, messages_of, text_parts};
use super::{Known, Reader, openai};
use crate::Format;
use crate::json::{Json, Object};
use crate::origins::close_references;
use crate::out::Out;

pub(crate) const KNOWN: Known = Known {
    format: Format::Anthropic,
    is_record: |record| is_message(record) && (has_blocks(record) || is_answer(record)),
    is_document,
    open: || Box::new(Anthropic),
    unread: &[],
};

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

fn is_document(document: &Json<'_>) -> bool {
    let messages = messages_of(document);
    let mut objects = messages.iter().filter_map(Json::as_object);
    if objects.clone().any(openai::has_marks) || !objects.clone().any(is_message) {
        return false;
    }
    let of_request = |fields: &Object<'_>| {
        let tools = fields.get("tools").and_then(Json::as_array).unwrap_or_default();
        fields.has("system")
            || fields.has("anthropic_version")
            || tools.iter().any(|tool| tool.get("input_schema").is_some())
    };
    document.as_object().is_some_and(of_request)
        || objects.any(|message| has_blocks(message) || is_answer(message))
}

fn is_message(message: &Object<'_>) -> bool {
    matches!(message.str("role"), Some("user" | "assistant")) && message.has("content")
}

/// Whether this is a model's answer as it came back.
fn is_answer(message: &Object<'_>) -> bool {
    message.str("type") == Some("message") && message.has("stop_reason")
}

/// Whether the message has blocks that only Anthropic has.
pub(super) fn has_blocks(message: &Object<'_>) -> bool {
    blocks_of(message).iter().filter_map(Json::as_object).any(is_block)
}

/// Whether only Anthropic has such a block.
pub(super) fn is_block(block: &Object<'_>) -> bool {
    match block.str("type") {
        Some("image" | "document") => block.has("source"),
        Some(kind) => BLOCKS.contains(&kind),
        None => false,
    }
}

struct Anthropic;

impl Reader for Anthropic {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let messages = match record {
            list @ (Json::Array(_) | Json::List(_)) => list.into_list().unwrap_or_default(),
            Json::Object(message) if message.has("role") => return read_message(message, out),
            Json::Object(mut document) => {
                read_head(&mut document, out);
                document.take_list("messages").unwrap_or_default()
            }
            other => return out.warn(format!("expected a message, found {}; skipped", other.kind())),
        };
        each_object(messages, "messages", out, |message, _, out| read_message(message, out));
    }
}

fn read_head(document: &mut Object<'_>, out: &mut Out<'_>) {
    let usage = document.get("usage").and_then(read_usage);
    out.note(document.time("timestamp"), document.str("model"), usage.as_ref());
    match document.take("system") {
        Some(Json::String(text)) => out.info.system.push(Part::text(Origin::Hook, text)),
        Some(Json::Array(blocks)) => {
            for block in blocks {
                out.info.system.extend(read_block(block, Role::User, Some(Origin::Hook)));
            }
        }
        _ => {}
    }
    for tool in document.take_array("tools").unwrap_or_default() {
        match tool {
            Json::Object(tool) if tool.has("input_schema") => out.info.tools.push(read_tool(tool)),
            other => {
                let kind = other.get("type").and_then(Json::as_str).unwrap_or("?");
                out.skip(&format!("tool:{kind}"));
            }
        }
    }
}

/// A declared tool.
pub(super) fn read_tool(mut tool: Object<'_>) -> ToolDeclaration {
    ToolDeclaration {
        name: tool.take_string("name").unwrap_or_default(),
        description: tool.take_string("description").unwrap_or_default(),
        parameters: tool.take("input_schema").map_or(Value::Null, Json::into_value),
    }
}

fn read_message(mut message: Object<'_>, out: &mut Out<'_>) {
    let role = match message.take_string("role").as_deref() {
        Some("assistant") => Role::Model,
        Some("user") => Role::User,
        other => {
            out.warn(format!(
                "a message with the unknown role {:?}; read as user",
                other.unwrap_or_default()
            ));
            Role::User
        }
    };
    let mut parts = Vec::new();
    match message.take("content") {
        Some(Json::String(text)) => parts.extend(text_parts(text.into_owned(), role)),
        Some(Json::Array(blocks)) => {
            for block in blocks {
                parts.extend(read_block(block, role, None));
            }
            close_references(&mut parts);
        }
        Some(Json::Null) | None => {}
        Some(other) => out.warn(format!("a message whose content is {}", other.kind())),
    }
    let id = message.take_string("id").map(MessageId::new);
    let mut read = Message::new(out.unused_id(id), role, parts);
    read.at = message.time("timestamp");
    read.model = message.take_string("model");
    read.usage = message.take("usage").as_ref().and_then(read_usage).map(Box::new);
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
pub(super) fn user_text(text: String, whole: Option<Origin>) -> Vec<Part> {
    match whole {
        Some(Origin::Hook) if text.trim_start().starts_with(SKILL_START) => {
            vec![Part::text(Origin::Memory, text)]
        }
        Some(origin) => vec![Part::text(origin, text)],
        None => text_parts(text, Role::User),
    }
}

/// Reads one Anthropic content block; `whole` is the origin of the record, where it is known.
pub(super) fn read_block(block: Json<'_>, role: Role, whole: Option<Origin>) -> Vec<Part> {
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
pub(crate) fn kind_of_source(body: &Body) -> &'static str {
    let mime = match body {
        Body::Media(media) => Some(media.mime.as_str()),
        Body::File(file) => file.mime.as_deref(),
        _ => None,
    };
    if mime.is_none_or(|mime| mime.starts_with("image/")) { "image" } else { "document" }
}

/// Anthropic counts cached tokens beside the input; we count them in.
pub(super) fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).map(TokenCount);
    let cached = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens");
    let usage = Usage {
        input: count("input_tokens").map(|fresh| [Some(fresh), cached, written].into_iter().flatten().sum()),
        output: count("output_tokens"),
        cached,
        written,
        written_hour: usage
            .get("cache_creation")
            .and_then(|created| created.get("ephemeral_1h_input_tokens"))
            .and_then(Json::as_u64)
            .map(TokenCount),
        ..Usage::default()
    };
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(document: &Value, expected: &[&str]) {
        let session = read_text(&document.to_string());
        assert_eq!(session.info.format, Format::Anthropic);
        assert_eq!(outline(session.transcript.messages()), expected);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
    }

    #[test]
    fn a_request_is_read() {
        let request = json!({"model": "claude-sonnet-4", "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "ls", "description": "Lists.", "input_schema": {"type": "object"}},
                  {"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": "list <system-reminder>soon</system-reminder>"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "S"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {"b": 1, "a": 2}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                    {"type": "text", "text": "none"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}]},
        ]});
        check(
            &request,
            &[
                "user: user \"list \", hook \"<system-reminder>soon</system-reminder>\"",
                "model: thought \"hm\" signed S, model \"Looking.\", call t1 ls {\"b\":1,\"a\":2}",
                "user: result t1 failed nested [tool \"none\", media image/png AAAA]",
            ],
        );
        let info = read_text(&request.to_string()).info;
        assert_eq!(info.model(), Some("claude-sonnet-4"));
        assert_eq!(info.system.iter().filter_map(Part::as_text).collect::<Vec<_>>(), ["Be brief."]);
        assert_eq!(info.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["ls"]);
        assert_eq!(info.skipped.total(), 1);
    }

    #[test]
    fn messages_come_bare_and_line_by_line() {
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]});
        check(&json!([call]), &["model: call t ls {}"]);
        check(&call, &["model: call t ls {}"]);
        let lines = format!("{}\n{call}\n", json!({"role": "user", "content": "go"}));
        let session = read_text(&lines);
        assert_eq!(session.info.format, Format::Anthropic);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"go\"", "model: call t ls {}"]);
    }

    #[test]
    fn huge_figures_stop_at_the_highest() {
        let usage = Json::parse(r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":1e19}"#);
        let read = read_usage(&usage.expect("it is JSON")).expect("usage");
        assert_eq!(read.input, Some(TokenCount(u64::MAX)));
    }

    #[test]
    fn an_answer_keeps_its_model_and_usage() {
        let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
            "stop_sequence": null, "content": [{"type": "text", "text": "hi"}],
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 100, "output_tokens": 7}});
        check(&answer, &["model: model \"hi\""]);
        let session = read_text(&answer.to_string());
        let message = &session.transcript.messages()[0];
        assert_eq!((message.id.as_str(), message.model.as_deref()), ("msg_1", Some("claude")));
        assert_eq!(message.usage.as_ref().and_then(|usage| usage.input), Some(TokenCount(111)));
        assert_eq!(message.extra, None);
    }

    #[track_caller]
    fn check_fields(block: &Value, expected: &str, fields: &str) {
        let text = block.to_string();
        let parts = read_block(Json::parse(&text).expect("valid"), Role::User, None);
        let message = Message::new("m", Role::User, parts);
        let extra =
            message.parts[0].extra.as_ref().map(|extra| Value::Object(extra.fields.clone()).to_string());
        assert_eq!(outline(&[message]), [format!("user: {expected}")]);
        assert_eq!(extra.unwrap_or_default(), fields);
    }

    #[test]
    fn what_a_block_says_besides_is_kept() {
        check_fields(
            &json!({"type": "text", "text": "x", "cache_control": {}}),
            "user \"x\"",
            r#"{"cache_control":{}}"#,
        );
        check_fields(
            &json!({"type": "image", "source": {"type": "url", "url": "http://a"}}),
            "file http://a",
            "",
        );
        check_fields(
            &json!({"type": "document", "title": "T", "source": {"type": "url", "url": "http://a", "x": 1}}),
            "file http://a",
            r#"{"type":"document","title":"T","source":{"x":1}}"#,
        );
        check_fields(
            &json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}}),
            "media application/pdf AA",
            "",
        );
        let by_id = json!({"type": "document", "source": {"type": "file", "file_id": "f"}});
        check_fields(&by_id, &format!("opaque {by_id}"), "");
        let odd = json!({"type": "text", "words": 1});
        check_fields(&odd, &format!("opaque {odd}"), "");
    }
}
