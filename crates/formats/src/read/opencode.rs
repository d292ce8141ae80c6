//! Reads opencode sessions: what `opencode export` prints, which is also what its database holds.
//!
//! Each message is a head with parts. A tool's call and its result are one part of the model's message. A compaction is a
//! user message with a mark, answered by a summary; what followed the mark's tail stays behind it.

use longhaul_conversation::{
    Body, CallId, FileReference, Message, MessageId, Origin, Output, Part, Role, Thought, TokenCount,
    ToolCall, ToolResult, ToolStatus, Usage, Vendor,
};
use longhaul_wire::{Json, Object, body_of_url, each_object, text_parts};
use serde_json::{Map, Value};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::OpenCode,
    is_record: |_| false,
    is_document,
    open: || Box::new(OpenCode::default()),
    unread: &[],
};

fn is_document(document: &Json<'_>) -> bool {
    let Some(info) = document.get("info") else { return false };
    let has_head = |message: &Json<'_>| message.get("info").is_some() && message.get("parts").is_some();
    let messages = document.get("messages").and_then(Json::as_array);
    info.get("id").is_some()
        && (info.get("projectID").is_some() || info.get("directory").is_some())
        && messages.is_some_and(|messages| messages.iter().all(has_head))
}

#[derive(Default)]
struct OpenCode {
    /// What was put since the last compaction, for the tail that the next one keeps.
    shown: Vec<Message>,
    /// The mark of a compaction that its summary has not followed yet.
    mark: Option<Mark>,
    /// Where the user took the conversation back to.
    reverted: Option<String>,
}

struct Mark {
    message: Message,
    /// The first message that stays.
    tail: Option<String>,
}

impl Reader for OpenCode {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut document) = record else {
            return out.warn(format!("expected a session, found {}; skipped", record.kind()));
        };
        if let Some(info) = document.take_object("info") {
            self.head(info, out);
        }
        let messages = document.take_list("messages").unwrap_or_default();
        each_object(messages, "messages", out, |message, place, out| self.message(message, place, out));
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        // It was interrupted: nothing was compacted.
        if let Some(mark) = self.mark.take().filter(|mark| !mark.message.parts.is_empty()) {
            self.put(mark.message, out);
        }
        if let Some(id) = self.reverted.take().map(MessageId::new).filter(|id| out.knows(id)) {
            out.rewind_to(id);
        }
    }
}

impl OpenCode {
    fn head(&mut self, mut info: Object<'_>, out: &mut Out<'_>) {
        out.info.session_id = info.take_string("id");
        out.info.title = info.take_string("title");
        out.info.directory = info.take_string("directory");
        let revert = info.get("revert").and_then(|revert| revert.get("messageID")).and_then(Json::as_str);
        self.reverted = revert.map(str::to_string);
        for key in ["created", "updated"] {
            out.note(info.get("time").and_then(|time| time.get(key)).and_then(Json::as_time), None, None);
        }
    }

    fn message(&mut self, mut message: Object<'_>, place: usize, out: &mut Out<'_>) {
        let Some(info) = message.take_object("info") else {
            return out.warn(format!("messages[{place}] has no head; skipped"));
        };
        let id = out.unused_id(info.str("id").map(MessageId::new));
        let at = info.get("time").and_then(|time| time.get("created")).and_then(Json::as_time);
        let parts = message.take_list("parts").unwrap_or_default();
        match info.str("role") {
            Some("assistant") => {
                let origin = if info.is_true("summary") { Origin::Summary } else { Origin::Model };
                let mut answer = Answer::default();
                each_object(parts, "parts", out, |part, _, out| answer.part(part, origin, out));
                let mut read = Message::new(id, Role::Model, answer.said);
                (read.at, read.model) = (at, info.str("modelID").map(str::to_string));
                read.usage = info.get("tokens").and_then(read_tokens).map(Box::new);
                if let Some(error) = info.get("error") {
                    let data = error.get("data").and_then(|data| data.get("message")).and_then(Json::as_str);
                    let text = data.or_else(|| error.get("name").and_then(Json::as_str)).unwrap_or("error");
                    read.parts.push(Part::text(Origin::Hook, text));
                }
                if read.parts.is_empty() {
                    // The model has only begun to answer.
                    return out.skip("message:empty");
                }
                if origin == Origin::Summary && self.mark.is_some() && !info.has("error") {
                    return self.compact(read, out);
                }
                self.put(read, out);
                if !answer.results.is_empty() {
                    let mut results = Message::new(out.made_up_id(), Role::User, answer.results);
                    results.at = answer.answered.or(at);
                    self.put(results, out);
                }
            }
            role => {
                if role != Some("user") {
                    out.warn(format!(
                        "messages[{place}]: unknown role {:?}; read as user",
                        role.unwrap_or("")
                    ));
                }
                let mut typed = Typed::default();
                each_object(parts, "parts", out, |part, _, out| typed.part(part, out));
                let mut read = Message::new(id, Role::User, typed.parts);
                read.at = at;
                match typed.compaction {
                    Some(tail) => self.mark = Some(Mark { message: read, tail }),
                    None => self.put(read, out),
                }
            }
        }
    }

