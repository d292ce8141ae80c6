//! Reads goose sessions: what `goose session export --format json` prints, which is also what its database holds.
//!
//! A compaction hides messages from the model instead of removing them, and puts a summary behind them that no person sees.
//! The form is taken from its documentation: no database of the real program was at hand.

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Output, Part, Role, Signature, Thought, TokenCount, ToolCall,
    ToolResult, ToolStatus, Usage, Vendor,
};
use longhaul_wire::{Json, Object, body_of_url, each_object, read_arguments, text_parts};
use serde_json::Value;

use super::{Known, Reader};
use crate::out::Out;
use crate::{CountedCall, Format};

pub(super) const KNOWN: Known = Known {
    format: Format::Goose,
    is_record: |_| false,
    is_document: |document| {
        let messages = document.get("conversation").and_then(Json::as_array);
        document.get("working_dir").is_some()
            && messages.is_some_and(|messages| {
                messages
                    .iter()
                    .all(|message| message.get("role").is_some() && message.get("content").is_some())
            })
    },
    open: || Box::new(Goose::default()),
    unread: &[],
};

#[derive(Default)]
struct Goose {
    /// True if messages that the model no longer sees were read, and no summary behind them yet.
    has_hidden: bool,
}

impl Reader for Goose {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut session) = record else {
            return out.warn(format!("expected a session, found {}; skipped", record.kind()));
        };
        out.info.session_id = session.take_string("id");
        let title = ["name", "description"].iter().find_map(|key| session.take_string(key));
        out.info.title = title.filter(|title| !title.is_empty());
        out.info.directory = session.take_string("working_dir");
        for key in ["created_at", "updated_at"] {
            out.note(session.time(key), None, None);
        }
        let config = session.get("model_config");
        let model =
            config.and_then(|config| config.get("model_name")).and_then(Json::as_str).map(str::to_string);
        out.note(None, model.as_deref(), None);
        let messages = session.take_list("conversation").unwrap_or_default();
        each_object(messages, "conversation", out, |message, _, out| self.message(message, out));
        out.end_compaction();
        // The session tells the sum of its calls and the last one, not which message it made.
        let count = |key| session.get(key).and_then(Json::as_u64).map(TokenCount);
        let usage = Usage {
            input: count("input_tokens"),
            output: count("output_tokens"),
            total: count("total_tokens"),
            ..Usage::default()
        };
        let sum = Usage {
            input: count("accumulated_input_tokens"),
            output: count("accumulated_output_tokens"),
            ..Usage::default()
        };
        let at = out.info.ended;
        out.call(CountedCall { message: None, at, model, usage: if sum.is_empty() { usage } else { sum } });
        out.note(None, None, Some(&usage));
    }
}

impl Goose {
    fn message(&mut self, mut message: Object<'_>, out: &mut Out<'_>) {
        let role = if message.str("role") == Some("assistant") { Role::Model } else { Role::User };
        let metadata = message.take_object("metadata").unwrap_or_default();
        let is_seen = |key: &str| metadata.get(key).and_then(Json::as_bool) != Some(false);
        let (by_user, by_agent) = (is_seen("userVisible"), is_seen("agentVisible"));
        let is_summary = by_agent && !by_user && self.has_hidden;
        if is_summary {
            self.has_hidden = false;
            out.restart();
        } else if by_user {
            out.end_compaction();
        }
        self.has_hidden |= !by_agent;
        let origin = match role {
            Role::Model => Origin::Model,
            Role::User if is_summary => Origin::Summary,
            Role::User if by_user => Origin::User,
            Role::User => Origin::Hook,
        };
        let mut parts = Vec::new();
        let content = message.take_list("content").unwrap_or_default();
        each_object(content, "content", out, |item, _, out| parts.extend(read_item(item, origin, out)));
        if parts.is_empty() {
            return out.skip("message:empty");
        }
        let id = out.unused_id(message.take_string("id").map(MessageId::new));
        let mut read = Message::new(id, role, parts);
        read.at = message.time("created");
        out.put(read);
    }
}

