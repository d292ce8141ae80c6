//! Reads mini-swe-agent trajectories: chats in which the model writes its commands into its text.
//!
//! A fenced block becomes a call of `bash`, and the user message behind it the result. In the interactive agent a
//! person can refuse a command, interrupt, or add a task; what they typed stands behind fixed words.

use longhaul_conversation::{
    CallId, Message, Origin, Output, Part, Role, Timestamp, ToolCall, ToolStatus, Usage,
};
use longhaul_wire::{Json, Object, PLAIN, chat_usage, each_object, split_user_text};
use serde_json::json;

use super::chat_pieces::{read_answer, read_call, read_content};
use super::task::split_task;
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::MiniSweAgent,
    is_record: |record| is_trajectory(record),
    is_document: |document| match document {
        Json::Object(document) => is_trajectory(document),
        list => list.as_array().is_some_and(is_command_chat),
    },
    open: || Box::new(MiniSwe::default()),
    unread: &[],
};

/// The openings of blocks that hold a command.
const FENCES: &[&str] = &["```mswea_bash_command\n", "```bash\n"];

/// The words before what a person typed, and whether the command before them was not run.
const TYPED: &[(&str, bool)] = &[
    ("Command not executed. The user rejected your command with the following message: ", true),
    ("Interrupted by user: ", true),
    ("The user added a new task: ", false),
];

fn is_trajectory(document: &Object<'_>) -> bool {
    let named = document.str("trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent"))
        || document.get("info").is_some_and(|info| info.get("mini_version").is_some());
    named && document.get("messages").and_then(Json::as_array).is_some()
}

/// True if commands in the model's text are answered by return codes, which ordinary chats have not.
fn is_command_chat(messages: &[Json<'_>]) -> bool {
    let text = |message: &Json<'_>, role: &str| {
        let is_role = message.get("role").and_then(Json::as_str) == Some(role);
        message.get("content").and_then(Json::as_str).filter(|_| is_role).map(str::to_string)
    };
    messages.windows(2).any(|pair| {
        text(&pair[0], "assistant").is_some_and(|said| find_command(&said).is_some())
            && text(&pair[1], "user").is_some_and(|answer| {
                answer.starts_with("<returncode>")
                    || answer.starts_with("Observation:") && answer.contains("<returncode>")
            })
    })
}

#[derive(Default)]
struct MiniSwe {
    has_task: bool,
    commands: usize,
    /// The command that was written into the last text and has no result yet.
    open: Option<CallId>,
}

impl Reader for MiniSwe {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let messages = match record {
            list @ (Json::Array(_) | Json::List(_)) => list.into_list().unwrap_or_default(),
            Json::Object(mut document) => {
                read_head(&document, out);
                document.take_list("messages").unwrap_or_default()
            }
            other => return out.warn(format!("expected messages, found {}; skipped", other.kind())),
        };
        each_object(messages, "messages", out, |message, _, out| self.message(message, out));
    }
}

impl MiniSwe {
    fn message(&mut self, mut message: Object<'_>, out: &mut Out<'_>) {
        let extra = message.take_object("extra").unwrap_or_default();
        let (role, parts) = match message.take_string("role").as_deref() {
            Some("system") => {
                return out.info.system.extend(read_content(message.take("content"), Origin::Hook));
            }
            Some("assistant") => (Role::Model, self.model(&mut message)),
            Some("user") => (Role::User, self.user(&mut message)),
            Some("tool") => {
                self.open = None;
                (Role::User, vec![read_result(&mut message, &extra)])
            }
            Some(role) => return out.skip(role),
            None => return out.warn("message without a role; skipped"),
        };
        let mut read = Message::new(out.made_up_id(), role, parts);
        (read.at, read.model, read.usage) = read_extra(&extra);
        out.put(read);
    }

    fn model(&mut self, message: &mut Object<'_>) -> Vec<Part> {
        self.open = None;
        let calls = message.take_array("tool_calls").unwrap_or_default();
        let mut parts = read_content(message.take("content"), Origin::Model);
        if !calls.is_empty() {
            let calls = calls.into_iter().filter_map(Json::into_object);
            parts.extend(calls.map(|call| Part::call(read_call(call, || self.next_id()))));
            return parts;
        }
        let found = parts.iter().enumerate().find_map(|(place, part)| {
            let text = part.as_text()?;
            let (before, command, behind) = find_command(text)?;
            Some((place, [before, command, behind].map(str::to_string)))
        });
        if let Some((place, [before, command, behind])) = found {
            let id = self.next_id();
            self.open = Some(id.clone());
            let call = Part::call(ToolCall::new(id, "bash").with_args(json!({ "command": command })));
            let pieces = [Part::model_text(before), Part::model_text(behind), call];
            parts.splice(place..=place, pieces.into_iter().filter(|part| !part.is_empty()));
        }
        parts
    }