    fn put(&mut self, message: Message, out: &mut Out<'_>) {
        self.shown.push(message.clone());
        out.put(message);
    }

    /// A summary has followed its mark: it stands for everything but the tail.
    fn compact(&mut self, mut summary: Message, out: &mut Out<'_>) {
        let Some(Mark { message, tail }) = self.mark.take() else { return };
        let from = tail.and_then(|tail| self.shown.iter().position(|shown| shown.id.as_str() == tail));
        let tail = from.map_or_else(Vec::new, |from| self.shown.split_off(from));
        self.shown.clear();
        out.restart();
        let mut message = message;
        if message.parts.is_empty() {
            // What opencode sends in the place of the mark.
            message.parts.push(Part::text(Origin::Hook, "What did we do so far?"));
        }
        self.put(message, out);
        summary.parts.retain(|part| part.origin == Origin::Summary);
        self.put(summary, out);
        for kept in tail {
            self.put(kept, out);
        }
        out.end_compaction();
    }
}

/// The parts of a user's message.
#[derive(Default)]
struct Typed {
    parts: Vec<Part>,
    /// A compaction, with the first message that it keeps.
    compaction: Option<Option<String>>,
}

impl Typed {
    fn part(&mut self, mut part: Object<'_>, out: &mut Out<'_>) {
        match part.take_string("type").as_deref() {
            Some("text") => {
                let text = part.take_string("text").unwrap_or_default();
                if part.is_true("ignored") {
                    out.skip("part:ignored");
                } else if part.is_true("synthetic") {
                    self.parts.push(Part::text(Origin::Hook, text));
                } else {
                    self.parts.extend(text_parts(unquoted(&text).unwrap_or(text), Role::User));
                }
            }
            Some("file") => self.parts.push(read_file(&mut part, Origin::User)),
            Some("compaction") => self.compaction = Some(part.take_string("tail_start_id")),
            Some("subtask") => {
                let prompt = part.take_string("prompt").unwrap_or_default();
                self.parts.push(Part::text(Origin::Hook, prompt));
            }
            kind => out.skip(&format!("part:{}", kind.unwrap_or("?"))),
        }
    }
}

/// The words of a prompt that `opencode run` was given as one argument: it puts those between quotation marks.
pub(crate) fn unquoted(text: &str) -> Option<String> {
    let words = text.strip_prefix('"')?.strip_suffix('"')?;
    let is_escaped = |place: usize| words[..place].ends_with('\\');
    let is_whole = words.match_indices('"').all(|(place, _)| is_escaped(place)) && !words.ends_with('\\');
    (words.contains(' ') && is_whole).then(|| words.replace("\\\"", "\""))
}

/// The parts of the model's message: what it said, and what tools answered.
#[derive(Default)]
struct Answer {
    said: Vec<Part>,
    results: Vec<Part>,
    answered: Option<longhaul_conversation::Timestamp>,
}

impl Answer {
    fn part(&mut self, mut part: Object<'_>, origin: Origin, out: &mut Out<'_>) {
        match part.take_string("type").as_deref() {
            Some("text") => {
                let text = part.take_string("text").unwrap_or_default();
                self.said.push(Part::text(origin, text));
            }
            Some("reasoning") => {
                let text = part.take_string("text").unwrap_or_default();
                self.said.push(Part::thought(Thought { text, signature: None, item: None }));
            }
            Some("file") => self.said.push(read_file(&mut part, Origin::Model)),
            Some("tool") => self.tool(part, out),
            kind => out.skip(&format!("part:{}", kind.unwrap_or("?"))),
        }
    }

