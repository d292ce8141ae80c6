//! Reads OpenHands trajectories: lists of actions and observations, alone or in the records of an evaluation.
//!
//! An action of the agent's is a tool call and the observation that it caused is the result. Much else in the list
//! is bookkeeping and is counted as skipped. The SDK that came later writes other events: see `openhands_sdk`.

use std::collections::{BTreeSet, HashMap, HashSet};

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Output, Part, Role, Thought, ToolCall, ToolResult, ToolStatus,
};
use longhaul_wire::{Json, List, Object, PLAIN, chat_usage, each_item, split_user_text};
use serde_json::Value;

use super::chat_pieces::{read_call, read_declarations, read_image};
use super::task::split_task;
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::OpenHands,
    is_record: |record| is_evaluation(record) || is_event(record),
    is_document: |document| match document {
        Json::Object(record) => {
            is_evaluation(record) || ["trajectory", "events"].iter().any(|key| is_events_under(record, key))
        }
        list => list.as_array().is_some_and(is_events),
    },
    open: || Box::new(OpenHands::default()),
    unread: &["test_result", "instance"],
};

/// Actions that run a tool, for trajectories that do not carry the model's own call.
const TOOLS: &[&str] = &[
    "run",
    "run_ipython",
    "read",
    "write",
    "edit",
    "browse",
    "browse_interactive",
    "call_tool_mcp",
    "delegate",
    "think",
    "task_tracking",
    "finish",
    "reject",
];

/// Beginnings of what an evaluation answers in a user's place.
const FAKE_USER: &[&str] = &[
    "Please continue working on the task on whatever approach you think is suitable.",
    "Please continue on whatever approach you think is suitable.",
];

fn is_event(event: &Object<'_>) -> bool {
    let sourced = matches!(event.str("source"), Some("user" | "agent" | "environment"));
    let acts = event.str("action").is_some() && event.get("args").and_then(Json::as_object).is_some();
    let observes = event.str("observation").is_some() && (event.has("content") || event.has("extras"));
    sourced && (acts || observes)
}

/// Older lists hold pairs of an action and its observation.
fn is_events(items: &[Json<'_>]) -> bool {
    match items.first() {
        Some(Json::Object(event)) => is_event(event),
        Some(Json::Array(pair)) => pair.first().and_then(Json::as_object).is_some_and(is_event),
        _ => false,
    }
}

fn is_events_under(record: &Object<'_>, key: &str) -> bool {
    record.get(key).and_then(Json::as_array).is_some_and(is_events)
}

fn is_evaluation(record: &Object<'_>) -> bool {
    record.has("instance_id") && is_events_under(record, "history")
}

#[derive(Default)]
struct OpenHands {
    kept: Kept,
    /// The calls that events made, by the event's id.
    calls: HashMap<u64, CallId>,
    /// Answers of the model whose text was already read; one answer may make several calls.
    responses: HashSet<String>,
    /// True if a whole conversation was read from a record of its own.
    is_complete: bool,
}

impl Reader for OpenHands {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        match record {
            list @ (Json::Array(_) | Json::List(_)) => {
                self.events(list.into_list().unwrap_or_default(), out);
            }
            Json::Object(mut record) => {
                let history =
                    ["history", "trajectory", "events"].iter().find_map(|key| record.take_list(key));
                match history {
                    Some(_) if self.is_complete => {
                        let name = record.str("instance_id").unwrap_or("another conversation");
                        out.warn(format!("{name} skipped: only the first conversation of a file is read"));
                        out.skip("conversation");
                    }
                    Some(events) => {
                        self.is_complete = true;
                        read_head(&record, out);
                        self.instruction(&mut record, events.ready(), out);
                        self.events(events, out);
                    }
                    None => self.event(record, out),
                }
            }
            other => out.warn(format!("expected an event, found {}; skipped", other.kind())),
        }
    }
}

