//! The wire file of Kimi's older program, written in Python: each line a time and an event of a turn.

use longhaul_conversation::{CallId, Message, MessageId, Origin, Part, Role, Timestamp};
use longhaul_wire::{Json, Object, read_arguments};

use super::{UsageKeys, read_call, read_content, read_part, read_result, read_usage};
use crate::CountedCall;
use crate::out::Out;

const KEYS: UsageKeys =
    UsageKeys { fresh: "input_other", read: "input_cache_read", written: "input_cache_creation" };

pub(super) fn is_record(record: &Object<'_>) -> bool {
    let message = record.get("message");
    record.has("timestamp")
        && message.and_then(|message| message.get("type")).and_then(Json::as_str).is_some_and(is_event)
        && message.is_some_and(|message| message.get("payload").is_some())
}

/// Names of events are written like names of types.
fn is_event(kind: &str) -> bool {
    kind.starts_with(|first: char| first.is_ascii_uppercase())
}

/// State of reading: the model's step that is under way.
#[derive(Default)]
pub(super) struct Python {
    step: Option<MessageId>,
    /// The call whose arguments arrive in pieces, with what has arrived.
    growing: Option<(CallId, String, String)>,
}

impl Python {
    pub(super) fn record(&mut self, mut record: Object<'_>, out: &mut Out<'_>) {
        let at = record.time("timestamp");
        let Some(mut message) = record.take_object("message") else {
            return out.warn("record without a message; skipped");
        };
        let kind = message.take_string("type").unwrap_or_default();
        let payload = message.take_object("payload").unwrap_or_default();
        if kind != "ToolCallPart" {
            self.finish_call(at, out);
        }
        self.event(&kind, payload, at, out);
    }

    fn event(&mut self, kind: &str, mut payload: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        out.note(at, None, None);
        match kind {
            "TurnBegin" | "SteerInput" => {
                self.step = None;
                let parts = read_content(payload.take("user_input"), Origin::User);
                put(Role::User, parts, at, out);
            }
            "StepBegin" => self.step = None,
            "ContentPart" => self.say(read_part(Json::Object(payload), Origin::Model), at, out),
            "ToolCall" => {
                let arguments = payload.get("function").and_then(|function| function.get("arguments"));
                let started = arguments.and_then(Json::as_str).unwrap_or_default().to_string();
                let call = read_call(payload, out);
                self.growing = Some((call.id, call.name, started));
            }
            "ToolCallPart" => {
                if let (Some((_, _, text)), Some(piece)) =
                    (&mut self.growing, payload.take_string("arguments_part"))
                {
                    text.push_str(&piece);
                }
            }
            "ToolResult" => {
                let call = payload.take_string("tool_call_id").map_or_else(|| CallId::new(""), CallId::new);
                let value = payload.take_object("return_value").or_else(|| payload.take_object("result"));
                let result = read_result(call, value.unwrap_or_default());
                self.step = None;
                put(Role::User, vec![Part::result(result)], at, out);
            }
            "StatusUpdate" => {
                let usage = payload.get("token_usage").and_then(|usage| read_usage(usage, &KEYS));
                if let Some(usage) = usage {
                    out.call(CountedCall { message: None, at, model: None, usage });
                }
            }
            // The wire file names neither the summary nor what stayed.
            "CompactionEnd" => out.skip("compaction"),
            kind => out.skip(kind),
        }
    }

    /// The call is whole once something else follows.
    fn finish_call(&mut self, at: Option<Timestamp>, out: &mut Out<'_>) {
        if let Some((id, name, text)) = self.growing.take() {
            let args = read_arguments(Some(Json::String(text.into())));
            let args = if args.as_str() == Some("") { serde_json::json!({}) } else { args };
            let call = longhaul_conversation::ToolCall::new(id, name).with_args(args);
            self.say(vec![Part::call(call)], at, out);
        }
    }

    fn say(&mut self, parts: Vec<Part>, at: Option<Timestamp>, out: &mut Out<'_>) {
        match &self.step {
            Some(step) => out.extend(step.clone(), parts),
            None => self.step = put(Role::Model, parts, at, out),
        }
    }
}

fn put(role: Role, parts: Vec<Part>, at: Option<Timestamp>, out: &mut Out<'_>) -> Option<MessageId> {
    if parts.is_empty() {
        return None;
    }
    let mut message = Message::new(out.made_up_id(), role, parts);
    message.at = at;
    let id = message.id.clone();
    out.put(message);
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::super::super::outline::check_outline;
    use crate::Format;
    use serde_json::{Value, json};

    #[test]
    fn pieces_of_a_call_are_put_together() {
        let line = |kind: &str, payload: Value| {
            format!(
                "{}\n",
                json!({"timestamp": 1_760_000_000.5, "message": {"type": kind, "payload": payload}})
            )
        };
        let file = [
            line("TurnBegin", json!({"user_input": "list"})),
            line("StepBegin", json!({"n": 1})),
            line("ContentPart", json!({"type": "think", "think": "hm", "encrypted": null})),
            line("ToolCall", json!({"type": "function", "id": "c", "function": {"name": "Shell", "arguments": "{\"com"}})),
            line("ToolCallPart", json!({"arguments_part": "mand\":\"ls\"}"})),
            line("StatusUpdate", json!({"token_usage": {"input_other": 5, "output": 2, "input_cache_read": 10}})),
            line("ToolResult", json!({"tool_call_id": "c", "return_value": {"is_error": false, "output": "one", "message": "ok"}})),
            line("StepBegin", json!({"n": 2})),
            line("ContentPart", json!({"type": "text", "text": "Done."})),
        ]
        .concat();
        check_outline(
            &file,
            Format::Kimi,
            &[
                "user: list",
                "thought: hm",
                "call c Shell {\"command\":\"ls\"}",
                "result c Succeeded one\nok",
                "model: Done.",
            ],
        );
    }
}
