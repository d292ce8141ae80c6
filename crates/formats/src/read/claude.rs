//! Reads Claude Code sessions.
//!
//! The model's message comes in several lines with one `message.id`, between which results may already stand; they are
//! one message. Lines of sub-agents are kept apart. What a user typed while the model worked is only in the queue's
//! records, and what the program told the model beside the conversation in attachments: both are taken in where they
//! cannot come between a call and its result. Since 2.1.326 an attachment holds what was really sent, in `rendered`: that
//! counts, and one without it was not sent.

use std::collections::{HashMap, HashSet, VecDeque};

use longhaul_conversation::{CallId, Message, MessageId, Origin, Part, Role, Vendor};
use longhaul_wire::anthropic::{read_block, read_tool, user_text};
use serde_json::Value;

use super::{Known, Reader};
use longhaul_wire::{Json, Object, anthropic_usage, close_references};

use crate::Format;
use crate::out::Out;

/// The model's name in notices that the program wrote in its place.
pub(crate) const SYNTHETIC: &str = "<synthetic>";
/// The beginning of a skill's text.
pub(crate) const SKILL_START: &str = "Base directory for this skill:";

pub(super) const KNOWN: Known = Known {
    format: Format::ClaudeCode,
    is_record,
    is_document: |_| false,
    open: || Box::new(Claude::default()),
    // A second copy of each tool's result, structured for the program's own display.
    unread: &["toolUseResult", "snapshot", "normalizedMessages"],
};

fn is_record(record: &Object<'_>) -> bool {
    let Some(kind) = record.str("type") else { return false };
    let named =
        ["uuid", "sessionId", "session_id", "isSidechain", "parentUuid"].iter().any(|key| record.has(key));
    match kind {
        "user" | "assistant" => named && record.get("message").is_some_and(|m| m.get("role").is_some()),
        "summary" => record.has("leafUuid"),
        "file-history-snapshot" => record.has("messageId"),
        "system" => named && record.has("subtype"),
        "attachment" => named && record.has("attachment"),
        "last-prompt" | "queue-operation" | "permission-mode" | "ai-title" | "custom-title"
        | "agent-name" => record.has("sessionId") || record.has("leafUuid"),
        _ => false,
    }
}

#[derive(Default)]
struct Claude {
    /// True if the whole file is a sub-agent's own session; its first message tells.
    is_side: Option<bool>,
    /// The ids of the model's messages, and after how many compactions each was begun.
    model_ids: HashMap<MessageId, usize>,
    /// Texts that a user queued while the model worked.
    queued: VecDeque<String>,
    /// Calls that nothing has answered yet.
    open_calls: HashSet<CallId>,
    /// Messages that must not come between a call and its result.
    waiting: Vec<Message>,
    /// True if the last user line only echoed a command; what the program adds behind it is the command's text.
    after_command: bool,
    /// True if attachments hold what was really sent.
    is_rendered: bool,
}

impl Reader for Claude {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let mut record = match record {
            Json::Object(record) => record,
            other => return out.warn(format!("expected a record, found {}; skipped", other.kind())),
        };
        note_head(&record, out);
        match record.take_string("type").as_deref() {
            Some("user") => self.user(record, out),
            Some("assistant") => self.model(record, out),
            Some("system") => self.system(&record, out),
            Some("attachment") => self.attachment(record, out),
            Some("queue-operation") => self.queue(&mut record, out),
            Some("summary") => {
                out.info.title = record.take_string("summary").or(out.info.title.take());
            }
            Some(kind @ ("ai-title" | "custom-title")) => {
                let key = if kind == "ai-title" { "aiTitle" } else { "customTitle" };
                out.info.title = record.take_string(key).or(out.info.title.take());
            }
            Some("progress") => {
                let kind = record.get("data").and_then(|data| data.get("type")).and_then(Json::as_str);
                out.skip(&format!("progress:{}", kind.unwrap_or("?")));
            }
            Some(kind) => out.skip(kind),
            None => out.warn("record without a type; skipped"),
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.flush(out);
        out.end_compaction();
    }
}