    fn user(&mut self, message: &mut Object<'_>) -> Vec<Part> {
        let open = self.open.take();
        if !self.has_task {
            self.has_task = true;
            let parts = read_content(message.take("content"), Origin::User);
            let split = |part: Part| part.as_text().map(split_task).unwrap_or_else(|| vec![part.clone()]);
            return parts.into_iter().flat_map(split).collect();
        }
        let typed = message.str("content").and_then(|text| {
            let (words, refuses) = TYPED.iter().find(|(words, _)| text.starts_with(words))?;
            Some((words.to_string(), text[words.len()..].to_string(), *refuses))
        });
        match (open, typed) {
            (Some(call), Some((words, typed, true))) => {
                let refused =
                    read_answer(call, Some(Json::String(words.trim_end().into()))).with_name("bash");
                let mut parts = vec![Part::result(refused.with_status(ToolStatus::Cancelled))];
                parts.extend(split_user_text(typed, &PLAIN));
                parts
            }
            (Some(call), None) => {
                let mut result = read_answer(call, message.take("content")).with_name("bash");
                if let Output::Text(text) = &result.output {
                    result.status = read_status(text);
                }
                vec![Part::result(result)]
            }
            (_, Some((words, typed, _))) => {
                let mut parts = vec![Part::text(Origin::Hook, words)];
                parts.extend(split_user_text(typed, &PLAIN));
                parts
            }
            // The program asks for another format, or says that a limit was reached.
            (None, None) => read_content(message.take("content"), Origin::Hook),
        }
    }

    fn next_id(&mut self) -> CallId {
        self.commands += 1;
        CallId::made_up(self.commands)
    }
}

/// The text before the last command block, the command, and the text behind it.
fn find_command(text: &str) -> Option<(&str, &str, &str)> {
    let (start, fence) = FENCES
        .iter()
        .filter_map(|fence| Some((text.rfind(fence)?, fence)))
        .max_by_key(|(start, _)| *start)?;
    let inner = &text[start + fence.len()..];
    let end = inner.find("\n```")?;
    Some((text[..start].trim_end(), &inner[..end], inner[end + "\n```".len()..].trim()))
}

/// The outcome that the answer states in `<returncode>`.
fn read_status(text: &str) -> ToolStatus {
    let code = text.split_once("<returncode>").and_then(|(_, rest)| rest.split_once("</returncode>"));
    match code.map(|(code, _)| code.trim()) {
        Some("0") => ToolStatus::Succeeded,
        Some(_) => ToolStatus::Failed,
        None => ToolStatus::Unstated,
    }
}

fn read_result(message: &mut Object<'_>, extra: &Object<'_>) -> Part {
    let call = CallId::new(message.take_string("tool_call_id").unwrap_or_default());
    let mut result = read_answer(call, message.take("content"));
    result.name = message.take_string("name");
    result.status = match extra.get("returncode") {
        Some(Json::Number(code)) if code.as_i64() == Some(0) => ToolStatus::Succeeded,
        Some(Json::Number(_)) => ToolStatus::Failed,
        _ => ToolStatus::Unstated,
    };
    Part::result(result)
}

fn read_head(document: &Object<'_>, out: &mut Out<'_>) {
    out.info.session_id = document.str("instance_id").map(str::to_string);
    let config = document.get("info").and_then(|info| info.get("config"));
    let model = config.and_then(|config| config.get("model")?.get("model_name")?.as_str());
    out.note(None, model, None);
    let directory = config.and_then(|config| config.get("environment")?.get("cwd")?.as_str());
    out.info.directory = directory.filter(|directory| !directory.is_empty()).map(str::to_string);
}

/// When a message was made, by which model, and at what cost.
fn read_extra(extra: &Object<'_>) -> (Option<Timestamp>, Option<String>, Option<Box<Usage>>) {
    let response = extra.get("response");
    let model = response.and_then(|response| response.get("model")?.as_str()).map(str::to_string);
    let usage = response.and_then(|response| chat_usage(response.get("usage")?));
    (extra.time("timestamp"), model, usage.map(Box::new))
}