    fn tool(&mut self, mut part: Object<'_>, out: &Out<'_>) {
        let own = part.take_string("callID").filter(|id| !id.is_empty());
        let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
        let name = part.take_string("tool").unwrap_or_default();
        let mut state = part.take_object("state").unwrap_or_default();
        let args = state.take("input").map_or_else(|| Value::Object(Map::new()), Json::into_value);
        self.said.push(Part::call(ToolCall::new(id.clone(), name.clone()).with_args(args)));
        let (status, text) = match state.str("status") {
            Some("completed") => (ToolStatus::Succeeded, state.take_string("output")),
            Some("error") => (ToolStatus::Failed, state.take_string("error")),
            // It was still running when the session was read.
            _ => return,
        };
        let mut result = ToolResult::text(id, text.unwrap_or_default()).with_name(name).with_status(status);
        for mut file in state.take_array("attachments").into_iter().flatten().filter_map(Json::into_object) {
            result.nested.push(read_file(&mut file, Origin::Tool));
        }
        if matches!(&result.output, Output::Text(text) if text.is_empty()) && !result.nested.is_empty() {
            result.output = Output::Empty;
        }
        self.results.push(Part::result(result));
        let ended = state.get("time").and_then(|time| time.get("end")).and_then(Json::as_time);
        self.answered = ended.or(self.answered);
    }
}

fn read_file(part: &mut Object<'_>, origin: Origin) -> Part {
    let mime = part.take_string("mime");
    match part.take_string("url") {
        Some(url) => match body_of_url(url) {
            Body::File(file) => {
                Part::new(origin, Body::File(Box::new(FileReference { mime, uri: file.uri })))
            }
            body => Part::new(origin, body),
        },
        None => Part::opaque(origin, Vendor::Agent, Value::Object(std::mem::take(part).into_map())),
    }
}