impl Claude {
    fn user(&mut self, mut record: Object<'_>, out: &mut Out<'_>) {
        let Some(mut message) = record.take_object("message") else {
            return out.warn("user record whose message is not an object; skipped");
        };
        let Some(content) = message.take("content") else {
            return out.warn("user record without content; skipped");
        };
        let whole = self.whole_origin(&record);
        let mut parts = Vec::new();
        match content {
            Json::String(text) => parts.extend(user_text(text.into_owned(), whole)),
            Json::Array(blocks) => {
                for block in blocks {
                    parts.extend(read_block(block, Role::User, whole));
                }
                close_references(&mut parts);
            }
            other => out.warn(format!("user record content is {}; ignored", other.kind())),
        }
        let echoes =
            parts.iter().any(|part| part.as_text().is_some_and(|text| text.contains("<command-name>")));
        self.after_command = echoes;
        if is_compact_command(&parts) {
            // What stands behind the command tells the summary what to dwell on; nobody asked for it to be done.
            for part in parts.iter_mut().filter(|part| part.origin == Origin::User) {
                part.origin = Origin::Hook;
            }
        }
        let id = record.take_string("uuid").map_or_else(|| out.made_up_id(), MessageId::new);
        let mut read = Message::new(id, Role::User, parts);
        read.at = record.time("timestamp");
        self.place(read, &record, out);
    }

    /// The origin of everything in the record, where the record itself tells.
    fn whole_origin(&self, record: &Object<'_>) -> Option<Origin> {
        if record.is_true("isCompactSummary") || record.has("planContent") {
            // A plan of an earlier conversation's that was accepted and carried over into this one.
            return Some(Origin::Summary);
        }
        if record.is_true("isMeta") {
            let is_skill = self.after_command || record.has("sourceToolUseID");
            return Some(if is_skill { Origin::Memory } else { Origin::Hook });
        }
        let kind = record.get("origin").and_then(|origin| origin.get("kind")).and_then(Json::as_str);
        (kind.is_some_and(|kind| kind != "human")).then_some(Origin::Hook)
    }

    fn model(&mut self, mut record: Object<'_>, out: &mut Out<'_>) {
        let Some(mut message) = record.take_object("message") else {
            return out.warn("assistant record whose message is not an object; skipped");
        };
        self.after_command = false;
        let is_error = record.is_true("isApiErrorMessage") || message.str("model") == Some(SYNTHETIC);
        let mut parts = Vec::new();
        match message.take("content") {
            Some(Json::Array(blocks)) => {
                for block in blocks {
                    parts.extend(read_block(block, Role::Model, is_error.then_some(Origin::Hook)));
                }
            }
            Some(Json::String(text)) => parts.push(Part::model_text(text)),
            Some(other) => out.warn(format!("assistant record content is {}; ignored", other.kind())),
            None => out.warn("assistant record without content"),
        }
        let own_id = message.take_string("id").or_else(|| record.str("uuid").map(str::to_string));
        let id = own_id.map_or_else(|| out.made_up_id(), MessageId::new);
        let mut read = Message::new(id, Role::Model, parts);
        read.at = record.time("timestamp");
        read.model = message.take_string("model").filter(|model| model != SYNTHETIC);
        read.usage = message.get("usage").and_then(anthropic_usage).map(Box::new);
        self.place(read, &record, out);
    }

    /// Puts a message where it belongs: the main conversation, a sub-agent's, or a message that goes on.
    fn place(&mut self, message: Message, record: &Object<'_>, out: &mut Out<'_>) {
        let side = record.is_true("isSidechain");
        let file_is_side = *self.is_side.get_or_insert(side);
        if side && !file_is_side {
            let chain = record.str("agentId").or_else(|| record.str("slug")).unwrap_or("side chain");
            return out.side(chain, message);
        }
        // The summary comes on a line of its own behind the boundary.
        let is_summary = message.parts.iter().any(|part| part.origin == Origin::Summary);
        if !is_summary {
            out.end_compaction();
        }
        self.open_calls.extend(message.calls().map(|call| call.id.clone()));
        if message.role == Role::User && self.open_calls.is_empty() {
            self.flush(out);
        }
        for result in message.results() {
            self.open_calls.remove(&result.call);
        }
        if message.role == Role::User {
            let message = unlike_others(message, out);
            out.put(message);
            return out.end_compaction();
        }
        let begun = self.model_ids.get(&message.id).copied();
        if begun == Some(out.info.compactions) {
            // The figures grow with the answer.
            out.count(&message);
            out.note(message.at, message.model.as_deref(), None);
            return out.extend(message.id, message.parts);
        }
        self.flush(out);
        let message = if begun.is_some() { message } else { unlike_others(message, out) };
        self.model_ids.insert(message.id.clone(), out.info.compactions);
        out.put(message);
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        for message in self.waiting.drain(..) {
            let message = unlike_others(message, out);
            out.put(message);
        }
    }