impl OpenHands {
    /// The task of an evaluation, where its history does not begin with it.
    fn instruction(&mut self, record: &mut Object<'_>, events: &[Json<'_>], out: &mut Out<'_>) {
        let is_said = |event: &Json<'_>| {
            event.get("action").and_then(Json::as_str) == Some("message")
                && event.get("source").and_then(Json::as_str) == Some("user")
        };
        let said = events.iter().any(|item| match item {
            Json::Array(pair) => pair.iter().any(is_said),
            event => is_said(event),
        });
        if let Some(task) = record.take_string("instruction").filter(|_| !said) {
            self.kept.put(Message::new(out.made_up_id(), Role::User, split_task(&task)), out);
        }
    }

    fn events(&mut self, events: List<'_>, out: &mut Out<'_>) {
        each_item(events, "events", out, |event, _, out| match event {
            Json::Object(event) => self.event(event, out),
            Json::Array(pair) => self.events(pair.into(), out),
            other => out.warn(format!("expected an event, found {}; skipped", other.kind())),
        });
    }

    fn event(&mut self, mut event: Object<'_>, out: &mut Out<'_>) {
        if let Some(action) = event.take_string("action") {
            self.action(&action, event, out);
        } else if let Some(observation) = event.take_string("observation") {
            self.observation(&observation, event, out);
        } else {
            out.warn("event is neither action nor observation; skipped");
        }
    }

    fn action(&mut self, action: &str, mut event: Object<'_>, out: &mut Out<'_>) {
        let mut args = event.take_object("args").unwrap_or_default();
        let is_agents = event.str("source") == Some("agent");
        match action {
            "system" => {
                out.info
                    .system
                    .extend(args.take_string("content").map(|text| Part::text(Origin::Hook, text)));
                out.info.tools.extend(read_declarations(args.take_array("tools").unwrap_or_default()));
            }
            "message" => {
                let text = args.take_string("content").unwrap_or_default();
                let (role, mut parts) = match event.str("source") {
                    Some("agent") => (Role::Model, vec![Part::model_text(text)]),
                    Some("user") => (Role::User, user_text(text)),
                    _ => (Role::User, vec![Part::text(Origin::Hook, text)]),
                };
                let origin = if role == Role::User { Origin::User } else { Origin::Model };
                let images = args.take_array("image_urls").unwrap_or_default();
                parts.extend(
                    images.into_iter().filter_map(Json::into_string).map(|url| read_image(url, origin)),
                );
                self.put(role, parts, &event, out);
            }
            "condensation" => self.condense(&mut args, &event, out),
            _ if is_agents && (event.has("tool_call_metadata") || TOOLS.contains(&action)) => {
                self.call(action, args, event, out);
            }
            // A person ran a command beside the agent, who is told about it.
            _ if event.str("source") == Some("user") && TOOLS.contains(&action) => {
                let text = event.take_string("message").unwrap_or_default();
                self.put(Role::User, vec![Part::text(Origin::Hook, text)], &event, out);
            }
            _ => out.skip(&format!("action:{action}")),
        }
    }

    /// The agent calls a tool. What the model itself wrote comes before what the program made of it.
    fn call(&mut self, action: &str, mut args: Object<'_>, mut event: Object<'_>, out: &mut Out<'_>) {
        let mut metadata = event.take_object("tool_call_metadata").unwrap_or_default();
        let own_id = metadata.take_string("tool_call_id");
        let number = event.get("id").and_then(Json::as_u64);
        let message_id = self.message_id(&event, out);
        let id = own_id.map_or_else(
            || number.map_or_else(|| CallId::made_up(&message_id), CallId::made_up),
            CallId::new,
        );
        if let Some(number) = number {
            self.calls.insert(number, id.clone());
        }
        let mut response = metadata.take_object("model_response").unwrap_or_default();
        let said = take_said(&mut response);
        let is_new = response.str("id").is_none_or(|id| self.responses.insert(id.to_string()));
        let thought = if action == "think" { None } else { args.take_string("thought") };
        let mut parts = Vec::new();
        let mut own_call = None;
        if let Some(mut said) = said {
            if is_new {
                let reasoning = said.take_string("reasoning_content").filter(|text| !text.is_empty());
                parts.extend(reasoning.map(|text| Part::thought(Thought { text, ..Thought::default() })));
                let text = said.take_string("content").or(thought).filter(|text| !text.is_empty());
                parts.extend(text.map(Part::model_text));
            }
            let calls = said.take_array("tool_calls").unwrap_or_default();
            let mut calls = calls.into_iter().filter_map(Json::into_object);
            own_call = calls.find(|call| call.str("id") == Some(id.as_str()));
        } else {
            parts.extend(thought.filter(|text| !text.is_empty()).map(Part::model_text));
        }
        let call = match own_call {
            Some(call) => read_call(call, || id),
            None => {
                let name = metadata.take_string("function_name").unwrap_or_else(|| action.to_string());
                ToolCall::new(id, name).with_args(Value::Object(args.into_map()))
            }
        };
        parts.push(Part::call(call));
        let mut message = Message::new(message_id, Role::Model, parts);
        message.at = event.time("timestamp");
        message.model = response.take_string("model");
        message.usage = if is_new { response.get("usage").and_then(chat_usage).map(Box::new) } else { None };
        self.kept.put(message, out);
    }

    fn observation(&mut self, observation: &str, mut event: Object<'_>, out: &mut Out<'_>) {
        let call = event
            .get("tool_call_metadata")
            .and_then(|metadata| metadata.get("tool_call_id")?.as_str())
            .map(CallId::new)
            .or_else(|| self.calls.get(&event.get("cause")?.as_u64()?).cloned());
        let text = event.take_string("content").unwrap_or_default();
        let part = match (observation, call) {
            ("agent_state_changed" | "null", _) => return out.skip(&format!("observation:{observation}")),
            ("recall", _) => {
                let parts = read_recall(event.take_object("extras").unwrap_or_default());
                if parts.is_empty() {
                    return out.skip("observation:recall");
                }
                return self.put(Role::User, parts, &event, out);
            }
            ("condense", _) => Part::text(Origin::Summary, text),
            (_, Some(call)) => {
                let name = event.get("tool_call_metadata").and_then(|metadata| metadata.get("function_name"));
                Part::result(ToolResult {
                    call,
                    name: name.and_then(Json::as_str).map(str::to_string),
                    status: read_status(observation, &event),
                    output: if text.is_empty() { Output::Empty } else { Output::Text(text) },
                    nested: Vec::new(),
                })
            }
            // An error before any call was made, or the outcome of a command that a person ran.
            (_, None) if !text.is_empty() => Part::text(Origin::Tool, text),
            (_, None) => return out.skip(&format!("observation:{observation}")),
        };
        self.put(Role::User, vec![part], &event, out);
    }

    fn condense(&mut self, args: &mut Object<'_>, event: &Object<'_>, out: &mut Out<'_>) {
        let number = |key: &str| args.get(key).and_then(Json::as_u64);
        let forgotten: HashSet<MessageId> =
            match (number("forgotten_events_start_id"), number("forgotten_events_end_id")) {
                (Some(start), Some(end)) => self.kept.numbered(start, end),
                _ => {
                    let ids = args.get("forgotten_event_ids").and_then(Json::as_array).unwrap_or_default();
                    ids.iter().filter_map(Json::as_u64).map(|id| MessageId::new(id.to_string())).collect()
                }
            };
        let summary = args.take_string("summary");
        let id = self.message_id(event, out);
        self.kept.condense(&forgotten, summary, id, event, out);
    }

    fn put(&mut self, role: Role, parts: Vec<Part>, event: &Object<'_>, out: &mut Out<'_>) {
        let mut message = Message::new(self.message_id(event, out), role, parts);
        message.at = event.time("timestamp");
        self.kept.put(message, out);
    }

    fn message_id(&self, event: &Object<'_>, out: &Out<'_>) -> MessageId {
        out.unused_id(event.get("id").and_then(Json::as_u64).map(|id| MessageId::new(id.to_string())))
    }
}

