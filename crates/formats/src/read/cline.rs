//! Reads Cline sessions: the document with a header that newer versions write, and the bare list of older ones.
//!
//! Older versions had no structured calls: tools answer in user texts that start with `[tool for 'x'] Result:`, and
//! people speak inside tags. Both decide who produced a text.

use longhaul_conversation::{
    Body, Media, MediaData, Message, MessageId, Origin, Output, Part, Role, TokenCount, ToolStatus, Usage,
    Vendor,
};
use longhaul_wire::anthropic::read_block;

use super::{Known, Reader};
use longhaul_wire::{Json, Object, OriginRules, each_object, split_by_tags, split_user_text};

use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known =
    Known { format: Format::Cline, is_record: |_| false, is_document, open: || Box::new(Cline), unread: &[] };

/// Text that Cline puts into user messages.
const ORIGINS: OriginRules = OriginRules {
    tags: &[
        ("environment_details", Origin::Hook),
        ("explicit_instructions", Origin::Hook),
        ("hook_context", Origin::Hook),
        ("mode_notice", Origin::Hook),
        ("SYSTEM_NOTICE", Origin::Hook),
        ("user_command", Origin::Memory),
        ("file_content", Origin::Tool),
        ("final_file_content", Origin::Tool),
        ("folder_content", Origin::Tool),
        ("url_content", Origin::Tool),
        ("terminal_output", Origin::Tool),
        ("workspace_diagnostics", Origin::Tool),
        ("git_working_state", Origin::Tool),
        ("git_commit", Origin::Tool),
    ],
    typed: &["task", "user_input", "user_message", "feedback", "answer"],
    starts: &[
        ("This session is being continued from a previous conversation", Origin::Summary),
        ("[TASK RESUMPTION]", Origin::Hook),
        ("New instructions for task continuation:", Origin::Hook),
        ("New message to respond to with plan_mode_respond", Origin::Hook),
        ("[ERROR] You did not use a tool", Origin::Hook),
        ("[NOTE] Some previous conversation history", Origin::Hook),
        ("You seem to be having trouble proceeding.", Origin::Hook),
        ("# task_progress", Origin::Hook),
        ("# TODO LIST UPDATE REQUIRED", Origin::Hook),
        ("[[NOTE] This file read has been removed", Origin::Tool),
        ("The tool execution failed with the following error:", Origin::Tool),
        ("The user denied this operation", Origin::Tool),
        ("The user provided the following feedback:", Origin::Tool),
    ],
};

/// The same inside a tool's answer, where a tag around typed text is more likely part of a file.
const IN_ANSWER: OriginRules = OriginRules { tags: ORIGINS.tags, typed: &[], starts: &[] };

fn is_document(document: &Json<'_>) -> bool {
    match document {
        Json::Object(fields) => {
            let is_message = |message: &Json<'_>| message.get("role").is_some();
            let messages = fields.get("messages").and_then(Json::as_array);
            fields.has("version")
                && (fields.has("sessionId") || fields.has("system_prompt"))
                && messages.is_some_and(|messages| messages.iter().all(is_message))
        }
        // The bare list is one of Anthropic messages; only what Cline wraps around the first one gives it away.
        list => list.as_array().and_then(<[_]>::first).and_then(first_text).is_some_and(|text| {
            let opens = ["<task>", "<user_input mode=", "<user_message>"];
            opens.iter().any(|open| text.trim_start().starts_with(open))
        }),
    }
}

fn first_text<'a>(message: &'a Json<'_>) -> Option<&'a str> {
    match message.get("content")? {
        Json::String(text) => Some(text),
        Json::Array(blocks) => blocks.first()?.get("text")?.as_str(),
        _ => None,
    }
}

struct Cline;

impl Reader for Cline {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let messages = match record {
            Json::Object(mut document) => {
                out.info.session_id = document.take_string("sessionId");
                let system = document.take_string("system_prompt");
                out.info.system.extend(system.map(|text| Part::text(Origin::Hook, text)));
                document.take_list("messages")
            }
            messages => messages.into_list(),
        };
        each_object(messages.unwrap_or_default(), "messages", out, read_message);
    }
}

