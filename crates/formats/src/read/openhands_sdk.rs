//! Reads the events of the OpenHands agent SDK, one a line or in a list.

use std::collections::HashSet;

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Output, Part, Role, Signature, Thought, ToolResult, ToolStatus,
    Vendor,
};
use longhaul_wire::{Json, Object, each_item, split_typed};
use serde_json::Value;

use super::chat_pieces::{read_answer, read_call, read_content, read_declarations};
use super::openhands::Kept;
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::OpenHands,
    is_record: is_event,
    is_document: |document| match document {
        Json::Object(event) => is_event(event),
        list => list.as_array().and_then(<[_]>::first).and_then(Json::as_object).is_some_and(is_event),
    },
    open: || Box::new(Sdk::default()),
    unread: &[],
};

fn is_event(event: &Object<'_>) -> bool {
    let kinds = ["Event", "Condensation", "CondensationRequest", "UserRejectObservation"];
    event.str("kind").is_some_and(|kind| kinds.iter().any(|known| kind.ends_with(known)))
        && event.str("id").is_some()
        && matches!(event.str("source"), Some("user" | "agent" | "environment" | "hook"))
}

#[derive(Default)]
struct Sdk {
    kept: Kept,
    /// The model's answer that the last message belongs to; one answer may make several calls.
    response: Option<String>,
}

impl Reader for Sdk {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        match record {
            Json::Object(event) => self.event(event, out),
            list @ (Json::Array(_) | Json::List(_)) => {
                let events = list.into_list().unwrap_or_default();
                each_item(events, "events", out, |event, _, out| self.record(event, out));
            }
            other => out.warn(format!("expected an event, found {}; skipped", other.kind())),
        }
    }
}

impl Sdk {
    fn event(&mut self, mut event: Object<'_>, out: &mut Out<'_>) {
        match event.take_string("kind").as_deref() {
            Some("SystemPromptEvent") => {
                for key in ["system_prompt", "dynamic_context"] {
                    let prompt = event.take(key).map(|prompt| Json::Array(vec![prompt]));
                    out.info.system.extend(read_content(prompt.filter(is_filled), Origin::Hook));
                }
                out.info.tools.extend(read_declarations(event.take_array("tools").unwrap_or_default()));
            }
            Some("MessageEvent") => self.message(event, out),
            Some("ActionEvent") => self.action(event, out),
            Some("ObservationEvent") => {
                let result = read_observation(&mut event);
                self.answer(result, &event, out);
            }
            Some("UserRejectObservation") => {
                let reason = event.take_string("rejection_reason").unwrap_or_default();
                let result = ToolResult::text(take_call(&mut event), reason);
                self.answer(result.with_status(ToolStatus::Cancelled), &event, out);
            }
            Some("AgentErrorEvent") => {
                let error = event.take_string("error").unwrap_or_default();
                let result = ToolResult::text(take_call(&mut event), error);
                self.answer(result.with_status(ToolStatus::Failed), &event, out);
            }
            Some("Condensation") => {
                let ids = event.take_array("forgotten_event_ids").unwrap_or_default();
                let forgotten: HashSet<MessageId> =
                    ids.into_iter().filter_map(Json::into_string).map(MessageId::new).collect();
                let summary = event.take_string("summary");
                let id = message_id(&event, out);
                self.response = None;
                self.kept.condense(&forgotten, summary, id, &event, out);
            }
            Some(kind @ "ConversationStateUpdateEvent") => {
                note_models(&event, out);
                out.skip(kind);
            }
            Some(kind) => out.skip(kind),
            None => out.warn("event without a kind; skipped"),
        }
    }

    fn message(&mut self, mut event: Object<'_>, out: &mut Out<'_>) {
        let Some(mut said) = event.take_object("llm_message") else {
            return out.warn("message event without a message; skipped");
        };
        let (role, origin) = match (said.str("role"), event.str("source")) {
            (Some("assistant"), _) => (Role::Model, Origin::Model),
            (_, Some("user")) => (Role::User, Origin::User),
            _ => (Role::User, Origin::Hook),
        };
        let mut parts = if role == Role::Model { take_thoughts(&mut said) } else { Vec::new() };
        parts.extend(split_typed(read_content(said.take("content"), origin)));
        // Skills that the words of the message called up.
        parts.extend(read_content(event.take("extended_content"), Origin::Memory));
        for (place, call) in said.take_array("tool_calls").unwrap_or_default().into_iter().enumerate() {
            let id = || CallId::made_up(format_args!("{}-{place}", event.str("id").unwrap_or_default()));
            parts.extend(call.into_object().map(|call| Part::call(read_call(call, id))));
        }
        self.response = event.take_string("llm_response_id").filter(|_| role == Role::Model);
        self.put(role, parts, &event, out);
    }