/// The messages so far: a condensation takes some of them out and keeps the others.
#[derive(Default)]
pub(super) struct Kept {
    messages: Vec<Message>,
    places: HashMap<MessageId, usize>,
    /// Those whose ids are numbers, in the order of these.
    numbers: BTreeSet<u64>,
}

impl Kept {
    pub(super) fn put(&mut self, message: Message, out: &mut Out<'_>) {
        self.places.insert(message.id.clone(), self.messages.len());
        self.numbers.extend(message.id.as_str().parse::<u64>());
        self.messages.push(message.clone());
        out.put(message);
    }

    /// Adds to the last message.
    pub(super) fn extend_last(&mut self, parts: Vec<Part>, out: &mut Out<'_>) {
        if let Some(last) = self.messages.last_mut() {
            last.parts.extend(parts.iter().cloned());
            out.extend(last.id.clone(), parts);
        }
    }

    /// The messages whose ids are numbers from `start` to `end`.
    fn numbered(&self, start: u64, end: u64) -> HashSet<MessageId> {
        let numbers = (start <= end).then(|| self.numbers.range(start..=end));
        numbers.into_iter().flatten().map(|number| MessageId::new(number.to_string())).collect()
    }

    /// The transcript goes on without what was forgotten; the summary stands where that stood. Only what stands behind
    /// it is told again.
    pub(super) fn condense(
        &mut self,
        forgotten: &HashSet<MessageId>,
        summary: Option<String>,
        id: MessageId,
        event: &Object<'_>,
        out: &mut Out<'_>,
    ) {
        let place = forgotten.iter().filter_map(|id| self.places.get(id)).min().copied();
        let summary = summary.filter(|summary| !summary.is_empty());
        if place.is_none() && summary.is_none() {
            return out.skip("condensation");
        }
        let tail = self.messages.split_off(place.unwrap_or(self.messages.len()));
        out.compact(tail.first().map(|message| message.id.clone()));
        if let Some(summary) = summary {
            let mut message = Message::new(id, Role::User, vec![Part::text(Origin::Summary, summary)]);
            message.at = event.time("timestamp");
            self.put(message, out);
        }
        for message in tail {
            if forgotten.contains(&message.id) {
                self.places.remove(&message.id);
                if let Ok(number) = message.id.as_str().parse() {
                    self.numbers.remove(&number);
                }
            } else {
                self.put(message, out);
            }
        }
        out.end_compaction();
    }
}