#[cfg(test)]
mod tests {
    use super::super::outline::{check_outline, read_text};
    use super::*;

    #[track_caller]
    fn check(messages: &str, expected: &[&str]) {
        let file = format!(r#"{{"trajectory_format": "mini-swe-agent-1", "messages": [{messages}]}}"#);
        check_outline(&file, Format::MiniSweAgent, expected);
    }

    const STEP: &str = r#"{"role":"system","content":"Rules"},{"role":"user","content":"Please solve this issue: Fix"},
        {"role":"assistant","content":"Look.\n\n```bash\nls\n```\nThen we see."},
        {"role":"user","content":"<returncode>1</returncode>\n<output>\nno</output>"}"#;
    const STEP_READ: &[&str] = &[
        "hook: Please solve this issue: ",
        "user: Fix",
        "model: Look.",
        "model: Then we see.",
        r#"call lh-call-1 bash {"command":"ls"}"#,
        "result lh-call-1 Failed <returncode>1</returncode>\n<output>\nno</output>",
    ];

    #[test]
    fn a_command_in_the_text_is_a_call() {
        check(STEP, STEP_READ);
        check_outline(&format!("[{STEP}]"), Format::MiniSweAgent, STEP_READ);
    }

    #[test]
    fn the_last_block_is_the_command() {
        let blocks = "Not\n```bash\nrm\n```\nbut\n```mswea_bash_command\nls\n\npwd\n```";
        assert_eq!(find_command(blocks), Some(("Not\n```bash\nrm\n```\nbut", "ls\n\npwd", "")));
        assert_eq!(find_command("```bash\nnever closed"), None);
        assert_eq!(find_command("```python\nx\n```"), None);
    }

    #[test]
    fn what_a_person_typed_into_a_run_is_theirs() {
        let rest = r#",{"role":"assistant","content":"```bash\nrm a\n```"},
            {"role":"user","content":"Command not executed. The user rejected your command with the following message: keep it"},
            {"role":"assistant","content":"Just text"},
            {"role":"user","content":"Please always provide one action"},
            {"role":"user","content":"The user added a new task: also test it"},
            {"role":"exit","content":"done"}"#;
        let mut expected = STEP_READ.to_vec();
        expected.extend([
            r#"call lh-call-2 bash {"command":"rm a"}"#,
            "result lh-call-2 Cancelled Command not executed. The user rejected your command with the following message:",
            "user: keep it",
            "model: Just text",
            "hook: Please always provide one action",
            "hook: The user added a new task: ",
            "user: also test it",
        ]);
        check(&format!("{STEP}{rest}"), &expected);
    }

    #[test]
    fn tool_calls_are_calls() {
        check(
            r#"{"role":"user","content":"Fix"},
               {"role":"assistant","content":"Look.","tool_calls":[
                {"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],
                "extra":{"timestamp":1757015046.7,"response":{"model":"m-1","usage":{"prompt_tokens":5}}}},
               {"role":"tool","tool_call_id":"c1","content":"a","extra":{"returncode":0}}"#,
            &["user: Fix", "model: Look.", r#"call c1 bash {"command":"ls"}"#, "result c1 Succeeded a"],
        );
    }

    #[test]
    fn ordinary_chats_are_not_claimed() {
        for chat in [
            r#"[{"role":"user","content":"How do I list files?"},{"role":"assistant","content":"```bash\nls\n```"},
                {"role":"user","content":"Observation: thanks"}]"#,
            r#"{"messages":[{"role":"user","content":"Hi"}],"info":{}}"#,
            "[]",
        ] {
            assert!(!(KNOWN.is_document)(&Json::parse(chat).expect("the test gives JSON")), "{chat}");
        }
    }

    #[test]
    fn the_head_names_the_model() {
        let session = read_text(
            r#"{"info":{"mini_version":"2.0","config":{"model":{"model_name":"m-1"},"environment":{"cwd":"/testbed"}}},
                "instance_id":"django-1","messages":[{"role":"user","content":"Fix"}]}"#,
        );
        assert_eq!(session.info.model(), Some("m-1"));
        assert_eq!(session.info.session_id.as_deref(), Some("django-1"));
        assert_eq!(session.info.directory.as_deref(), Some("/testbed"));
    }
}