fn read_message(mut message: Object<'_>, place: usize, out: &mut Out<'_>) {
    let metadata = message.take_object("metadata").unwrap_or_default();
    if metadata.is_true("displayOnly") {
        return out.skip("message:displayOnly");
    }
    let role = match message.str("role") {
        Some("assistant") => Role::Model,
        Some("user") => Role::User,
        other => {
            let other = other.unwrap_or_default();
            out.warn(format!("messages[{place}]: unknown role {other:?}; read as user"));
            Role::User
        }
    };
    let mut texts = Texts { whole: origin_of_whole(&metadata), answering: None };
    let parts = match message.take("content") {
        Some(Json::String(text)) => texts.read(text.into_owned(), role),
        Some(Json::Array(blocks)) => {
            blocks.into_iter().flat_map(|block| texts.read_block(block, role)).collect()
        }
        other => {
            let kind = other.as_ref().map_or("missing", Json::kind);
            out.warn(format!("messages[{place}]: content is {kind}; ignored"));
            Vec::new()
        }
    };
    let id = message.take_string("id").map(MessageId::new);
    let mut read = Message::new(out.unused_id(id), role, parts);
    read.at = message.time("ts");
    if let Some(model) = message.get("modelInfo").filter(|_| role == Role::Model) {
        let name = model.get("id").or_else(|| model.get("modelId")).and_then(Json::as_str);
        read.model = name.map(str::to_string);
    }
    read.usage = message.get("metrics").and_then(read_usage).map(Box::new);
    out.put(read);
}

/// The origin of a message that the program wrote on the user's side.
fn origin_of_whole(metadata: &Object<'_>) -> Option<Origin> {
    if metadata.str("kind").is_some_and(|kind| kind.starts_with("compaction")) {
        return Some(Origin::Summary);
    }
    (metadata.str("displayRole") == Some("system")).then_some(Origin::Hook)
}

/// Reads the texts of one message, each of which may depend on the one before it.
struct Texts {
    /// The origin of the whole message, where it is known.
    whole: Option<Origin>,
    /// The tool whose answer has begun; its texts follow in blocks of their own.
    answering: Option<Answering>,
}

impl Texts {
    fn read_block(&mut self, block: Json<'_>, role: Role) -> Vec<Part> {
        let mut block = match block {
            Json::Object(block) => block,
            Json::String(text) => return self.read(text.into_owned(), role),
            other => return read_block(other, role, self.whole),
        };
        match block.str("type") {
            Some("text") if block.str("text").is_some() => {
                self.read(block.take_string("text").unwrap_or_default(), role)
            }
            Some("file") if block.str("content").is_some() => {
                block.take("type");
                let text = block.take_string("content").unwrap_or_default();
                vec![Part::text(Origin::Tool, text).with_extra(Vendor::Agent, block.into_map())]
            }
            Some("image") if block.str("data").is_some() => {
                let mime = block.take_string("mediaType").unwrap_or_default();
                let data = MediaData::Base64(block.take_string("data").unwrap_or_default());
                let origin =
                    self.whole.unwrap_or(if role == Role::User { Origin::User } else { Origin::Model });
                vec![Part::new(origin, Body::Media(Box::new(Media { mime, data })))]
            }
            Some("tool_result") => read_result(block),
            _ => read_block(Json::Object(block), role, self.whole),
        }
    }

    fn read(&mut self, text: String, role: Role) -> Vec<Part> {
        if role == Role::Model {
            return vec![Part::model_text(text)];
        }
        if let Some(origin) = self.whole {
            return vec![Part::text(origin, text)];
        }
        let header = answer_after_header(&text);
        let body = header.map_or(text.as_str(), |(_, body)| body);
        // What was read from elsewhere may look like another tool's answer.
        let source = self.answering.filter(|answering| *answering == Answering::Source);
        let answering = source.or(header.map(|(tool, _)| Answering::of(tool))).or(self.answering);
        let quotes_a_person = answering.is_some_and(|answering| answering.quotes_a_person(body));
        let is_answer = answering.is_some();
        self.answering = answering;
        if is_answer && !quotes_a_person {
            return split_by_tags(text, Origin::Tool, &IN_ANSWER);
        }
        let start = ORIGINS.starts.iter().find(|(start, _)| text.trim_start().starts_with(start));
        let outside = match start {
            Some((_, origin)) => *origin,
            None if is_answer => Origin::Tool,
            None => Origin::User,
        };
        // What a person typed may again have notices inside.
        let split_typed = |part: Part| match part {
            Part { origin: Origin::User, body: Body::Text(text), .. } => {
                split_by_tags(text, Origin::User, &IN_ANSWER)
            }
            part => vec![part],
        };
        let parts = match outside {
            Origin::User => split_user_text(text, &ORIGINS),
            outside => split_by_tags(text, outside, &ORIGINS),
        };
        parts.into_iter().flat_map(split_typed).collect()
    }
}

