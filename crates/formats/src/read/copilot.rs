//! Reads sessions of Copilot CLI: events line by line.
//!
//! A provider's figures come in a record of their own before the answer they belong to. What a person typed stands beside
//! what was sent for it.

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Output, Part, Role, Thought, TokenCount, ToolCall, ToolResult,
    ToolStatus, Usage,
};
use longhaul_wire::{Json, Object, each_object, read_arguments, text_parts};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::CopilotCli,
    is_record,
    is_document: |_| false,
    open: || Box::new(Copilot::default()),
    unread: &[],
};

/// The families of events.
const FAMILIES: &[&str] =
    &["session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "skill.", "permission."];

fn is_record(record: &Object<'_>) -> bool {
    let kind = record.str("type").unwrap_or_default();
    FAMILIES.iter().any(|family| kind.starts_with(family))
        && record.get("data").is_some_and(|data| data.as_object().is_some())
        && record.has("id")
}

#[derive(Default)]
struct Copilot {
    /// Figures whose answer has not been read yet, with their call.
    usage: Option<(Option<String>, Usage)>,
}

impl Reader for Copilot {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected an event, found {}; skipped", record.kind()));
        };
        let at = record.time("timestamp");
        out.note(at, None, None);
        let kind = record.take_string("type").unwrap_or_default();
        let id = record.take_string("id").map(MessageId::new);
        let Some(mut data) = record.take_object("data") else {
            return out.warn(format!("{kind} without data; skipped"));
        };
        let put = |parts: Vec<Part>, role, id, chain: Option<&str>, out: &mut Out<'_>| {
            let mut message = Message::new(out.unused_id(id), role, parts);
            message.at = at;
            match chain {
                Some(chain) => out.side(chain, message),
                None => out.put(message),
            }
        };
        let chain = data.take_string("parentToolCallId").filter(|chain| !chain.is_empty());
        match kind.as_str() {
            "session.start" | "session.resume" => head(&mut data, out),
            "user.message" => put(read_typed(&mut data), Role::User, id, chain.as_deref(), out),
            "system.message" => {
                let text = data.take_string("content").unwrap_or_default();
                if chain.is_none() {
                    out.info.system = vec![Part::text(Origin::Hook, text)];
                }
            }
            "assistant.message" => {
                let answer = data.take_string("messageId").map(MessageId::new).or(id);
                let mut message =
                    Message::new(out.unused_id(answer), Role::Model, read_answer(&mut data, out));
                (message.at, message.model) = (at, data.take_string("model"));
                let call = data.str("apiCallId");
                let own =
                    self.usage.take_if(|(of, _)| of.as_deref() == call || call.is_none() || of.is_none());
                message.usage = own.map(|(_, usage)| Box::new(usage));
                match chain {
                    Some(chain) => out.side(&chain, message),
                    None => out.put(message),
                }
            }
            "session.usage_record" | "assistant.usage" => self.figures(&data, out),
            "tool.execution_complete" => {
                let parts = read_result(&mut data).into_iter().collect::<Vec<_>>();
                if parts.is_empty() {
                    return out.warn("tool result without a call; skipped");
                }
                put(parts, Role::User, id, chain.as_deref(), out);
            }
            "session.compaction_complete" => {
                let summary = data.take_string("summaryContent").filter(|summary| !summary.is_empty());
                match summary.filter(|_| data.get("success").and_then(Json::as_bool) != Some(false)) {
                    Some(summary) => {
                        out.restart();
                        put(vec![Part::text(Origin::Summary, summary)], Role::User, id, None, out);
                        out.end_compaction();
                    }
                    None => out.skip(&kind),
                }
            }
            "session.snapshot_rewind" => {
                if let Some(to) =
                    data.take_string("upToEventId").map(MessageId::new).filter(|id| out.knows(id))
                {
                    out.rewind_to(to);
                }
                out.skip(&kind);
            }
            "session.model_change" => {
                out.note(None, data.str("newModel"), None);
                out.skip(&kind);
            }
            "skill.invoked" => match data.take_string("content") {
                Some(content) => put(vec![Part::text(Origin::Memory, content)], Role::User, id, None, out),
                None => out.skip(&kind),
            },
            _ => out.skip(&kind),
        }
    }
}

impl Copilot {
    fn figures(&mut self, data: &Object<'_>, out: &mut Out<'_>) {
        let figures = data.get("usage").and_then(Json::as_object).unwrap_or(data);
        let count = |key: &str| figures.get(key).and_then(Json::as_u64).map(TokenCount);
        let some = |key: &str| count(key).filter(|count| count.0 > 0);
        let usage = Usage {
            input: count("inputTokens"),
            output: count("outputTokens"),
            cached: count("cacheReadTokens"),
            written: some("cacheWriteTokens"),
            thoughts: some("reasoningTokens"),
            ..Usage::default()
        };
        if !usage.is_empty() {
            out.note(None, figures.str("model"), None);
            self.usage = Some((figures.str("apiCallId").map(str::to_string), usage.with_thoughts_apart()));
        }
        out.skip("session.usage_record");
    }
}

fn head(data: &mut Object<'_>, out: &mut Out<'_>) {
    out.info.session_id = data.take_string("sessionId").or(out.info.session_id.take());
    out.note(data.time("startTime"), data.str("selectedModel"), None);
    let context = data.get("context");
    let folder = context.and_then(|context| context.get("cwd").or_else(|| context.get("gitRoot")));
    if let Some(folder) = folder.and_then(Json::as_str) {
        out.info.directory = Some(folder.to_string());
    }
}

