//! Reads Cursor sessions: transcripts of its agent, and conversations of its editor as they lie in its database.
//!
//! A transcript has neither ids nor times, nor what tools answered. A conversation of the editor is one document made of
//! its rows: `{"composerData": …, "bubbles": […]}`.

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Part, Role, Signature, Thought, TokenCount, ToolCall, ToolResult,
    ToolStatus, Usage, Vendor,
};
use longhaul_wire::anthropic::read_block;
use longhaul_wire::{
    Json, Object, OriginRules, close_references, each_object, read_arguments, split_user_text,
};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::Cursor,
    is_record,
    is_document: |document| document.get("composerData").is_some() && document.get("bubbles").is_some(),
    open: || Box::new(Cursor::default()),
    unread: &[],
};

/// What Cursor puts around what a person typed.
const ORIGINS: OriginRules = OriginRules {
    tags: &[
        ("user_info", Origin::Hook),
        ("git_status", Origin::Hook),
        ("open_and_recently_viewed_files", Origin::Hook),
        ("additional_data", Origin::Hook),
        ("agent_transcripts", Origin::Hook),
        ("system_reminder", Origin::Hook),
        ("timestamp", Origin::Hook),
        ("rules", Origin::Memory),
        ("always_applied_workspace_rules", Origin::Memory),
        ("agent_skills", Origin::Memory),
        ("manually_attached_skills", Origin::Memory),
        ("cursor_commands", Origin::Memory),
        ("attached_files", Origin::Tool),
        ("code_selection", Origin::Tool),
        ("terminal_files_information", Origin::Tool),
        ("mcp_file_system", Origin::Hook),
    ],
    typed: &["user_query"],
    starts: &[],
};

fn is_record(record: &Object<'_>) -> bool {
    let of_another = ["type", "uuid", "sessionId", "parentUuid", "content"];
    let content = record.get("message").and_then(|message| message.get("content"));
    matches!(record.str("role"), Some("user" | "assistant"))
        && content.is_some_and(|content| content.as_array().is_some() || content.as_str().is_some())
        && !of_another.iter().any(|key| record.has(key))
}

#[derive(Default)]
struct Cursor {
    calls: usize,
}

impl Reader for Cursor {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        match record {
            Json::Object(document) if document.has("composerData") => self.composer(document, out),
            Json::Object(line) => self.line(line, out),
            other => out.warn(format!("expected a message, found {}; skipped", other.kind())),
        }
    }
}

impl Cursor {
    /// One line of a transcript.
    fn line(&mut self, mut line: Object<'_>, out: &mut Out<'_>) {
        let role = match line.str("role") {
            Some("assistant") => Role::Model,
            _ => Role::User,
        };
        let Some(mut message) = line.take_object("message") else {
            return out.warn("record without a message; skipped");
        };
        let mut parts = Vec::new();
        match message.take("content") {
            Some(Json::String(text)) => parts.extend(read_text(text.into_owned(), role)),
            Some(Json::Array(blocks)) => {
                for block in blocks {
                    match block {
                        Json::Object(mut block) if block.str("type") == Some("text") => {
                            parts.extend(read_text(block.take_string("text").unwrap_or_default(), role));
                        }
                        block => parts.extend(read_block(block, role, None)),
                    }
                }
                close_references(&mut parts);
            }
            _ => out.warn("message without content"),
        }
        for part in &mut parts {
            if let longhaul_conversation::Body::Call(call) = &mut part.body
                && call.id.as_str().is_empty()
            {
                self.calls += 1;
                call.id = CallId::made_up(self.calls);
            }
        }
        let mut read = Message::new(out.unused_id(line.take_string("id").map(MessageId::new)), role, parts);
        read.at = line.time("timestamp");
        read.model = line.take_string("model").or_else(|| message.take_string("model"));
        out.put(read);
    }

    /// A conversation of the editor.
    fn composer(&mut self, mut document: Object<'_>, out: &mut Out<'_>) {
        if let Some(mut data) = document.take_object("composerData") {
            out.info.session_id = data.take_string("composerId");
            out.info.title = data.take_string("name").filter(|name| !name.is_empty());
            for key in ["createdAt", "lastUpdatedAt"] {
                out.note(data.time(key), None, None);
            }
            let model =
                data.get("modelConfig").and_then(|model| model.get("modelName")).and_then(Json::as_str);
            out.note(None, model.filter(|model| *model != "default"), None);
        }
        out.info.directory = document.take_string("directory");
        let bubbles = document.take_list("bubbles").unwrap_or_default();
        each_object(bubbles, "bubbles", out, |bubble, _, out| self.bubble(bubble, out));
    }

