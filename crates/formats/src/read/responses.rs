//! Reads OpenAI Responses: requests, bare lists, answers.

use longhaul_conversation::{Message, Role};
use longhaul_wire::responses::{Items, is_item, read_head, read_rest};
use longhaul_wire::{Intake, Json, each_object, responses_usage, text_parts};

use super::{Known, Reader};
use crate::Format;
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
                let usage = document.take("usage").as_ref().and_then(responses_usage);
                out.note(document.take("created_at").as_ref().and_then(Json::as_time), None, usage.as_ref());
                if out.info.session_id.is_none() {
                    out.info.session_id = document.str("id").map(str::to_string);
                }
                read_head(&mut document, out);
                if let Some(text) = document.take_string("input") {
                    out.put(Message::new(out.made_up_id(), Role::User, text_parts(text, Role::User)));
                }
                // What was asked, then what was answered.
                let lists = ["input", "output"].map(|key| (key, document.take_list(key)));
                if lists[1].1.is_none() {
                    out.keep_fields(read_rest(document));
                }
                for (key, list) in lists {
                    let list = list.unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use longhaul_conversation::{Extra, Part, TokenCount, Vendor};
    use serde_json::{Value, json};

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