fn read_head(record: &Object<'_>, out: &mut Out<'_>) {
    out.info.session_id = record.str("instance_id").map(str::to_string);
    let config = record.get("metadata").and_then(|metadata| metadata.get("llm_config"));
    out.note(None, config.and_then(|config| config.get("model")?.as_str()), None);
}

/// Reads a user's text. Benchmarks wrap the task into a template, and some answer the agent's questions themselves.
fn user_text(text: String) -> Vec<Part> {
    if FAKE_USER.iter().any(|start| text.starts_with(start)) {
        vec![Part::text(Origin::Hook, text)]
    } else if text.starts_with("<uploaded_files>") {
        split_task(&text)
    } else {
        split_user_text(text, &PLAIN)
    }
}

/// The message of a chat completion.
fn take_said<'a>(response: &mut Object<'a>) -> Option<Object<'a>> {
    let choice = response.take_array("choices")?.into_iter().next()?;
    choice.into_object()?.take_object("message")
}

fn read_status(observation: &str, event: &Object<'_>) -> ToolStatus {
    let extras = event.get("extras");
    let exit = extras
        .and_then(|extras| extras.get("metadata"))
        .and_then(|metadata| metadata.get("exit_code"))
        .or_else(|| extras?.get("exit_code"))
        .map(|code| match code {
            Json::Number(number) => number.as_i64(),
            _ => None,
        });
    match (observation, exit) {
        ("error", _) => ToolStatus::Failed,
        ("user_rejected", _) => ToolStatus::Cancelled,
        (_, Some(Some(0))) => ToolStatus::Succeeded,
        // Minus one means that the command had not finished yet.
        (_, Some(Some(-1) | None) | None) => ToolStatus::Unstated,
        (_, Some(Some(_))) => ToolStatus::Failed,
    }
}