fn read_item(mut item: Object<'_>, origin: Origin, out: &mut Out<'_>) -> Vec<Part> {
    match item.str("type") {
        Some("text") => {
            let text = item.take_string("text").unwrap_or_default();
            if origin == Origin::User { text_parts(text, Role::User) } else { vec![Part::text(origin, text)] }
        }
        Some("thinking" | "reasoning") => {
            let text = item.take_string("thinking").or_else(|| item.take_string("text")).unwrap_or_default();
            let signature = item.take_string("signature").filter(|value| !value.is_empty());
            let signature = signature.map(|value| Signature { vendor: Vendor::Agent, value });
            vec![Part::thought(Thought { text, signature, item: None })]
        }
        Some("toolRequest" | "frontendToolRequest") => {
            let own = item.take_string("id").filter(|id| !id.is_empty());
            let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
            let mut call = item.take_object("toolCall").unwrap_or_default();
            let mut call = call.take_object("value").unwrap_or(call);
            let name = call.take_string("name").unwrap_or_default();
            vec![Part::call(ToolCall::new(id, name).with_args(read_arguments(call.take("arguments"))))]
        }
        Some("toolResponse") => {
            let call = item.take_string("id").map_or_else(|| CallId::new(""), CallId::new);
            vec![Part::result(read_result(call, item.take_object("toolResult").unwrap_or_default()))]
        }
        Some("image") => {
            let mime = item.take_string("mimeType").unwrap_or_default();
            let url = format!("data:{mime};base64,{}", item.take_string("data").unwrap_or_default());
            vec![Part::new(origin, body_of_url(url))]
        }
        // Shown to the user; the model does not see them.
        Some(
            kind @ ("toolConfirmationRequest"
            | "systemNotification"
            | "conversationCompacted"
            | "actionRequired"),
        ) => {
            let kind = format!("content:{kind}");
            out.skip(&kind);
            Vec::new()
        }
        _ => vec![Part::opaque(origin, Vendor::Agent, Value::Object(item.into_map()))],
    }
}

fn read_result(call: CallId, mut result: Object<'_>) -> ToolResult {
    let mut status = match result.str("status") {
        Some("success") => ToolStatus::Succeeded,
        Some("error") => ToolStatus::Failed,
        _ => ToolStatus::Unstated,
    };
    let items = match result.take("value").or_else(|| result.take("error")) {
        Some(Json::Object(mut value)) => {
            if value.is_true("isError") {
                status = ToolStatus::Failed;
            }
            value.take_array("content").unwrap_or_default()
        }
        Some(Json::Array(items)) => items,
        Some(Json::String(text)) => return ToolResult::text(call, text.into_owned()).with_status(status),
        _ => Vec::new(),
    };
    let texts: Vec<String> = items
        .into_iter()
        .filter_map(Json::into_object)
        .filter_map(|mut item| item.take_string("text"))
        .collect();
    let output = if texts.is_empty() { Output::Empty } else { Output::Text(texts.join("\n")) };
    ToolResult { output, ..ToolResult::text(call, "").with_status(status) }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    #[test]
    fn a_compaction_hides_messages_from_the_model() {
        let text = |role: &str, text: &str, user: bool, agent: bool| {
            json!({"role": role, "created": 1_760_000_000, "content": [{"type": "text", "text": text}],
                "metadata": {"userVisible": user, "agentVisible": agent}})
        };
        let session = read_text(
            &json!({"id": "20260101_1", "working_dir": "/w", "name": "Tidy", "input_tokens": 90, "output_tokens": 9,
                "conversation": [
                    text("user", "a", true, false),
                    text("assistant", "b", true, false),
                    text("user", "sum", false, true),
                    text("assistant", "go on", false, true),
                    text("user", "c", true, true),
                    {"role": "assistant", "created": 1, "content": [{"type": "toolRequest", "id": "t", "toolCall":
                        {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}}]},
                    {"role": "user", "created": 1, "content": [{"type": "toolResponse", "id": "t", "toolResult":
                        {"status": "success", "value": {"content": [{"type": "text", "text": "one"}], "isError": false}}}]},
                ]})
            .to_string(),
        );
        assert_eq!(session.info.format, Format::Goose);
        assert_eq!(session.info.compactions, 1);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: summary \"sum\"",
                "model: model \"go on\"",
                "user: user \"c\"",
                "model: call t developer__shell {\"command\":\"ls\"}",
                "user: result t succeeded \"one\"",
            ]
        );
        assert_eq!(session.info.last_usage.and_then(|usage| usage.input), Some(TokenCount(90)));
    }
}