    fn action(&mut self, mut event: Object<'_>, out: &mut Out<'_>) {
        let mut parts = take_thoughts(&mut event);
        let text = read_content(event.take("thought"), Origin::Model);
        parts.extend(without_repeated_thought(text, &parts));
        let name = event.take_string("tool_name");
        let own_id = event.take_string("tool_call_id");
        let id = || own_id.map_or_else(|| CallId::made_up(event.str("id").unwrap_or_default()), CallId::new);
        let call = event.get("tool_call").and_then(Json::as_object).cloned();
        let mut call = read_call(call.unwrap_or_default(), id);
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
            call.args = event.take("action").map_or(Value::Null, Json::into_value);
        }
        parts.push(Part::call(call));
        let response = event.take_string("llm_response_id");
        if response.is_some() && response == self.response {
            return self.kept.extend_last(parts, out);
        }
        self.put(Role::Model, parts, &event, out);
        self.response = response;
    }

    fn answer(&mut self, result: ToolResult, event: &Object<'_>, out: &mut Out<'_>) {
        self.response = None;
        self.put(Role::User, vec![Part::result(result)], event, out);
    }

    fn put(&mut self, role: Role, parts: Vec<Part>, event: &Object<'_>, out: &mut Out<'_>) {
        let mut message = Message::new(message_id(event, out), role, parts);
        message.at = event.time("timestamp");
        self.kept.put(message, out);
    }
}

fn is_filled(prompt: &Json<'_>) -> bool {
    prompt.as_array().is_some_and(|items| !items.contains(&Json::Null))
}

fn message_id(event: &Object<'_>, out: &Out<'_>) -> MessageId {
    out.unused_id(event.str("id").map(MessageId::new))
}

fn take_call(event: &mut Object<'_>) -> CallId {
    let id = event.take_string("tool_call_id").or_else(|| event.take_string("action_id"));
    CallId::new(id.unwrap_or_default())
}

/// The reasoning of an answer: signed blocks where there are some, otherwise its text.
fn take_thoughts(said: &mut Object<'_>) -> Vec<Part> {
    let text = said.take_string("reasoning_content").filter(|text| !text.trim().is_empty());
    let blocks = said.take_array("thinking_blocks").unwrap_or_default();
    let blocks: Vec<Part> = blocks
        .into_iter()
        .filter_map(Json::into_object)
        .filter_map(|mut block| {
            let signature = block.take_string("signature");
            let signature = signature.map(|value| Signature { vendor: Vendor::Anthropic, value });
            Some(Part::thought(Thought { text: block.take_string("thinking")?, signature, item: None }))
        })
        .collect();
    if blocks.is_empty() {
        text.into_iter().map(|text| Part::thought(Thought { text, ..Thought::default() })).collect()
    } else {
        blocks
    }
}

/// Some models write their reasoning into the text as well, between `<think>` tags; once is enough.
fn without_repeated_thought(text: Vec<Part>, thoughts: &[Part]) -> Vec<Part> {
    let strip = |part: Part| {
        let rest =
            part.as_text()?.trim_start().strip_prefix("<think>")?.split_once("</think>")?.1.trim_start();
        Some(Part::text(part.origin, rest))
    };
    let strip = |part: Part| if thoughts.is_empty() { part } else { strip(part.clone()).unwrap_or(part) };
    text.into_iter().map(strip).filter(|part| !part.is_empty()).collect()
}

fn read_observation(event: &mut Object<'_>) -> ToolResult {
    let name = event.take_string("tool_name");
    let call = take_call(event);
    let mut observation = event.take_object("observation").unwrap_or_default();
    let status = match observation.get("is_error").and_then(Json::as_bool) {
        Some(true) => ToolStatus::Failed,
        Some(false) => ToolStatus::Succeeded,
        None => ToolStatus::Unstated,
    };
    let content = observation.take("content").or_else(|| observation.take("output"));
    let mut result = match content {
        Some(content) => read_answer(call, Some(content)),
        None => {
            observation.take("kind");
            let output = Output::Structured(Value::Object(observation.into_map()));
            ToolResult { output, ..ToolResult::text(call, "") }
        }
    };
    result.name = name;
    result.status = status;
    result
}

/// The models that the program keeps figures of; the agent's own is the default.
fn note_models(event: &Object<'_>, out: &mut Out<'_>) {
    let figures = event.get("value").and_then(|value| value.get("usage_to_metrics")?.as_object());
    let model = figures.and_then(|figures| {
        let own = figures.get("default").or_else(|| figures.get("agent"))?;
        own.get("model_name")?.as_str()
    });
    out.note(event.time("timestamp"), model, None);
}