    fn system(&mut self, record: &Object<'_>, out: &mut Out<'_>) {
        let kind = record.str("subtype").unwrap_or("?");
        match kind {
            "compact_boundary" => {
                self.flush(out);
                self.open_calls.clear();
                out.restart();
            }
            _ => out.skip(&format!("system:{kind}")),
        }
    }

    /// Text that the program added for the model beside the conversation.
    fn attachment(&mut self, mut record: Object<'_>, out: &mut Out<'_>) {
        let Some(mut attachment) = record.take_object("attachment") else {
            return out.skip("attachment");
        };
        let kind = attachment.str("type").unwrap_or("?").to_string();
        let is_side = record.is_true("isSidechain") && self.is_side == Some(false);
        if kind == "prompt_snapshot" {
            if !is_side {
                read_prompt(&mut attachment, out);
            }
            return out.skip("attachment:prompt_snapshot");
        }
        let rendered = record.take_array("rendered");
        self.is_rendered |= rendered.is_some();
        let parts = match kind.as_str() {
            "queued_command" => match attachment.take("prompt") {
                Some(Json::String(text)) => user_text(text.into_owned(), None),
                Some(Json::Array(blocks)) => {
                    blocks.into_iter().flat_map(|block| read_block(block, Role::User, None)).collect()
                }
                _ => Vec::new(),
            },
            _ if self.is_rendered => {
                let origin = if is_memory(&kind) { Origin::Memory } else { Origin::Hook };
                rendered.into_iter().flatten().flat_map(|sent| read_rendered(sent, origin)).collect()
            }
            "nested_memory" | "memory" => {
                let text =
                    attachment.take_object("content").and_then(|mut content| content.take_string("content"));
                text.into_iter().map(|text| Part::text(Origin::Memory, text)).collect()
            }
            "skill_listing" | "hook_additional_context" | "mcp_instructions_delta" => {
                let origin = if is_memory(&kind) { Origin::Memory } else { Origin::Hook };
                let content = attachment.take("content").or_else(|| attachment.take("addedBlocks"));
                texts(content).into_iter().map(|text| Part::text(origin, text)).collect()
            }
            // These are shown to the user or kept by the program; the model does not see them.
            kind if kind.starts_with("hook_") || kind.ends_with("_permissions") => Vec::new(),
            _ if attachment.get("itemCount").and_then(Json::as_u64) == Some(0) => Vec::new(),
            _ => vec![Part::opaque(Origin::Hook, Vendor::Agent, Value::Object(attachment.into_map()))],
        };
        if parts.is_empty() || is_side {
            return out.skip(&format!("attachment:{kind}"));
        }
        let id = record.take_string("uuid").map_or_else(|| out.made_up_id(), MessageId::new);
        let mut message = Message::new(id, Role::User, parts);
        message.at = record.time("timestamp");
        self.waiting.push(message);
    }

    /// What a user types while the model works is queued; a text that is taken out again without becoming a record of
    /// its own was handed to the model in the middle of its work.
    fn queue(&mut self, record: &mut Object<'_>, out: &mut Out<'_>) {
        match record.take_string("operation").as_deref() {
            Some("enqueue") => self.queued.push_back(record.take_string("content").unwrap_or_default()),
            Some("dequeue") => {
                self.queued.pop_front();
            }
            Some("remove") => {
                if let Some(text) = self.queued.pop_front().filter(|text| !text.trim().is_empty()) {
                    let mut message = Message::new(out.made_up_id(), Role::User, user_text(text, None));
                    message.at = record.time("timestamp");
                    self.waiting.push(message);
                }
            }
            // The user took the texts back to edit them.
            Some("popAll") => self.queued.clear(),
            _ => {}
        }
        out.skip("queue-operation");
    }
}

/// True if the user called for a compaction.
fn is_compact_command(parts: &[Part]) -> bool {
    parts.iter().filter_map(Part::as_text).any(|text| text.contains("<command-name>/compact</command-name>"))
}

/// The message with an id of its own: a record is written once, and the same id again must not replace another message.
fn unlike_others(message: Message, out: &mut Out<'_>) -> Message {
    if !out.knows(&message.id) {
        return message;
    }
    out.warn(format!("duplicate id {}", message.id));
    let id = MessageId::new(format!("{}-{}", message.id, out.made_up_id()));
    Message { id, ..message }
}

