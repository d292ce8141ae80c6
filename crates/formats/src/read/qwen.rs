//! Reads Qwen Code sessions: records as Claude Code writes them around contents as Gemini has them.

use std::collections::HashMap;

use longhaul_conversation::{Body, MessageId, Origin, Part, Role, ToolStatus};
use longhaul_wire::gemini::{read_content, read_part};
use longhaul_wire::{CallIds, Json, Object, each_object, gemini_usage};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::QwenCode,
    is_record,
    is_document: |_| false,
    open: || Box::new(Qwen::default()),
    unread: &[],
};

fn is_record(record: &Object<'_>) -> bool {
    if !record.has("uuid") || !record.has("sessionId") {
        return false;
    }
    let has_parts = || {
        let parts = record.get("message").and_then(|message| message.get("parts"));
        parts.is_some_and(|parts| parts.as_array().is_some())
    };
    match record.str("type") {
        Some("user" | "assistant" | "tool_result") => has_parts(),
        Some("system") => record.has("systemPayload"),
        _ => false,
    }
}

#[derive(Default)]
struct Qwen {
    ids: CallIds,
    /// The places of records, in the order of the file.
    places: HashMap<String, usize>,
    /// The record that was read last.
    newest: Option<usize>,
    /// What is shown since the last compression, each with the place of its record.
    shown: Vec<(usize, MessageId)>,
}

impl Reader for Qwen {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a record, found {}; skipped", record.kind()));
        };
        note_head(&record, out);
        let place = self.places.len();
        self.follow(record.str("parentUuid"), out);
        let id = record.take_string("uuid");
        if let Some(id) = &id {
            self.places.insert(id.clone(), place);
        }
        self.newest = Some(place);
        match record.str("type") {
            Some("system") => self.system(&mut record, place, out),
            Some("user" | "assistant" | "tool_result") => self.message(record, id, place, out),
            Some(kind) => {
                let kind = kind.to_string();
                out.skip(&kind);
            }
            None => out.warn("record without a type; skipped"),
        }
    }
}

impl Qwen {
    /// A record that follows an earlier one than the newest takes back what stands between them.
    fn follow(&mut self, parent: Option<&str>, out: &mut Out<'_>) {
        let Some(parent) = parent.and_then(|parent| self.places.get(parent)).copied() else { return };
        if Some(parent) == self.newest {
            return;
        }
        let first = self.shown.partition_point(|(place, _)| *place <= parent);
        if let Some((_, id)) = self.shown.get(first) {
            out.rewind_to(id.clone());
            self.shown.truncate(first);
        }
    }

    fn message(&mut self, mut record: Object<'_>, id: Option<String>, place: usize, out: &mut Out<'_>) {
        let Some(mut content) = record.take_object("message") else {
            return out.warn("record whose message is not an object; skipped");
        };
        content.take("id");
        let by_program = record.str("type") == Some("user") && record.has("subtype");
        let ids = &mut self.ids;
        let mut message = read_content(content, place, out, |part, role| read_part(part, role, ids));
        message.id = out.unused_id(id.map(MessageId::new));
        message.at = record.time("timestamp");
        message.model = record.take_string("model").filter(|_| message.role == Role::Model);
        message.usage = record.get("usageMetadata").and_then(gemini_usage).map(Box::new);
        let status = match record.get("toolCallResult").and_then(|r| r.get("status")).and_then(Json::as_str) {
            Some("success") => Some(ToolStatus::Succeeded),
            Some("error") => Some(ToolStatus::Failed),
            Some("cancelled") => Some(ToolStatus::Cancelled),
            _ => None,
        };
        for part in &mut message.parts {
            match &mut part.body {
                Body::Result(result) => result.status = status.unwrap_or(result.status),
                Body::Text(_) if by_program => part.origin = Origin::Hook,
                _ => {}
            }
        }
        self.shown.push((place, message.id.clone()));
        out.put(message);
    }