#[cfg(test)]
mod tests {
    use super::super::outline::{check_outline, read_text};
    use super::*;

    const ASKED: &str = r#"{"kind":"MessageEvent","id":"e1","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"Review it"}]},"extended_content":[{"type":"text","text":"How to review"}]}"#;

    fn action(id: &str, call: &str, response: &str, text: &str) -> String {
        format!(
            r#"{{"kind":"ActionEvent","id":"{id}","source":"agent","thought":[{{"type":"text","text":"{text}"}}],"reasoning_content":"Hm","tool_name":"terminal","tool_call_id":"{call}","tool_call":{{"id":"{call}","name":"terminal","arguments":"{{}}"}},"llm_response_id":"{response}"}}"#
        )
    }

    fn observation(id: &str, call: &str, is_error: bool) -> String {
        format!(
            r#"{{"kind":"ObservationEvent","id":"{id}","source":"environment","tool_name":"terminal","tool_call_id":"{call}","observation":{{"content":[{{"type":"text","text":"a"}}],"is_error":{is_error}}}}}"#
        )
    }

    #[track_caller]
    fn check(events: &[&str], expected: &[&str]) {
        check_outline(&events.join("\n"), Format::OpenHands, expected);
        check_outline(&format!("[{}]", events.join(",")), Format::OpenHands, expected);
    }

    #[test]
    fn events_become_messages() {
        check(
            &[
                ASKED,
                &action("e2", "c1", "r1", "<think>Hm</think>\\n\\nLook."),
                &observation("e3", "c1", true),
            ],
            &[
                "user: Review it",
                "memory: How to review",
                "thought: Hm",
                "model: Look.",
                "call c1 terminal {}",
                "result c1 Failed a",
            ],
        );
    }

    #[test]
    fn calls_of_one_answer_are_one_message() {
        let events = [
            ASKED.to_string(),
            action("e2", "c1", "r1", ""),
            action("e3", "c2", "r1", ""),
            observation("e4", "c1", false),
            action("e5", "c3", "r1", ""),
        ];
        let session = read_text(&events.join("\n"));
        let calls: Vec<usize> =
            session.transcript.messages().iter().map(|message| message.calls().count()).collect();
        assert_eq!(calls, [0, 2, 0, 1]);
    }

    #[test]
    fn refusals_and_errors_answer_calls() {
        check(
            &[
                r#"{"kind":"UserRejectObservation","id":"e1","source":"user","tool_call_id":"c1","rejection_reason":"no"}"#,
                r#"{"kind":"AgentErrorEvent","id":"e2","source":"agent","tool_call_id":"c2","error":"bad arguments"}"#,
            ],
            &["result c1 Cancelled no", "result c2 Failed bad arguments"],
        );
    }

    #[test]
    fn a_condensation_replaces_what_it_forgets() {
        check(
            &[
                ASKED,
                &action("e2", "c1", "r1", "x"),
                &observation("e3", "c1", false),
                r#"{"kind":"Condensation","id":"e4","source":"environment","forgotten_event_ids":["e2","e3"],"summary":"Looked."}"#,
            ],
            &["user: Review it", "memory: How to review", "summary: Looked."],
        );
    }

    #[test]
    fn a_condensation_between_the_calls_of_one_answer_keeps_them_apart_from_its_summary() {
        let condensation = r#"{"kind":"Condensation","id":"e4","source":"environment","forgotten_event_ids":["e2"],"summary":"Looked."}"#;
        let file =
            [ASKED, &action("e2", "c1", "r1", ""), condensation, &action("e5", "c2", "r1", "")].join("\n");
        let session = read_text(&file);
        let roles: Vec<Role> = session.transcript.messages().iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::User, Role::Model]);
    }

    #[test]
    fn the_rest_is_counted() {
        let session = read_text(
            &[
                r#"{"kind":"SystemPromptEvent","id":"e0","source":"agent","system_prompt":{"type":"text","text":"Rules"},"dynamic_context":null,"tools":[{"name":"terminal"}]}"#,
                r#"{"kind":"ConversationStateUpdateEvent","id":"e1","source":"environment","key":"stats","value":{"usage_to_metrics":{"default":{"model_name":"m-1"}}}}"#,
                r#"{"kind":"PauseEvent","id":"e2","source":"user"}"#,
            ]
            .join("\n"),
        );
        assert_eq!(session.info.system, [Part::text(Origin::Hook, "Rules")]);
        assert_eq!(session.info.tools.len(), 1);
        assert_eq!(session.info.model(), Some("m-1"));
        let skipped: Vec<_> = session.info.skipped.iter().collect();
        assert_eq!(skipped, [("ConversationStateUpdateEvent", 1), ("PauseEvent", 1)]);
    }
}
