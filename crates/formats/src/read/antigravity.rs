//! Reads transcripts of Antigravity CLI: numbered steps, one a line.
//!
//! The model's step names its calls, without ids; the steps that follow are what the tools did, in the same order. The
//! form is taken from descriptions by others: no file of the real program was at hand.

use std::collections::VecDeque;

use longhaul_conversation::{
    CallId, Message, Origin, Part, Role, Thought, Timestamp, ToolCall, ToolResult, ToolStatus,
};
use longhaul_wire::{Json, Object, OriginRules, each_object, read_arguments, split_user_text};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::Antigravity,
    is_record: |record| {
        record.get("step_index").and_then(Json::as_u64).is_some()
            && record.has("source")
            && record.str("type").is_some()
    },
    is_document: |_| false,
    open: || Box::new(Antigravity::default()),
    unread: &[],
};

const ORIGINS: OriginRules = OriginRules {
    tags: &[
        ("ADDITIONAL_METADATA", Origin::Hook),
        ("EPHEMERAL_MESSAGE", Origin::Hook),
        ("USER_SETTINGS_CHANGE", Origin::Hook),
        ("user_rules", Origin::Memory),
    ],
    typed: &["USER_REQUEST"],
    starts: &[],
};

#[derive(Default)]
struct Antigravity {
    calls: usize,
    /// Calls that no step has answered yet.
    open: VecDeque<(CallId, String)>,
}

impl Reader for Antigravity {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut step) = record else {
            return out.warn(format!("expected a step, found {}; skipped", record.kind()));
        };
        let at = step.time("created_at");
        out.note(at, None, None);
        let kind = step.take_string("type").unwrap_or_default();
        let text = step.take_string("content").unwrap_or_default();
        match kind.as_str() {
            "USER_INPUT" => {
                self.open.clear();
                put(Role::User, split_user_text(text, &ORIGINS), at, out);
            }
            "PLANNER_RESPONSE" => {
                let mut parts = said(&mut step, text);
                self.calls(&mut step, &mut parts, out);
                put(Role::Model, parts, at, out);
            }
            _ => self.action(&kind, step, text, at, out),
        }
    }
}

impl Antigravity {
    /// A step that is neither a person's nor the model's: what a tool did, or a notice.
    fn action(
        &mut self,
        kind: &str,
        mut step: Object<'_>,
        text: String,
        at: Option<Timestamp>,
        out: &mut Out<'_>,
    ) {
        // A step that names its call is the answer to it, too.
        let has_own_call = step.has("tool_calls");
        if has_own_call {
            let mut parts = said(&mut step, String::new());
            self.calls(&mut step, &mut parts, out);
            put(Role::Model, parts, at, out);
        }
        let status = match step.str("status").map(str::to_ascii_lowercase).as_deref() {
            Some("ok" | "done" | "success") => ToolStatus::Succeeded,
            Some("error" | "failed") => ToolStatus::Failed,
            Some("canceled" | "cancelled") => ToolStatus::Cancelled,
            _ => ToolStatus::Unstated,
        };
        let is_notice =
            matches!(kind, "EPHEMERAL_MESSAGE" | "CHECKPOINT" | "CONVERSATION_HISTORY" | "SYSTEM_MESSAGE");
        let answered = match (is_notice, has_own_call) {
            (true, _) => None,
            (false, true) => self.open.pop_back(),
            (false, false) => self.open.pop_front(),
        };
        match answered {
            Some((call, name)) => {
                let result = ToolResult::text(call, text).with_name(name).with_status(status);
                put(Role::User, vec![Part::result(result)], at, out);
            }
            None if text.is_empty() => out.skip(kind),
            None => put(Role::User, vec![Part::text(Origin::Hook, text)], at, out),
        }
    }

    fn calls(&mut self, step: &mut Object<'_>, parts: &mut Vec<Part>, out: &mut Out<'_>) {
        let calls = step.take_list("tool_calls").unwrap_or_default();
        each_object(calls, "tool_calls", out, |mut call, _, _| {
            self.calls += 1;
            let own = call.take_string("id").filter(|id| !id.is_empty());
            let id = own.map_or_else(|| CallId::made_up(self.calls), CallId::new);
            let name = call.take_string("name").unwrap_or_default();
            self.open.push_back((id.clone(), name.clone()));
            let args = call.take("args").or_else(|| call.take("arguments"));
            parts.push(Part::call(ToolCall::new(id, name).with_args(read_arguments(args))));
        });
    }
}

fn said(step: &mut Object<'_>, text: String) -> Vec<Part> {
    let thought = step.take_string("thinking").filter(|text| !text.is_empty());
    let thought = thought.map(|text| Part::thought(Thought { text, signature: None, item: None }));
    let text = Some(text).filter(|text| !text.is_empty()).map(Part::model_text);
    thought.into_iter().chain(text).collect()
}

fn put(role: Role, parts: Vec<Part>, at: Option<Timestamp>, out: &mut Out<'_>) {
    if !parts.is_empty() {
        let mut message = Message::new(out.made_up_id(), role, parts);
        message.at = at;
        out.put(message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::check_outline;
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_answer_calls_in_their_order() {
        let steps = [
            json!({"source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE",
                "content": "<USER_REQUEST>\nlist\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nnow\n</ADDITIONAL_METADATA>"}),
            json!({"source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", "thinking": "hm", "content": "Looking.",
                "tool_calls": [{"name": "run_command", "args": {"CommandLine": "ls"}}, {"name": "view_file", "args": {}}]}),
            json!({"source": "SYSTEM", "type": "EPHEMERAL_MESSAGE", "content": "remember"}),
            json!({"source": "MODEL", "type": "RUN_COMMAND", "status": "DONE", "content": "one"}),
            json!({"source": "MODEL", "type": "CODE_ACTION", "status": "ok", "content": "written",
                "tool_calls": [{"name": "write_to_file", "args": {}}]}),
        ];
        let lines = steps.into_iter().enumerate().map(|(place, mut step)| {
            step["step_index"] = json!(place);
            format!("{step}\n")
        });
        let file: String = lines.collect();
        let session = super::super::outline::read_text(&file);
        let typed: String = session.transcript.messages()[0]
            .parts
            .iter()
            .filter(|part| part.origin == Origin::User)
            .filter_map(Part::as_text)
            .collect();
        assert_eq!(typed.trim(), "list");
        let rest: String = file.lines().skip(1).map(|line| format!("{line}\n")).collect();
        check_outline(
            &rest,
            Format::Antigravity,
            &[
                "thought: hm",
                "model: Looking.",
                "call lh-call-1 run_command {\"CommandLine\":\"ls\"}",
                "call lh-call-2 view_file {}",
                "hook: remember",
                "result lh-call-1 Succeeded one",
                "call lh-call-3 write_to_file {}",
                "result lh-call-3 Succeeded written",
            ],
        );
    }
}