    fn system(&mut self, record: &mut Object<'_>, place: usize, out: &mut Out<'_>) {
        let kind = record.str("subtype").unwrap_or("?").to_string();
        let payload = record.take_object("systemPayload");
        match (kind.as_str(), payload) {
            ("chat_compression", Some(mut payload)) if payload.has("compressedHistory") => {
                out.restart();
                self.shown.clear();
                let contents = payload.take_list("compressedHistory").unwrap_or_default();
                each_object(contents, "compressedHistory", out, |content, index, out| {
                    let ids = &mut self.ids;
                    let mut message =
                        read_content(content, index, out, |part, role| read_part(part, role, ids));
                    message.id = out.made_up_id();
                    if index == 0 && message.role == Role::User {
                        message.parts = message.parts.into_iter().map(as_summary).collect();
                    }
                    self.shown.push((place, message.id.clone()));
                    out.put(message);
                });
                out.end_compaction();
            }
            ("custom_title", Some(mut payload)) => {
                out.info.title = payload
                    .take_string("customTitle")
                    .or_else(|| payload.take_string("title"))
                    .or(out.info.title.take());
                out.skip("system:custom_title");
            }
            // Calls beside the conversation are counted here only.
            ("ui_telemetry", Some(payload)) => {
                let at = payload.get("uiEvent").and_then(|event| event.get("event.timestamp"));
                out.note(at.and_then(Json::as_time), None, None);
                out.skip("system:ui_telemetry");
            }
            _ => out.skip(&format!("system:{kind}")),
        }
    }
}

/// A model wrote the text that a compression begins with.
fn as_summary(part: Part) -> Part {
    if part.as_text().is_some() { Part { origin: Origin::Summary, ..part } } else { part }
}

fn note_head(record: &Object<'_>, out: &mut Out<'_>) {
    if out.info.session_id.is_none() {
        out.info.session_id = record.str("sessionId").map(str::to_string);
    }
    if out.info.directory.is_none() {
        out.info.directory = record.str("cwd").map(str::to_string);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::{Value, json};

    fn record(kind: &str, id: &str, parent: &str, parts: &Value) -> Value {
        let role = if kind == "assistant" { "model" } else { "user" };
        json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind, "cwd": "/w", "version": "0.15.10",
            "timestamp": "2026-11-18T20:17:18.560Z", "message": {"role": role, "parts": parts}})
    }

    #[track_caller]
    fn read(records: &[Value]) -> crate::Session {
        let session = read_text(&records.iter().map(|record| format!("{record}\n")).collect::<String>());
        assert_eq!(session.info.format, Format::QwenCode);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
        session
    }

    #[test]
    fn figures_and_outcomes_are_read() {
        let mut call =
            record("assistant", "b", "a", &json!([{"functionCall": {"id": "c", "name": "ls", "args": {}}}]));
        call["model"] = json!("qwen3-coder");
        call["usageMetadata"] =
            json!({"promptTokenCount": 100, "candidatesTokenCount": 5, "cachedContentTokenCount": 80});
        let mut result = record(
            "tool_result",
            "c",
            "b",
            &json!([{"functionResponse": {"id": "c", "name": "ls", "response": {"output": "one"}}}]),
        );
        result["toolCallResult"] = json!({"callId": "c", "status": "error"});
        let mut cron = record("user", "d", "c", &json!([{"text": "wake up"}]));
        cron["subtype"] = json!("cron");
        let session = read(&[record("user", "a", "", &json!([{"text": "list"}])), call, result, cron]);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: user \"list\"",
                "model: call c ls {}",
                "user: result c ls failed {\"output\":\"one\"}",
                "user: hook \"wake up\"",
            ]
        );
        let usage = session.info.last_usage.expect("figures");
        assert_eq!(usage.cached.map(|cached| cached.0), Some(80));
        assert_eq!(session.info.model(), Some("qwen3-coder"));
        assert_eq!(session.info.directory.as_deref(), Some("/w"));
    }

    #[test]
    fn a_compression_replaces_what_came_before() {
        let compression = json!({"uuid": "z", "parentUuid": "a", "sessionId": "s", "type": "system",
            "subtype": "chat_compression", "systemPayload": {"compressedHistory": [
                {"role": "user", "parts": [{"text": "sum"}]}, {"role": "model", "parts": [{"text": "ok"}]}]}});
        let session = read(&[
            record("user", "a", "", &json!([{"text": "list"}])),
            compression,
            record("user", "b", "z", &json!([{"text": "go on"}])),
        ]);
        assert_eq!(session.info.compactions, 1);
        assert_eq!(
            outline(session.transcript.messages()),
            ["user: summary \"sum\"", "model: model \"ok\"", "user: user \"go on\""]
        );
    }

    #[test]
    fn a_branch_takes_back_the_other() {
        let ask = |id: &str, parent: &str| record("user", id, parent, &json!([{"text": id}]));
        let session = read(&[ask("a", ""), ask("b", "a"), ask("c", "b"), ask("d", "a")]);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"a\"", "user: user \"d\""]);
    }
}
