//! Reads SWE-agent trajectories.
//!
//! The history is the conversation. Where the model has no tools it writes its command into its text; such a command
//! becomes a call of `bash`, and the observation behind it the result. Nobody types into a run: the task in the first
//! user message counts as asked by a person, and everything else on the user's side comes from the program.

use longhaul_conversation::{CallId, Message, Origin, Part, Role, Signature, Thought, ToolCall, Vendor};
use longhaul_wire::{Json, Object, each_object};
use serde_json::json;

use super::chat_pieces::{read_answer, read_call, read_content};
use super::task::split_task;
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::SweAgent,
    is_record: |record| is_trajectory(record),
    is_document: |document| document.as_object().is_some_and(is_trajectory),
    open: || Box::new(SweAgent::default()),
    unread: &[],
};

fn is_trajectory(document: &Object<'_>) -> bool {
    let Some(history) = document.get("history").and_then(Json::as_array) else { return false };
    let is_marked =
        |item: &Json<'_>| ["agent", "message_type", "thought"].iter().any(|key| item.get(key).is_some());
    !history.is_empty()
        && history.iter().all(|item| item.get("role").is_some() && item.get("content").is_some())
        && (history.iter().any(is_marked) || document.has("trajectory"))
}

#[derive(Default)]
struct SweAgent {
    /// The agent whose history this is; others that appear in it are sub-agents.
    agent: Option<String>,
    has_task: bool,
    commands: usize,
    /// The command that was written into the last text and has no result yet.
    open: Option<CallId>,
}

impl Reader for SweAgent {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut document) = record else {
            return out.warn(format!("expected a trajectory, found {}; skipped", record.kind()));
        };
        if self.agent.is_some() {
            out.skip("trajectory");
            return out.warn("additional trajectory skipped: only the first of a file is read");
        }
        out.info.session_id = document.take_string("instance_id");
        // The steps once more, without what was said around them.
        for _ in 0..document.take_list("trajectory").unwrap_or_default().len() {
            out.skip("step");
        }
        let history = document.take_list("history").unwrap_or_default();
        each_object(history, "history", out, |item, _, out| self.item(item, out));
    }
}

impl SweAgent {
    fn item(&mut self, mut item: Object<'_>, out: &mut Out<'_>) {
        let agent = item.take_string("agent").unwrap_or_default();
        let is_own = *self.agent.get_or_insert_with(|| agent.clone()) == agent;
        let role = item.take_string("role").unwrap_or_default();
        let (side, parts) = match role.as_str() {
            "system" => {
                let parts = read_content(item.take("content"), Origin::Hook);
                if is_own {
                    out.info.system.extend(parts);
                }
                return;
            }
            "assistant" if item.is_true("is_demo") => {
                (Role::Model, read_content(item.take("content"), Origin::Memory))
            }
            _ if item.is_true("is_demo") => (Role::User, read_content(item.take("content"), Origin::Memory)),
            "assistant" => (Role::Model, self.model(item)),
            "tool" => (Role::User, read_results(item)),
            "user" => (Role::User, self.user(item)),
            other => {
                out.warn(format!("unknown role {other:?}; read as host text"));
                (Role::User, read_content(item.take("content"), Origin::Hook))
            }
        };
        let message = Message::new(out.made_up_id(), side, parts);
        if is_own { out.put(message) } else { out.side(&agent, message) }
    }

    fn model(&mut self, mut item: Object<'_>) -> Vec<Part> {
        let blocks = item.take_array("thinking_blocks").unwrap_or_default();
        let mut parts: Vec<Part> =
            blocks.into_iter().filter_map(Json::into_object).filter_map(read_thought).collect();
        let calls = item.take_array("tool_calls").unwrap_or_default();
        let command = item.take_string("action").filter(|command| !command.trim().is_empty());
        self.open = None;
        match command {
            Some(command) if calls.is_empty() => {
                let text = item.take_string("thought").map(|text| Json::String(text.into()));
                parts.extend(read_content(text.or_else(|| item.take("content")), Origin::Model));
                let id = self.next_id();
                self.open = Some(id.clone());
                parts.push(Part::call(ToolCall::new(id, "bash").with_args(json!({ "command": command }))));
            }
            _ => {
                parts.extend(read_content(item.take("content"), Origin::Model));
                let calls = calls.into_iter().filter_map(Json::into_object);
                parts.extend(calls.map(|call| Part::call(read_call(call, || self.next_id()))));
            }
        }
        parts
    }