/// The tool's name in the line `[tool for 'x'] Result:` that opens a tool's answer, if `text` starts with one, and what follows.
fn answer_after_header(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('[')?;
    let (name, body) = rest.split_once("] Result:")?;
    let name = name.split([' ', '\n']).next().unwrap_or_default();
    let is_tool = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_tool.then_some((name, body))
}

/// The content of a tool's answer.
#[derive(Clone, Copy, PartialEq)]
enum Answering {
    /// A person's answer to the model.
    Person,
    /// The tool's output, or a person's reason to refuse it.
    Action,
    /// Text from elsewhere, whatever it looks like.
    Source,
}

/// Tools that ask a person.
const ASKING: &[&str] = &[
    "ask_followup_question",
    "plan_mode_respond",
    "act_mode_respond",
    "attempt_completion",
    "new_task",
    "condense",
];

/// Tools that only bring in text from elsewhere.
const READING: &[&str] = &[
    "read_file",
    "list_files",
    "search_files",
    "list_code_definition_names",
    "browser_action",
    "use_mcp_tool",
    "access_mcp_resource",
    "load_mcp_documentation",
    "web_fetch",
    "web_search",
    "use_skill",
];

impl Answering {
    fn of(tool: &str) -> Self {
        match tool {
            _ if ASKING.contains(&tool) => Self::Person,
            _ if READING.contains(&tool) => Self::Source,
            _ => Self::Action,
        }
    }

    /// True if an answer is what a person said to the tool. It begins with that: what stands further behind may come from a
    /// file or a command.
    fn quotes_a_person(self, answer: &str) -> bool {
        let answer = answer.trim_start();
        let is_refused = || {
            let first = answer.split_once("the following feedback:\n<feedback>").map(|(first, _)| first);
            first.is_some_and(|first| first.starts_with("The user ") && !first.contains('\n'))
        };
        match self {
            Self::Person => {
                ["<answer>", "<feedback>", "<user_message>"].iter().any(|open| answer.starts_with(open))
                    || is_refused()
            }
            Self::Action => is_refused(),
            Self::Source => false,
        }
    }
}

fn read_result(mut block: Object<'_>) -> Vec<Part> {
    let name = block.take_string("name");
    let went_well = block.get("content").and_then(read_success);
    // Several answers in one are a list of structures instead of content blocks.
    let is_structure = |content: &Json<'_>| match content {
        Json::Array(items) => !items.is_empty() && items.iter().all(|item| item.get("type").is_none()),
        _ => false,
    };
    let structure = block.get("content").is_some_and(is_structure).then(|| block.take("content")).flatten();
    let mut parts = read_block(Json::Object(block), Role::User, None);
    if let Some(Part { body: Body::Result(result), .. }) = parts.first_mut() {
        result.name = name;
        if let Some(structure) = structure {
            result.output = Output::Structured(structure.into_value());
        }
        result.status = match (result.status, went_well) {
            (ToolStatus::Unstated, Some(true)) => ToolStatus::Succeeded,
            (ToolStatus::Unstated, Some(false)) => ToolStatus::Failed,
            (status, _) => status,
        };
    }
    parts
}

/// True if an answer says of itself that it succeeded, as an object, a list of them, or JSON in a text.
fn read_success(content: &Json<'_>) -> Option<bool> {
    match content {
        Json::Object(answer) => answer.get("success")?.as_bool(),
        Json::Array(answers) => {
            let told: Option<Vec<bool>> = answers.iter().map(read_success).collect();
            told.filter(|told| !told.is_empty()).map(|told| told.iter().all(|success| *success))
        }
        Json::String(text) if text.starts_with('{') => Json::parse(text).ok()?.get("success")?.as_bool(),
        _ => None,
    }
}