    fn bubble(&mut self, mut bubble: Object<'_>, out: &mut Out<'_>) {
        let role = match bubble.get("type").and_then(Json::as_u64) {
            Some(1) => Role::User,
            Some(2) => Role::Model,
            _ => return out.skip("bubble"),
        };
        let mut parts = Vec::new();
        if let Some(mut thinking) = bubble.take_object("thinking") {
            let signature = thinking.take_string("signature").filter(|value| !value.is_empty());
            let signature = signature.map(|value| Signature { vendor: Vendor::Agent, value });
            let text = thinking.take_string("text").unwrap_or_default();
            parts.push(Part::thought(Thought { text, signature, item: None }));
        }
        let text = bubble.take_string("text").unwrap_or_default();
        if !text.is_empty() {
            parts.extend(read_text(text, role));
        }
        let tool = bubble.take_object("toolFormerData").filter(|tool| tool.has("name"));
        let result = tool.and_then(|tool| self.tool(tool, &mut parts));
        if parts.is_empty() {
            return out.skip("bubble:empty");
        }
        let id = out.unused_id(bubble.take_string("bubbleId").map(MessageId::new));
        let mut message = Message::new(id, role, parts);
        message.at = bubble.time("createdAt");
        let model = bubble.get("modelInfo").and_then(|model| model.get("modelName")).and_then(Json::as_str);
        message.model = model.filter(|name| role == Role::Model && *name != "default").map(str::to_string);
        message.usage = bubble.get("tokenCount").and_then(read_tokens).map(Box::new);
        let at = message.at;
        out.put(message);
        if let Some(result) = result {
            let mut answer = Message::new(out.made_up_id(), Role::User, vec![Part::result(result)]);
            answer.at = at;
            out.put(answer);
        }
    }

    /// A tool's call, which is added to `parts`, and its result.
    fn tool(&mut self, mut tool: Object<'_>, parts: &mut Vec<Part>) -> Option<ToolResult> {
        self.calls += 1;
        let own = tool.take_string("toolCallId").filter(|id| !id.is_empty());
        let id = own.map_or_else(|| CallId::made_up(self.calls), CallId::new);
        let name = tool.take_string("name").unwrap_or_default();
        let args = tool.take("rawArgs").or_else(|| tool.take("params"));
        parts.push(Part::call(ToolCall::new(id.clone(), name.clone()).with_args(read_arguments(args))));
        let status = match tool.str("status") {
            Some("completed") => ToolStatus::Succeeded,
            Some("error") => ToolStatus::Failed,
            Some("cancelled") => ToolStatus::Cancelled,
            _ => ToolStatus::Unstated,
        };
        let text = match tool.take("result").or_else(|| tool.take("error")) {
            Some(Json::String(text)) => text.into_owned(),
            Some(Json::Null) | None if status == ToolStatus::Unstated => return None,
            Some(Json::Null) | None => String::new(),
            Some(other) => other.into_value().to_string(),
        };
        Some(ToolResult::text(id, text).with_name(name).with_status(status))
    }
}

fn read_text(text: String, role: Role) -> Vec<Part> {
    match role {
        Role::Model => vec![Part::model_text(text)],
        Role::User => split_user_text(text, &ORIGINS),
    }
}

fn read_tokens(tokens: &Json<'_>) -> Option<Usage> {
    let count = |key| tokens.get(key).and_then(Json::as_u64).filter(|count| *count > 0).map(TokenCount);
    let usage = Usage { input: count("inputTokens"), output: count("outputTokens"), ..Usage::default() };
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    #[test]
    fn a_transcript_has_no_ids() {
        let query = "<user_info>\nOS: linux\n</user_info>\n<user_query>\nlist\n</user_query>";
        let lines = [
            json!({"role": "user", "message": {"content": [{"type": "text", "text": query}]}}),
            json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "Looking."},
                {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
                {"type": "tool_use", "name": "Read", "input": {"path": "a"}}]}}),
            json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}}),
        ];
        let session = read_text(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        assert_eq!(session.info.format, Format::Cursor);
        let read = outline(session.transcript.messages());
        assert!(read[0].starts_with("user: hook \"<user_info>"), "{read:?}");
        assert!(read[0].contains("user \"list\"") || read[0].contains("user \"\\nlist\\n\""), "{read:?}");
        assert_eq!(
            read[1],
            "model: model \"Looking.\", call lh-call-1 Shell {\"command\":\"ls\"}, call lh-call-2 Read {\"path\":\"a\"}"
        );
    }

    #[test]
    fn a_conversation_of_the_editor_is_read() {
        let document = json!({
            "composerData": {"composerId": "c-1", "name": "Tidy", "createdAt": 1_795_032_572_311_u64},
            "bubbles": [
                {"bubbleId": "1", "type": 1, "text": "list", "createdAt": "2026-11-18T20:17:18.560Z"},
                {"bubbleId": "2", "type": 2, "text": "", "thinking": {"text": "hm"}},
                {"bubbleId": "3", "type": 2, "text": "", "toolFormerData": {"name": "run_terminal_cmd",
                    "toolCallId": "t1", "rawArgs": "{\"command\":\"ls\"}", "status": "completed", "result": "one"}},
                {"bubbleId": "4", "type": 2, "text": "Done.", "tokenCount": {"inputTokens": 12, "outputTokens": 3}},
                {"bubbleId": "5", "type": 2, "text": ""},
            ],
        });
        let session = read_text(&document.to_string());
        assert_eq!(session.info.format, Format::Cursor);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: user \"list\"",
                "model: thought \"hm\"",
                "model: call t1 run_terminal_cmd {\"command\":\"ls\"}",
                "user: result t1 run_terminal_cmd succeeded \"one\"",
                "model: model \"Done.\"",
            ]
        );
        assert_eq!(session.info.title.as_deref(), Some("Tidy"));
        assert_eq!(session.info.last_usage.and_then(|usage| usage.input), Some(TokenCount(12)));
    }
}