/// The figures of one model call. Its input leaves out what came from a cache or went into one.
fn read_tokens(tokens: &Json<'_>) -> Option<Usage> {
    let count = |of: Option<&Json<'_>>, key: &str| of?.get(key)?.as_u64().map(TokenCount);
    let cache = tokens.get("cache");
    let (read, written) = (count(cache, "read"), count(cache, "write"));
    let fresh = count(Some(tokens), "input");
    let usage = Usage {
        input: fresh.map(|fresh| [Some(fresh), read, written].into_iter().flatten().sum()),
        output: count(Some(tokens), "output"),
        cached: read,
        written: written.filter(|written| written.0 > 0),
        thoughts: count(Some(tokens), "reasoning").filter(|thoughts| thoughts.0 > 0),
        ..Usage::default()
    };
    let said_nothing = usage.input.unwrap_or_default().0 == 0 && usage.output.unwrap_or_default().0 == 0;
    (!said_nothing).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    fn message(role: &str, id: &str, more: &Value, parts: &Value) -> Value {
        let mut info =
            json!({"id": id, "role": role, "sessionID": "ses_1", "time": {"created": 1_795_032_572_619_u64}});
        let more = more.as_object().cloned().unwrap_or_default();
        info.as_object_mut().expect("an object").extend(more);
        json!({"info": info, "parts": parts})
    }

    #[track_caller]
    fn read(more: &Value, messages: &[Value]) -> crate::Session {
        let mut info = json!({"id": "ses_1", "projectID": "global", "directory": "/w", "title": "Tidy up",
            "time": {"created": 1_795_032_572_311_u64, "updated": 1_795_032_584_015_u64}});
        info.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        let session = read_text(&json!({"info": info, "messages": messages}).to_string());
        assert_eq!(session.info.format, Format::OpenCode);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
        session
    }

    fn text(text: &str) -> Value {
        json!([{"type": "text", "text": text}])
    }

    #[test]
    fn a_prompt_of_the_command_line_is_as_it_was_typed() {
        for (recorded, typed) in [
            (r#""Fix the cart. Never push to main.""#, "Fix the cart. Never push to main."),
            (r#""Print \"hello\" twice""#, r#"Print "hello" twice"#),
            (r#""cart""#, r#""cart""#),
            (r#""one two" and "three four""#, r#""one two" and "three four""#),
            (r#"Say "a b""#, r#"Say "a b""#),
        ] {
            let session = read(&json!({}), &[message("user", "u", &json!({}), &text(recorded))]);
            assert_eq!(session.transcript.messages()[0].parts[0].as_text(), Some(typed), "{recorded}");
        }
    }

    #[test]
    fn a_call_and_its_result_become_two_messages() {
        let tool = |status: &str, more: &Value| {
            let mut state = json!({"status": status, "input": {"command": "ls"}});
            state.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            json!({"type": "tool", "tool": "bash", "callID": status, "state": state})
        };
        let session = read(
            &json!({}),
            &[
                message("user", "u", &json!({}), &text("list")),
                message(
                    "assistant",
                    "a",
                    &json!({"modelID": "m-1", "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 100, "write": 7}}}),
                    &json!([
                        {"type": "step-start"},
                        {"type": "reasoning", "text": "hm"},
                        {"type": "text", "text": "Looking."},
                        tool("completed", &json!({"output": "one", "time": {"end": 1_795_032_582_492_u64}})),
                        tool("error", &json!({"error": "no"})),
                        tool("running", &json!({})),
                        {"type": "step-finish"},
                    ]),
                ),
            ],
        );
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: user \"list\"",
                "model: thought \"hm\", model \"Looking.\", call completed bash {\"command\":\"ls\"}, \
                 call error bash {\"command\":\"ls\"}, call running bash {\"command\":\"ls\"}",
                "user: result completed bash succeeded \"one\", result error bash failed \"no\"",
            ]
        );
        let info = &session.info;
        assert_eq!((info.title.as_deref(), info.directory.as_deref()), (Some("Tidy up"), Some("/w")));
        let usage = info.last_usage.expect("figures");
        let figures = (usage.input, usage.cached, usage.written, usage.output, usage.thoughts);
        let count = |count| Some(TokenCount(count));
        assert_eq!(figures, (count(117), count(100), count(7), count(5), count(2)));
        assert_eq!(session.transcript.messages()[1].model.as_deref(), Some("m-1"));
    }

    #[test]
    fn what_the_program_put_in_was_not_typed() {
        let parts = json!([
            {"type": "text", "text": "see @a.rs"},
            {"type": "text", "text": "Called the Read tool", "synthetic": true},
            {"type": "text", "text": "never sent", "ignored": true},
            {"type": "file", "mime": "text/plain", "filename": "a.rs", "url": "file:///w/a.rs"},
        ]);
        let session = read(&json!({}), &[message("user", "u", &json!({}), &parts)]);
        assert_eq!(
            outline(session.transcript.messages()),
            ["user: user \"see @a.rs\", hook \"Called the Read tool\", file file:///w/a.rs"]
        );
    }

    #[test]
    fn a_summary_stands_for_what_came_before_its_tail() {
        let mark = |tail: Option<&str>| json!([{"type": "compaction", "auto": true, "tail_start_id": tail}]);
        let ask = |id: &str| message("user", id, &json!({}), &text(id));
        let summary = message("assistant", "s", &json!({"summary": true}), &text("sum"));
        let done = |tail| {
            let session = read(
                &json!({}),
                &[
                    ask("a"),
                    ask("b"),
                    message("user", "c", &json!({}), &mark(tail)),
                    summary.clone(),
                    ask("d"),
                ],
            );
            assert_eq!(session.info.compactions, 1);
            outline(session.transcript.messages()).join("; ")
        };
        let asked = "user: hook \"What did we do so far?\"; model: summary \"sum\"";
        assert_eq!(done(None), format!("{asked}; user: user \"d\""));
        assert_eq!(done(Some("b")), format!("{asked}; user: user \"b\"; user: user \"d\""));
    }

    #[test]
    fn a_compaction_that_was_interrupted_is_none() {
        let mark = message("user", "c", &json!({}), &json!([{"type": "compaction"}]));
        let failed =
            message("assistant", "s", &json!({"summary": true, "error": {"name": "Aborted"}}), &json!([]));
        let session = read(&json!({}), &[message("user", "a", &json!({}), &text("a")), mark, failed]);
        assert_eq!(session.info.compactions, 0);
        assert_eq!(outline(session.transcript.messages())[0], "user: user \"a\"");
    }

    #[test]
    fn an_answer_that_has_only_begun_is_none() {
        let begun = message("assistant", "a", &json!({}), &json!([{"type": "step-start"}]));
        let session = read(&json!({}), &[message("user", "u", &json!({}), &text("a")), begun]);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"a\""]);
    }

    #[test]
    fn a_prompt_given_as_an_argument_is_no_quotation() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(unquoted(text).as_deref(), expected, "{text}");
        }
        check("\"Never touch prod.db.\"", Some("Never touch prod.db."));
        check("\"say \\\"hi\\\" now\"", Some("say \"hi\" now"));
        check("\"a b\" and \"c d\"", None);
        check("\"word\"", None);
        check("a \"b c\"", None);
        check("\"", None);
    }

    #[test]
    fn what_was_reverted_is_gone() {
        let ask = |id: &str| message("user", id, &json!({}), &text(id));
        let session = read(&json!({"revert": {"messageID": "b"}}), &[ask("a"), ask("b"), ask("c")]);
        assert_eq!(outline(session.transcript.messages()), ["user: user \"a\""]);
    }
}
