//! Reads OpenAI chat completions: requests, logs of requests, bare lists, one message a line.

use longhaul_conversation::TokenCount;
use longhaul_wire::openai::{ChatDecoder, has_marks, read_head, read_rest};
use longhaul_wire::{Intake, Json, Object, anthropic, chat_usage, each_object, messages_of};

use super::{Known, Reader};
use crate::Format;
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

#[derive(Default)]
struct Chat {
    decoder: ChatDecoder,
    /// True if something showed that this is OpenAI's format and not just plain messages.
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
                let messages = document.take_list("messages").unwrap_or_default();
                // What else a log says is not the request's.
                if !read_log(&mut document, out) {
                    out.keep_fields(read_rest(document));
                }
                messages
            }
            other => return out.warn(format!("expected a message, found {}; skipped", other.kind())),
        };
        each_object(messages, "messages", out, |message, _, out| self.message(message, out));
    }
}

/// Reads what a log says of a request and its answer; whether it is one.
fn read_log(document: &mut Object<'_>, out: &mut Out<'_>) -> bool {
    let response = document.take("response");
    let answered_by = response.as_ref().and_then(|response| response.get("model")).and_then(Json::as_str);
    let stated = document.take("usage");
    let usage = response.as_ref().and_then(|response| response.get("usage")).or(stated.as_ref());
    let at = document.take("timestamp").as_ref().and_then(Json::as_time);
    out.note(at, answered_by, usage.and_then(chat_usage).as_ref());
    out.info.window = document.take("context_window").as_ref().and_then(Json::as_u64).map(TokenCount);
    response.is_some()
}

impl Chat {
    fn message(&mut self, message: Object<'_>, out: &mut Out<'_>) {
        self.settle_format(&message, out);
        self.decoder.message(message, out);
    }

    /// Plain lines could be either format; the first block that only Anthropic has settles it.
    fn settle_format(&mut self, message: &Object<'_>, out: &mut Out<'_>) {
        self.is_certain |= has_marks(message);
        if !self.is_certain && anthropic::has_blocks(message) {
            self.is_certain = true;
            out.info.format = Format::Anthropic;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use longhaul_conversation::{Extra, Part};
    use serde_json::{Value, json};

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
                "unknown role \"robot\"; read as user",
                "message content is a number; ignored",
            ]
        );
    }
}