/// What a person typed, with what the program put around it before it was sent.
fn read_typed(data: &mut Object<'_>) -> Vec<Part> {
    let typed = data.take_string("content").unwrap_or_default();
    if data.str("source").is_some_and(|source| source != "user") {
        return vec![Part::text(Origin::Hook, typed)];
    }
    let sent = data.take_string("transformedContent").unwrap_or_default();
    let around = if typed.is_empty() { None } else { sent.split_once(&typed) };
    let (before, behind) = around.unwrap_or_default();
    let added = |text: &str| Some(Part::text(Origin::Hook, text)).filter(|_| !text.trim().is_empty());
    added(before).into_iter().chain(text_parts(typed.clone(), Role::User)).chain(added(behind)).collect()
}

fn read_answer(data: &mut Object<'_>, out: &mut Out<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(text) = data.take_string("reasoningText").filter(|text| !text.is_empty()) {
        parts.push(Part::thought(Thought { text, signature: None, item: None }));
    }
    if let Some(text) = data.take_string("content").filter(|text| !text.is_empty()) {
        parts.push(Part::model_text(text));
    }
    let requests = data.take_list("toolRequests").unwrap_or_default();
    each_object(requests, "toolRequests", out, |mut call, _, out| {
        let own = call.take_string("toolCallId");
        let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
        let name = call.take_string("name").unwrap_or_default();
        parts.push(Part::call(ToolCall::new(id, name).with_args(read_arguments(call.take("arguments")))));
    });
    parts
}

fn read_result(data: &mut Object<'_>) -> Option<Part> {
    let call = CallId::new(data.take_string("toolCallId")?);
    let status = match data.get("success").and_then(Json::as_bool) {
        Some(true) => ToolStatus::Succeeded,
        Some(false) => ToolStatus::Failed,
        None => ToolStatus::Unstated,
    };
    let text = match data.take("result").or_else(|| data.take("error")) {
        Some(Json::String(text)) => text.into_owned(),
        Some(Json::Object(mut result)) => {
            let text =
                ["content", "message", "detailedContent"].iter().find_map(|key| result.take_string(key));
            text.unwrap_or_default()
        }
        _ => String::new(),
    };
    let mut result = ToolResult::text(call, text).with_status(status);
    if matches!(&result.output, Output::Text(text) if text.is_empty()) {
        result.output = Output::Empty;
    }
    Some(Part::result(result))
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn read(events: &[(&str, Value)]) -> crate::Session {
        let lines = events.iter().enumerate().map(|(place, (kind, data))| {
            let event = json!({"type": kind, "data": data, "id": format!("e{place}"), "parentId": null,
                "timestamp": "2026-11-18T20:16:24.553Z"});
            format!("{event}\n")
        });
        let session = read_text(&lines.collect::<String>());
        assert_eq!(session.info.format, Format::CopilotCli);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
        session
    }

    #[test]
    fn a_turn_is_read_with_its_figures() {
        let session = read(&[
            ("session.start", json!({"sessionId": "s", "selectedModel": "gpt-5", "context": {"cwd": "/w"}})),
            ("user.message", json!({"content": "list", "transformedContent": "<now>8</now>\n\nlist"})),
            (
                "session.usage_record",
                json!({"usage": {"model": "gpt-5", "inputTokens": 120, "outputTokens": 25,
                "cacheReadTokens": 100, "reasoningTokens": 5, "apiCallId": "x"}}),
            ),
            (
                "assistant.message",
                json!({"messageId": "m", "model": "gpt-5", "content": "", "apiCallId": "x",
                "toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}]}),
            ),
            ("tool.execution_start", json!({"toolCallId": "c", "toolName": "bash"})),
            (
                "tool.execution_complete",
                json!({"toolCallId": "c", "success": true, "result": {"content": "one"}}),
            ),
            ("assistant.message", json!({"messageId": "n", "content": "Done.", "toolRequests": []})),
        ]);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: hook \"<now>8</now>\\n\\n\", user \"list\"",
                "model: call c bash {\"command\":\"ls\"}",
                "user: result c succeeded \"one\"",
                "model: model \"Done.\"",
            ]
        );
        let usage = session.transcript.messages()[1].usage.as_deref().expect("figures");
        let count = |count| Some(TokenCount(count));
        assert_eq!((usage.input, usage.output, usage.thoughts), (count(120), count(20), count(5)));
        assert_eq!(session.transcript.messages()[3].usage, None);
        assert_eq!(session.info.directory.as_deref(), Some("/w"));
    }

    #[test]
    fn a_summary_replaces_what_came_before() {
        let session = read(&[
            ("user.message", json!({"content": "a"})),
            ("session.compaction_complete", json!({"success": false})),
            ("session.compaction_complete", json!({"success": true, "summaryContent": "sum"})),
            ("user.message", json!({"content": "b"})),
            ("user.message", json!({"content": "hook", "source": "skill"})),
        ]);
        assert_eq!(session.info.compactions, 1);
        assert_eq!(
            outline(session.transcript.messages()),
            ["user: summary \"sum\"", "user: user \"b\"", "user: hook \"hook\""]
        );
    }

    #[test]
    fn a_sub_agent_speaks_aside() {
        let session = read(&[
            ("user.message", json!({"content": "a"})),
            ("assistant.message", json!({"content": "inner", "parentToolCallId": "c"})),
        ]);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"a\""]);
        assert_eq!(session.side_chains[0].id, "c");
    }
}