    fn user(&mut self, mut item: Object<'_>) -> Vec<Part> {
        if let Some(call) = self.open.take() {
            return vec![Part::result(read_answer(call, item.take("content")).with_name("bash"))];
        }
        if self.has_task {
            return read_content(item.take("content"), Origin::Hook);
        }
        self.has_task = true;
        let parts = read_content(item.take("content"), Origin::User);
        let split = |part: Part| match part.as_text() {
            Some(text) => split_task(text),
            None => vec![part],
        };
        parts.into_iter().flat_map(split).collect()
    }

    fn next_id(&mut self) -> CallId {
        self.commands += 1;
        CallId::made_up(self.commands)
    }
}

fn read_thought(mut block: Object<'_>) -> Option<Part> {
    let signature = block.take_string("signature");
    let signature = signature.map(|value| Signature { vendor: Vendor::Anthropic, value });
    Some(Part::thought(Thought { text: block.take_string("thinking")?, signature, item: None }))
}

/// One observation answers the calls of one step; the first of them gets the text.
fn read_results(mut item: Object<'_>) -> Vec<Part> {
    let ids = item.take_array("tool_call_ids").unwrap_or_default();
    let mut ids: Vec<CallId> = ids.into_iter().filter_map(Json::into_string).map(CallId::new).collect();
    ids.extend(item.take_string("tool_call_id").map(CallId::new));
    if ids.is_empty() {
        return read_content(item.take("content"), Origin::Tool);
    }
    ids.into_iter().map(|id| Part::result(read_answer(id, item.take("content")))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::outline::{check_outline, read_text};
    use super::*;

    #[track_caller]
    fn check(history: &str, expected: &[&str]) {
        check_outline(&format!(r#"{{"history": [{history}]}}"#), Format::SweAgent, expected);
    }

    #[test]
    fn a_command_in_the_text_is_a_call() {
        check(
            r#"{"role":"system","content":"Rules","agent":"primary"},
               {"role":"user","content":"It breaks\nINSTRUCTIONS:\nGo","agent":"primary"},
               {"role":"assistant","content":"Look.\n```\nls\n```","thought":"Look.","action":"ls\n","agent":"primary"},
               {"role":"user","content":"a.py","agent":"primary","message_type":"observation"},
               {"role":"assistant","content":"No command","thought":"No command","action":"","agent":"primary"},
               {"role":"user","content":"Your output was not formatted correctly","agent":"primary"}"#,
            &[
                "user: It breaks",
                "hook: \nINSTRUCTIONS:\nGo",
                "model: Look.",
                r#"call lh-call-1 bash {"command":"ls\n"}"#,
                "result lh-call-1 Unstated a.py",
                "model: No command",
                "hook: Your output was not formatted correctly",
            ],
        );
    }

    #[test]
    fn function_calls_are_calls() {
        check(
            r#"{"role":"user","content":[{"type":"text","text":"Fix"}],"agent":"main","message_type":"observation"},
               {"role":"assistant","content":"Open it.","thought":"Open it.","action":"open a","agent":"main",
                "thinking_blocks":[{"thinking":"Hm","signature":"s"}],
                "tool_calls":[{"id":"c1","type":"function","function":{"name":"open","arguments":"{\"path\":\"a\"}"}}]},
               {"role":"tool","content":"text of a","agent":"main","tool_call_ids":["c1"]}"#,
            &[
                "user: Fix",
                "thought: Hm",
                "model: Open it.",
                r#"call c1 open {"path":"a"}"#,
                "result c1 Unstated text of a",
            ],
        );
    }

    #[test]
    fn demonstrations_and_sub_agents_stand_apart() {
        check(
            r#"{"role":"user","content":"See how it is done","agent":"main","is_demo":true},
               {"role":"assistant","content":"ls","action":"ls","thought":"","agent":"main","is_demo":true},
               {"role":"user","content":"Fix","agent":"main"}"#,
            &["memory: See how it is done", "memory: ls", "user: Fix"],
        );
        let session = read_text(
            r#"{"history":[{"role":"user","content":"Fix","agent":"main"},
                           {"role":"assistant","content":"Aside","agent":"reviewer"}]}"#,
        );
        assert_eq!(session.transcript.messages().len(), 1);
        assert_eq!(session.side_chains[0].id, "reviewer");
    }

    #[test]
    fn the_steps_are_counted_and_the_system_prompt_kept() {
        let session = read_text(
            r#"{"environment":"swe_main","trajectory":[{"action":"ls"}],"info":{"exit_status":"submitted"},
                "history":[{"role":"system","content":"Rules"},{"role":"user","content":"Fix"}]}"#,
        );
        assert_eq!(session.info.format, Format::SweAgent);
        assert_eq!(session.info.system, [Part::text(Origin::Hook, "Rules")]);
        assert_eq!(session.info.skipped.iter().collect::<Vec<_>>(), [("step", 1)]);
    }
}
