//! Reads Anthropic messages: requests, bare lists, one message a line.

use longhaul_wire::anthropic::{has_blocks, is_answer, read_head, read_message, read_rest};
use longhaul_wire::{Intake, Json, Object, anthropic_usage, each_object, messages_of, openai};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(crate) const KNOWN: Known = Known {
    format: Format::Anthropic,
    is_record: |record| is_message(record) && (has_blocks(record) || is_answer(record)),
    is_document,
    open: || Box::new(Anthropic),
    unread: &[],
};

fn is_document(document: &Json<'_>) -> bool {
    let messages = messages_of(document);
    let objects = messages.iter().filter_map(Json::as_object);
    if !objects.clone().any(is_message) {
        return false;
    }
    let head = document.as_object();
    let tools = head.and_then(|head| head.get("tools")).and_then(Json::as_array).unwrap_or_default();
    let has_own_tools = tools.iter().any(|tool| tool.get("input_schema").is_some());
    let has_head = head.is_some_and(|head| head.has("system") || head.has("anthropic_version"));
    let has_own_blocks = || objects.clone().any(|message| has_blocks(message) || is_answer(message));
    // Claude Code puts messages of the system among the others, which OpenAI has, too: its head, tools and blocks decide.
    let is_system = |message: &Object<'_>| message.str("role") == Some("system");
    let mut others = objects.clone().filter(|message| !is_system(message));
    if others.any(openai::has_marks) {
        return false;
    }
    match objects.clone().any(is_system) {
        true => has_own_tools || has_head && has_own_blocks(),
        false => has_own_tools || has_head || has_own_blocks(),
    }
}

fn is_message(message: &Object<'_>) -> bool {
    matches!(message.str("role"), Some("user" | "assistant")) && message.has("content")
}

struct Anthropic;

impl Reader for Anthropic {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let messages = match record {
            list @ (Json::Array(_) | Json::List(_)) => list.into_list().unwrap_or_default(),
            Json::Object(message) if message.has("role") => return read_message(message, out),
            Json::Object(mut document) => {
                let usage = document.take("usage").as_ref().and_then(anthropic_usage);
                out.note(document.take("timestamp").as_ref().and_then(Json::as_time), None, usage.as_ref());
                read_head(&mut document, out);
                let messages = document.take_list("messages").unwrap_or_default();
                out.keep_fields(read_rest(document));
                messages
            }
            other => return out.warn(format!("expected a message, found {}; skipped", other.kind())),
        };
        each_object(messages, "messages", out, |message, _, out| read_message(message, out));
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use longhaul_conversation::{Message, Part, Role, TokenCount};
    use longhaul_wire::anthropic::read_block;
    use serde_json::{Value, json};

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
    fn messages_of_the_system_do_not_make_it_another_format() {
        let tools = json!([{"name": "ls", "input_schema": {"type": "object"}}]);
        let messages = json!([{"role": "user", "content": "go"}, {"role": "system", "content": "Plan mode is on."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}]);
        let expected = ["user: user \"go\"", "user: hook \"Plan mode is on.\"", "model: call t ls {}"];
        check(&json!({"system": "Be brief.", "tools": tools, "messages": messages}), &expected);
        check(&json!({"tools": tools, "messages": messages}), &expected);
        check(&json!({"system": "Be brief.", "messages": messages}), &expected);
        // Without any of its own marks it stays what it was.
        let plain = json!({"system": "x", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]});
        assert_eq!(read_text(&plain.to_string()).info.format, Format::OpenAiChat);
    }

    #[test]
    fn huge_figures_stop_at_the_highest() {
        let usage = Json::parse(r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":1e19}"#);
        let read = anthropic_usage(&usage.expect("it is JSON")).expect("usage");
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