fn note_head(record: &Object<'_>, out: &mut Out<'_>) {
    if out.info.session_id.is_none() {
        let id = record.str("sessionId").or_else(|| record.str("session_id"));
        out.info.session_id = id.map(str::to_string);
    }
    if out.info.directory.is_none() {
        out.info.directory = record.str("cwd").map(str::to_string);
    }
}

/// Returns true if an attachment of this kind holds memory files, skills or instructions.
fn is_memory(kind: &str) -> bool {
    matches!(kind, "nested_memory" | "memory" | "instructions" | "skill_listing" | "mcp_instructions_delta")
}

/// The parts of one message as it was sent.
fn read_rendered(sent: Json<'_>, origin: Origin) -> Vec<Part> {
    match sent.into_object().and_then(|mut sent| sent.take("content")) {
        Some(Json::String(text)) => vec![Part::text(origin, text)],
        Some(Json::Array(blocks)) => {
            blocks.into_iter().flat_map(|block| read_block(block, Role::User, Some(origin))).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads the system prompt and the tools as they are sent from here on.
fn read_prompt(attachment: &mut Object<'_>, out: &mut Out<'_>) {
    let system = texts(attachment.take("systemPrompt"));
    if !system.is_empty() {
        out.info.system = system.into_iter().map(|text| Part::text(Origin::Hook, text)).collect();
    }
    if let Some(tools) = attachment.take_array("tools") {
        let tools = tools.into_iter().filter_map(Json::into_object);
        out.info.tools = tools.filter_map(|mut tool| tool.take_object("schema").map(read_tool)).collect();
    }
}

fn texts(content: Option<Json<'_>>) -> Vec<String> {
    match content {
        Some(Json::String(text)) => vec![text.into_owned()],
        Some(Json::Array(items)) => items.into_iter().filter_map(Json::into_string).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};

    #[track_caller]
    fn check(lines: &[&str], expected: &[&str], warnings: usize) {
        let session = read_text(&lines.join("\n"));
        assert_eq!(outline(session.transcript.messages()), expected);
        assert_eq!(session.warnings.len(), warnings, "{:?}", session.warnings);
    }

    const ASKED: &str = r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    const SAID: &str =
        r#"{"type":"assistant","sessionId":"s","uuid":"a","message":{"role":"assistant","content":"yes"}}"#;

    #[test]
    fn messages_without_ids_replace_nothing() {
        let hook = r#"{"type":"attachment","sessionId":"s","attachment":{"type":"hook_additional_context","content":"note"}}"#;
        let queue = |operation: &str| {
            format!(
                r#"{{"type":"queue-operation","operation":"{operation}","sessionId":"s","content":"more"}}"#
            )
        };
        check(
            &[
                ASKED,
                hook,
                hook,
                ASKED,
                &queue("enqueue"),
                &queue("enqueue"),
                &queue("remove"),
                &queue("remove"),
                SAID,
            ],
            &[
                r#"user: user "hi""#,
                r#"user: hook "note""#,
                r#"user: hook "note""#,
                r#"user: user "hi""#,
                r#"user: user "more""#,
                r#"user: user "more""#,
                r#"model: model "yes""#,
            ],
            0,
        );
    }

    use crate::Format;
    use serde_json::{Value, json};

    fn user(id: &str, content: &Value) -> Value {
        json!({"type": "user", "uuid": id, "sessionId": "s", "message": {"role": "user", "content": content}})
    }

    fn memory(id: &str) -> Value {
        json!({"type": "attachment", "uuid": id, "sessionId": "s",
            "attachment": {"type": "nested_memory", "content": {"path": "N.md", "content": id}}})
    }

    fn call(id: &str) -> Value {
        let content = json!([{"type": "tool_use", "id": id, "name": "ls", "input": {}}]);
        json!({"type": "assistant", "uuid": id, "sessionId": "s",
            "message": {"id": id, "role": "assistant", "content": content}})
    }

    fn result(id: &str) -> Value {
        user(&format!("r-{id}"), &json!([{"type": "tool_result", "tool_use_id": id, "content": "x"}]))
    }

    #[track_caller]
    fn check_records(lines: &[Value], expected: &[&str]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let session = read_text(&text);
        assert_eq!(session.info.format, Format::ClaudeCode);
        assert_eq!(outline(session.transcript.messages()), expected);
    }

    #[test]
    fn the_focus_of_a_compaction_is_no_request() {
        let command = "<command-name>/compact</command-name>\n<command-args>keep the db rule</command-args>";
        let other = command.replace("/compact", "/review");
        let typed = |text: &str| {
            let session = read_text(&user("u", &json!(text)).to_string());
            session.transcript.messages()[0]
                .parts
                .iter()
                .any(|part| part.origin == longhaul_conversation::Origin::User)
        };
        assert!(!typed(command));
        assert!(typed(&other));
    }

    #[test]
    fn the_figures_of_a_call_grow_with_its_answer() {
        let said = |output: u64| {
            let message = json!({"id": "m", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": "x"}], "usage": {"input_tokens": 3, "output_tokens": output}});
            json!({"type": "assistant", "uuid": format!("u{output}"), "sessionId": "s", "message": message})
        };
        let mut calls = Vec::new();
        let file = format!("{}\n{}\n", said(1), said(9));
        let info = crate::read(file.as_bytes(), &mut |event| {
            if let crate::Event::Call(call) = event {
                calls.push((call.message.map(|id| id.to_string()), call.usage.output.map(|output| output.0)));
            }
        });
        let m = || Some("m".to_string());
        assert_eq!(calls, [(m(), Some(1)), (m(), Some(9))]);
        assert_eq!(info.ok().and_then(|info| info.last_usage?.output).map(|output| output.0), Some(9));
    }

    #[test]
    fn attachments_stay_where_they_stand() {
        check_records(
            &[memory("a"), user("u", &json!("go")), memory("b")],
            &["user: memory \"a\"", "user: user \"go\"", "user: memory \"b\""],
        );
    }

    fn rendered(kind: &str, sent: &Value) -> Value {
        let id = format!("at-{kind}");
        json!({"type": "attachment", "uuid": id, "sessionId": "s", "rendered": sent, "renderedRole": "system",
            "attachment": {"type": kind, "content": "as the program keeps it"}})
    }

    #[test]
    fn attachments_count_as_they_were_sent() {
        let unsent = json!({"type": "attachment", "uuid": "x", "sessionId": "s",
            "attachment": {"type": "session_context", "context": {"big": "never sent"}}});
        check_records(
            &[
                user("u", &json!("go")),
                rendered(
                    "environment",
                    &json!([{"content": "Linux"}, {"content": [{"type": "text", "text": "bash"}]}]),
                ),
                rendered("skill_listing", &json!([{"content": "skills"}])),
                unsent,
            ],
            &["user: user \"go\"", "user: hook \"Linux\", hook \"bash\"", "user: memory \"skills\""],
        );
    }

    #[test]
    fn a_prompt_snapshot_is_the_system_prompt_and_the_tools() {
        let snapshot = |attachment: Value| json!({"type": "attachment", "uuid": "p", "sessionId": "s", "attachment": attachment});
        let tool = json!({"name": "Bash", "description": "Runs.", "schema": {"name": "Bash", "description": "Runs.",
            "input_schema": {"type": "object"}}});
        let lines = [
            user("u", &json!("go")),
            snapshot(json!({"type": "prompt_snapshot", "systemPrompt": ["Old."]})),
            snapshot(
                json!({"type": "prompt_snapshot", "systemPrompt": ["Be brief.", "Be kind."], "tools": [tool]}),
            ),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let session = read_text(&text);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"go\""]);
        let system: Vec<_> = session.info.system.iter().filter_map(|part| part.as_text()).collect();
        assert_eq!(system, ["Be brief.", "Be kind."]);
        assert_eq!(session.info.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["Bash"]);
        assert_eq!(session.info.tools[0].parameters, json!({"type": "object"}));
    }

    #[test]
    fn messages_with_the_same_id_replace_nothing() {
        let asked = ASKED.replace(r#""sessionId""#, r#""uuid":"a","sessionId""#);
        check(
            &[&asked, SAID, &asked],
            &[r#"user: user "hi""#, r#"model: model "yes""#, r#"user: user "hi""#],
            2,
        );
    }

    #[test]
    fn lines_of_one_answer_are_one_message_until_a_compaction() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary","sessionId":"s"}"#;
        check(&[ASKED, SAID, SAID], &[r#"user: user "hi""#, r#"model: model "yes", model "yes""#], 0);
        check(&[ASKED, SAID, boundary, ASKED, SAID], &[r#"user: user "hi""#, r#"model: model "yes""#], 0);
    }

    #[test]
    fn attachments_do_not_come_between_a_call_and_its_result() {
        check_records(
            &[call("c"), memory("a"), result("c"), user("u", &json!("more"))],
            &["model: call c ls {}", "user: result c \"x\"", "user: memory \"a\"", "user: user \"more\""],
        );
    }
}