/// Instructions and knowledge that the program loaded for the agent.
fn read_recall(mut extras: Object<'_>) -> Vec<Part> {
    let mut texts = Vec::new();
    for key in ["repo_instructions", "additional_agent_instructions"] {
        texts.extend(extras.take_string(key));
    }
    for knowledge in extras.take_array("microagent_knowledge").unwrap_or_default() {
        texts.extend(knowledge.into_object().and_then(|mut knowledge| knowledge.take_string("content")));
    }
    let texts = texts.into_iter().filter(|text| !text.trim().is_empty());
    texts.map(|text| Part::text(Origin::Memory, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::outline::{check_outline, read_text};
    use super::*;

    const ASKED: &str = r#"{"id":1,"source":"user","action":"message","args":{"content":"Rename it"}}"#;

    /// An action and its observation as the program writes them, the call being one of a model's answer.
    fn step(number: u64, exit_code: i64) -> String {
        let call = r#"{"id":"c1","function":{"name":"execute_bash","arguments":"{\"command\":\"ls\"}"}}"#;
        let metadata = format!(
            r#"{{"function_name":"execute_bash","tool_call_id":"c1","model_response":{{"id":"r1","model":"m-1",
                "choices":[{{"message":{{"content":"Look.","tool_calls":[{call}]}}}}],"usage":{{"prompt_tokens":9}}}}}}"#
        );
        format!(
            r#"{{"id":{number},"source":"agent","action":"run","tool_call_metadata":{metadata},
                "args":{{"command":"ls","thought":"Look.","is_input":false}}}},
               {{"id":{},"cause":{number},"source":"agent","observation":"run","tool_call_metadata":{metadata},
                "content":"a.py","extras":{{"metadata":{{"exit_code":{exit_code}}}}}}}"#,
            number + 1
        )
    }

    #[track_caller]
    fn check(events: &str, expected: &[&str]) {
        check_outline(&format!("[{events}]"), Format::OpenHands, expected);
    }

    #[test]
    fn actions_are_calls_and_observations_results() {
        let call = [r#"model: Look."#, r#"call c1 execute_bash {"command":"ls"}"#];
        for (exit_code, status) in [(0, "Succeeded"), (2, "Failed"), (-1, "Unstated")] {
            let result = format!("result c1 {status} a.py");
            check(
                &format!("{ASKED},{}", step(2, exit_code)),
                &["user: Rename it", call[0], call[1], &result],
            );
        }
        let session = read_text(&format!("[{}]", step(2, 0)));
        assert_eq!(session.info.models, ["m-1"]);
        assert!(session.info.last_usage.is_some());
    }

    #[test]
    fn without_the_models_answer_the_events_tie_call_and_result() {
        check(
            r#"{"id":4,"source":"agent","action":"run","args":{"command":"ls","thought":"Look."}},
               {"id":5,"source":"agent","cause":4,"observation":"run","content":"a.py","extras":{"exit_code":0}},
               {"id":6,"source":"agent","observation":"error","content":"No such command","extras":{}},
               {"id":7,"source":"agent","action":"think","args":{"thought":"Hm"}}"#,
            &[
                "model: Look.",
                r#"call lh-call-4 run {"command":"ls"}"#,
                "result lh-call-4 Succeeded a.py",
                "tool: No such command",
                r#"call lh-call-7 think {"thought":"Hm"}"#,
            ],
        );
    }

    #[test]
    fn only_people_are_users() {
        check(
            r#"{"id":1,"source":"user","action":"message","args":{"content":"<uploaded_files>\n/w\n</uploaded_files>\n<issue_description>It breaks</issue_description>\nGo."}},
               {"id":2,"source":"environment","cause":1,"observation":"recall","content":"Added workspace context",
                "extras":{"repo_instructions":"","microagent_knowledge":[{"name":"github","content":"Use the API"}]}},
               {"id":3,"source":"user","action":"message","args":{"content":"Please continue working on the task on whatever approach you think is suitable.\nNever ask."}},
               {"id":4,"source":"user","message":"Running command: ls","action":"run","args":{"command":"ls"}},
               {"id":5,"source":"user","cause":4,"observation":"run","content":"a.py","extras":{}}"#,
            &[
                "hook: <uploaded_files>\n/w\n</uploaded_files>\n<issue_description>",
                "user: It breaks",
                "hook: </issue_description>\nGo.",
                "memory: Use the API",
                "hook: Please continue working on the task on whatever approach you think is suitable.\nNever ask.",
                "hook: Running command: ls",
                "tool: a.py",
            ],
        );
    }

    #[test]
    fn a_condensation_replaces_what_it_forgets() {
        let condensation = r#"{"id":9,"source":"agent","action":"condensation","args":{"forgotten_event_ids":null,
            "forgotten_events_start_id":2,"forgotten_events_end_id":3,"summary":"Looked.","summary_offset":1}}"#;
        let last = r#"{"id":4,"source":"agent","action":"message","args":{"content":"Done."}}"#;
        let file = format!("{ASKED},{},{last},{condensation}", step(2, 0));
        check(&file, &["user: Rename it", "summary: Looked.", "model: Done."]);
        assert_eq!(read_text(&format!("[{file}]")).info.compactions, 1);
        let listed = condensation.replace("null", "[1,3]").replace("start_id", "x").replace("end_id", "y");
        check(
            &format!("{ASKED},{},{listed}", step(2, 0)),
            &["summary: Looked.", "model: Look.", r#"call c1 execute_bash {"command":"ls"}"#],
        );
    }

    #[test]
    fn many_condensations_take_no_longer_than_as_many_messages() {
        let mut file = ASKED.to_string();
        for number in (2..20_000).step_by(3) {
            let (said, end) = (number + 1, number + 2);
            file += &format!(
                r#",{{"id":{number},"source":"agent","action":"message","args":{{"content":"forgotten"}}}},
                {{"id":{said},"source":"agent","action":"message","args":{{"content":"kept"}}}},
                {{"id":{end},"source":"agent","action":"condensation","args":{{"forgotten_events_start_id":2,
                "forgotten_events_end_id":{number},"summary":"Said."}}}}"#
            );
        }
        let session = read_text(&format!("[{file}]"));
        // The first summary is forgotten by the next condensation, and so on; the last two messages are left.
        assert_eq!(session.info.compactions, 6666);
        let texts: Vec<_> = session.transcript.messages().iter().map(|message| &message.parts).collect();
        assert_eq!(texts.len(), 3);
    }

    #[test]
    fn calls_without_any_id_are_told_apart() {
        let call = r#"{"source":"agent","action":"run","args":{"command":"ls"}}"#;
        let condensation =
            r#"{"source":"agent","action":"condensation","args":{"forgotten_event_ids":[1],"summary":""}}"#;
        let session = read_text(&format!("[{ASKED},{call},{condensation},{call}]"));
        let calls = session.transcript.messages().iter().flat_map(Message::calls);
        let ids: HashSet<&CallId> = calls.map(|call| &call.id).collect();
        assert_eq!(ids.len(), 2);
    }

    #[test]
    fn an_evaluation_holds_one_conversation_a_line() {
        let record = |id: &str, history: &str| {
            let history = history.replace('\n', " ");
            format!(
                r#"{{"instance_id":"{id}","instruction":"Fix it","metadata":{{"llm_config":{{"model":"m-0"}}}},"history":[{history}]}}"#
            )
        };
        let file = format!("{}\n{}\n", record("first", &step(2, 0)), record("second", ASKED));
        let session = read_text(&file);
        assert_eq!(session.info.session_id.as_deref(), Some("first"));
        assert_eq!(session.transcript.messages().len(), 3);
        assert_eq!(session.transcript.messages()[0].parts, [Part::user_text("Fix it")]);
        assert_eq!(
            session.warnings[0].to_string(),
            "line 2: second skipped: only the first conversation of a file is read"
        );
        let said = read_text(&record("first", ASKED));
        assert_eq!(said.transcript.messages().len(), 1);
    }

    #[test]
    fn bookkeeping_is_counted() {
        let session = read_text(
            r#"[{"id":0,"source":"environment","observation":"agent_state_changed","content":"","extras":{}},
                {"id":1,"source":"environment","action":"change_agent_state","args":{}},
                {"id":2,"source":"agent","action":"system","args":{"content":"Rules","tools":[{"function":{"name":"ls"}}]}}, 7]"#,
        );
        let skipped: Vec<_> = session.info.skipped.iter().collect();
        assert_eq!(skipped, [("action:change_agent_state", 1), ("observation:agent_state_changed", 1)]);
        assert_eq!(session.info.system, [Part::text(Origin::Hook, "Rules")]);
        assert_eq!(session.info.tools[0].name, "ls");
        assert_eq!(session.warnings.len(), 1);
    }
}