/// Cline counts cached tokens into the input.
fn read_usage(metrics: &Json<'_>) -> Option<Usage> {
    let older = metrics.get("tokens");
    let count = |key: &str, older_key: &str| {
        let value = metrics.get(key).or_else(|| older?.get(older_key))?;
        value.as_u64().map(TokenCount)
    };
    let usage = Usage {
        input: count("inputTokens", "prompt"),
        output: count("outputTokens", "completion"),
        cached: count("cacheReadTokens", "cached"),
        ..Usage::default()
    };
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Session, read_session};

    fn read(text: &str) -> Session {
        read_session(text.as_bytes()).expect("it is a session")
    }

    /// The texts of a user's message with who produced each; blank pieces go with their neighbours.
    #[track_caller]
    fn check_origins(texts: &[&str], expected: &[(Origin, &str)]) {
        let mut reader = Texts { whole: None, answering: None };
        let parts: Vec<Part> =
            texts.iter().flat_map(|text| reader.read(text.to_string(), Role::User)).collect();
        let seen: Vec<_> =
            parts.iter().map(|part| (part.origin, part.as_text().unwrap_or_default().trim())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn people_speak_inside_tags() {
        check_origins(&["fix the bug"], &[(Origin::User, "fix the bug")]);
        check_origins(&["[ERROR] no such crate. Why?"], &[(Origin::User, "[ERROR] no such crate. Why?")]);
        check_origins(
            &[
                "<task>\nfix it\n</task>",
                "# task_progress RECOMMENDED\n...",
                "<environment_details>\nx</environment_details>",
            ],
            &[
                (Origin::Hook, "<task>"),
                (Origin::User, "fix it"),
                (Origin::Hook, "</task>"),
                (Origin::Hook, "# task_progress RECOMMENDED\n..."),
                (Origin::Hook, "<environment_details>\nx</environment_details>"),
            ],
        );
        check_origins(
            &["<user_input mode=\"act\"><mode_notice>now act</mode_notice>go on</user_input>"],
            &[
                (Origin::Hook, "<user_input mode=\"act\">"),
                (Origin::Hook, "<mode_notice>now act</mode_notice>"),
                (Origin::User, "go on"),
                (Origin::Hook, "</user_input>"),
            ],
        );
        check_origins(
            &[
                "[TASK RESUMPTION] Interrupted.\n\nNew instructions:\n<user_message>\nuse tabs\n</user_message>",
            ],
            &[
                (Origin::Hook, "[TASK RESUMPTION] Interrupted.\n\nNew instructions:\n<user_message>"),
                (Origin::User, "use tabs"),
                (Origin::Hook, "</user_message>"),
            ],
        );
    }

    #[test]
    fn tools_answer_in_texts() {
        check_origins(
            &[
                "[read_file for 'a.rs'] Result:",
                "<task>from the file</task>",
                "<environment_details>x</environment_details>",
            ],
            &[
                (Origin::Tool, "[read_file for 'a.rs'] Result:"),
                (Origin::Tool, "<task>from the file</task>"),
                (Origin::Hook, "<environment_details>x</environment_details>"),
            ],
        );
        check_origins(
            &["[ask_followup_question for 'which?'] Result:\n<answer>\nthe second\n</answer>"],
            &[
                (Origin::Tool, "[ask_followup_question for 'which?'] Result:"),
                (Origin::Hook, "<answer>"),
                (Origin::User, "the second"),
                (Origin::Hook, "</answer>"),
            ],
        );
        check_origins(
            &[
                "[execute_command for 'ls'] Result:",
                "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>",
            ],
            &[
                (Origin::Tool, "[execute_command for 'ls'] Result:"),
                (Origin::Tool, "The user denied this operation and provided the following feedback:"),
                (Origin::Hook, "<feedback>"),
                (Origin::User, "no"),
                (Origin::Hook, "</feedback>"),
            ],
        );
        check_origins(&["[1] Result: what?"], &[(Origin::User, "[1] Result: what?")]);
        check_origins(&["[see this] and that"], &[(Origin::User, "[see this] and that")]);
    }

    #[test]
    fn attached_files_are_no_words_of_the_user() {
        check_origins(
            &["see 'a.rs'\n\n<file_content path=\"a.rs\">\nfn a() {}\n</file_content>"],
            &[
                (Origin::User, "see 'a.rs'"),
                (Origin::Tool, "<file_content path=\"a.rs\">\nfn a() {}\n</file_content>"),
            ],
        );
    }

    #[test]
    fn a_session_is_read_with_its_calls() {
        let session = read(
            r#"{"version": 1, "sessionId": "s1", "system_prompt": "You are helpful.", "messages": [
                {"id": "u1", "role": "user", "ts": 1784094124598, "content": [
                    {"type": "text", "text": "change it"}, {"type": "file", "path": "/a.rs", "content": "fn a() {}"}]},
                {"id": "a1", "role": "assistant", "modelInfo": {"id": "claude"},
                 "metrics": {"inputTokens": 50, "outputTokens": 7, "cacheReadTokens": 40},
                 "content": [{"type": "tool_use", "id": "c1", "name": "edit", "input": {"x": 1}},
                             {"type": "tool_use", "id": "c2", "name": "read", "input": {}}]},
                {"id": "u2", "role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "name": "edit", "content": "{\"success\":true}"},
                    {"type": "tool_result", "tool_use_id": "c2", "name": "read",
                     "content": [{"query": "/a.rs", "result": "gone", "success": false}]}]},
                {"id": "x", "role": "assistant", "metadata": {"displayOnly": true}, "content": "shown only"}]}"#,
        );
        assert_eq!(session.info.format, Format::Cline);
        assert_eq!(session.info.session_id.as_deref(), Some("s1"));
        assert_eq!(session.info.system[0].as_text(), Some("You are helpful."));
        assert_eq!(session.info.model(), Some("claude"));
        assert_eq!(session.info.skipped.total(), 1);
        let [asked, called, answered] = session.transcript.messages() else { panic!("three messages") };
        assert!(asked.at.is_some());
        let origins: Vec<_> = asked.parts.iter().map(|part| part.origin).collect();
        assert_eq!(origins, [Origin::User, Origin::Tool]);
        assert_eq!(called.usage.as_ref().and_then(|usage| usage.input), Some(TokenCount(50)));
        assert_eq!(called.calls().count(), 2);
        let results: Vec<_> =
            answered.results().map(|result| (result.name.as_deref(), result.status)).collect();
        assert_eq!(results, [(Some("edit"), ToolStatus::Succeeded), (Some("read"), ToolStatus::Failed)]);
        assert!(answered.parts[1].as_result().is_some_and(|result| result.readable().contains("gone")));
    }

    #[test]
    fn a_bare_list_is_known_by_its_first_words() {
        let session = read(
            r#"[{"role": "user", "content": [{"type": "text", "text": "<task>\ngo\n</task>"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]"#,
        );
        assert_eq!(session.info.format, Format::Cline);
        assert_eq!(session.transcript.messages().len(), 2);
    }

    #[test]
    fn summaries_and_notices_are_marked() {
        let session = read(
            r#"{"version": 1, "sessionId": "s", "messages": [
                {"role": "user", "content": "Context summary: x", "metadata": {"kind": "compaction_summary"}},
                {"role": "user", "content": "Reminder", "metadata": {"displayRole": "system"}},
                {"role": "user", "content": "go on"}]}"#,
        );
        let origins: Vec<_> =
            session.transcript.messages().iter().map(|message| message.parts[0].origin).collect();
        assert_eq!(origins, [Origin::Summary, Origin::Hook, Origin::User]);
    }

    #[test]
    fn what_is_broken_is_told() {
        let session = read(
            r#"{"version": 1, "sessionId": "s", "messages": [{"role": "user"}, {"role": "robot", "content": "x"}]}"#,
        );
        assert_eq!(session.warnings.len(), 2);
        assert_eq!(session.transcript.messages().len(), 2);
    }
}
