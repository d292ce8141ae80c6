//! Reads sessions of Kimi: the wire file of an agent, in its present form and in that of the older Python program.
//!
//! A step of the model's comes as events: its beginning, what it says, its calls and their results, its end with the
//! provider's figures.

mod python;

use longhaul_conversation::{
    CallId, Message, MessageId, Origin, Output, Part, Role, Thought, Timestamp, TokenCount, ToolCall,
    ToolResult, ToolStatus, Usage,
};
use longhaul_wire::{Json, Object, body_of_url, read_arguments, text_parts};

use super::chat_pieces::read_declarations;
use super::{Known, Reader};
use crate::out::Out;
use crate::{CountedCall, Format};

pub(super) const KNOWN: Known = Known {
    format: Format::Kimi,
    is_record,
    is_document: |_| false,
    open: || Box::new(Kimi::default()),
    unread: &[],
};

/// The families of records of the present form.
const FAMILIES: &[&str] = &[
    "context.",
    "turn.",
    "llm.",
    "usage.",
    "profile.",
    "runtime.",
    "permission.",
    "token_counting.",
    "prompt.",
];

fn is_record(record: &Object<'_>) -> bool {
    match record.str("type") {
        Some("metadata") => record.str("protocol_version").is_some(),
        Some(kind) => {
            record.str("agentId").is_some()
                && record.has("time")
                && FAMILIES.iter().any(|family| kind.starts_with(family))
        }
        None => python::is_record(record),
    }
}

#[derive(Default)]
struct Kimi {
    older: python::Python,
    /// The model that the newest request named.
    model: Option<String>,
    /// The message that a step's events go to, by the step.
    step: Option<(String, MessageId)>,
    /// What people typed since the last compaction; small, and kept by compactions.
    typed: Vec<Message>,
    /// The first message that stands in the transcript.
    first: Option<MessageId>,
}

impl Reader for Kimi {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a record, found {}; skipped", record.kind()));
        };
        let Some(kind) = record.take_string("type") else { return self.older.record(record, out) };
        let at = record.time("time");
        match kind.as_str() {
            "metadata" => out.note(record.time("created_at"), None, None),
            "context.append_message" => self.message(record, at, out),
            "context.append_loop_event" => {
                if let Some(event) = record.take_object("event") {
                    self.event(event, at, out);
                }
            }
            "context.apply_compaction" => self.compact(&mut record, at, out),
            "context.undo" => {
                let count = record.get("count").and_then(Json::as_u64).unwrap_or(1);
                self.undo(usize::try_from(count).unwrap_or(usize::MAX), out);
            }
            "context.clear" => {
                if let Some(first) = self.first.take() {
                    out.rewind_to(first);
                }
                self.typed.clear();
            }
            "profile.bind" => {
                if let Some(text) = record.take_string("systemPrompt") {
                    out.info.system = vec![Part::text(Origin::Hook, text)];
                }
            }
            "llm.tools_snapshot" => {
                out.info.tools = read_declarations(record.take_array("tools").unwrap_or_default());
            }
            "llm.request" => self.model = record.take_string("model"),
            "config.update" | "llm.set_model" => {
                self.model = record.take_string("model").or(self.model.take());
            }
            _ => out.skip(&kind),
        }
    }
}

impl Kimi {
    fn message(&mut self, mut record: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        let Some(mut message) = record.take_object("message") else {
            return out.warn("record without a message; skipped");
        };
        let origin = origin_of(message.get("origin").and_then(|o| o.get("kind")).and_then(Json::as_str));
        let id = out.unused_id(message.take_string("id").map(MessageId::new));
        let content = message.take("content");
        let read = match message.str("role") {
            Some("assistant") => {
                let mut parts = read_content(content, Origin::Model);
                for call in
                    message.take_array("toolCalls").into_iter().flatten().filter_map(Json::into_object)
                {
                    parts.push(Part::call(read_call(call, out)));
                }
                Message::new(id, Role::Model, parts)
            }
            Some("tool") => {
                let call = message.take_string("toolCallId").map_or_else(|| CallId::new(""), CallId::new);
                let result = ToolResult::text(call, text_of(&read_content(content, Origin::Tool)));
                Message::new(id, Role::User, vec![Part::result(result)])
            }
            _ => Message::new(id, Role::User, read_content(content, origin)),
        };
        let is_typed = read.role == Role::User && origin == Origin::User;
        let read = Message { at, ..read };
        if is_typed {
            self.typed.push(read.clone());
        }
        self.put(read, out);
    }

    fn put(&mut self, message: Message, out: &mut Out<'_>) {
        self.first.get_or_insert_with(|| message.id.clone());
        out.put(message);
    }

    fn event(&mut self, mut event: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        match event.take_string("type").as_deref() {
            Some("step.begin") => {
                let step = event.take_string("uuid").unwrap_or_default();
                let mut message =
                    Message::new(out.unused_id(Some(MessageId::new(step.as_str()))), Role::Model, vec![]);
                (message.at, message.model) = (at, self.model.clone());
                self.step = Some((step, message.id.clone()));
                self.put(message, out);
            }
            Some("content.part") => {
                let parts = event.take("part").map_or_else(Vec::new, |part| read_part(part, Origin::Model));
                self.extend(parts, at, out);
            }
            Some("tool.call") => {
                let own = event.take_string("toolCallId");
                let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
                let name = event.take_string("name").unwrap_or_default();
                let call = ToolCall::new(id, name).with_args(read_arguments(event.take("args")));
                self.extend(vec![Part::call(call)], at, out);
            }
            Some("tool.result") => {
                let call = event.take_string("toolCallId").map_or_else(|| CallId::new(""), CallId::new);
                let result = read_result(call, event.take_object("result").unwrap_or_default());
                let mut message = Message::new(out.made_up_id(), Role::User, vec![Part::result(result)]);
                message.at = at;
                self.put(message, out);
            }
            Some("step.end") => {
                let usage = event.get("usage").and_then(|usage| read_usage(usage, &PRESENT));
                let message = self.step.take().map(|(_, id)| id);
                if let Some(usage) = usage {
                    out.call(CountedCall { message, at, model: self.model.clone(), usage });
                }
            }
            kind => out.skip(&format!("event:{}", kind.unwrap_or("?"))),
        }
    }

    /// Adds to the message of the step.
    fn extend(&mut self, parts: Vec<Part>, at: Option<Timestamp>, out: &mut Out<'_>) {
        match &self.step {
            Some((_, id)) => out.extend(id.clone(), parts),
            None => {
                let mut message = Message::new(out.made_up_id(), Role::Model, parts);
                (message.at, message.model) = (at, self.model.clone());
                self.put(message, out);
            }
        }
    }

    /// The agent put a summary in the place of everything but some of what people typed.
    fn compact(&mut self, record: &mut Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        let count =
            |key| record.get(key).and_then(Json::as_u64).and_then(|count| usize::try_from(count).ok());
        let (kept, head) =
            (count("keptUserMessageCount").unwrap_or(0), count("keptHeadUserMessageCount").unwrap_or(0));
        let parts = match record.take("summary").or_else(|| record.take("contextSummary")) {
            Some(Json::Object(mut message)) => read_content(message.take("content"), Origin::Summary),
            summary => read_content(summary, Origin::Summary),
        };
        let all = std::mem::take(&mut self.typed);
        let head = head.min(kept).min(all.len());
        let tail = all.len() - (kept - head).min(all.len() - head);
        self.first = None;
        out.restart();
        for message in all[..head].iter().chain(&all[tail.max(head)..]) {
            self.typed.push(message.clone());
            self.put(message.clone(), out);
        }
        let mut summary = Message::new(out.made_up_id(), Role::User, parts);
        summary.at = at;
        self.put(summary, out);
        out.end_compaction();
    }

    /// The user took back so many of the newest prompts, and what followed them.
    fn undo(&mut self, count: usize, out: &mut Out<'_>) {
        let from = self.typed.len().saturating_sub(count);
        if let Some(first) = self.typed.drain(from..).next() {
            out.rewind_to(first.id);
        }
        self.step = None;
    }
}

/// The origin of a user message, by what put it there.
fn origin_of(kind: Option<&str>) -> Origin {
    match kind {
        None | Some("user") => Origin::User,
        Some("compaction_summary") => Origin::Summary,
        Some("skill_activation" | "plugin_command") => Origin::Memory,
        Some(_) => Origin::Hook,
    }
}

/// Reads the content of a message: a text or a list of parts.
fn read_content(content: Option<Json<'_>>, origin: Origin) -> Vec<Part> {
    match content {
        Some(Json::String(text)) => told(text.into_owned(), origin),
        Some(Json::Array(parts)) => parts.into_iter().flat_map(|part| read_part(part, origin)).collect(),
        Some(Json::Object(part)) => read_part(Json::Object(part), origin),
        _ => Vec::new(),
    }
}

fn told(text: String, origin: Origin) -> Vec<Part> {
    if origin == Origin::User { text_parts(text, Role::User) } else { vec![Part::text(origin, text)] }
}

fn read_part(part: Json<'_>, origin: Origin) -> Vec<Part> {
    let mut part = match part {
        Json::Object(part) => part,
        Json::String(text) => return told(text.into_owned(), origin),
        _ => return Vec::new(),
    };
    match part.str("type") {
        Some("text") => told(part.take_string("text").unwrap_or_default(), origin),
        Some("think") => {
            let text = part.take_string("think").unwrap_or_default();
            vec![Part::thought(Thought { text, signature: None, item: None })]
        }
        Some(kind @ ("image_url" | "audio_url" | "video_url")) => {
            let kind = kind.to_owned();
            let url = match part.take(&kind) {
                Some(Json::String(url)) => Some(url.into_owned()),
                Some(Json::Object(mut at)) => at.take_string("url"),
                _ => None,
            };
            url.map(|url| Part::new(origin, body_of_url(url))).into_iter().collect()
        }
        _ => {
            let value = serde_json::Value::Object(part.into_map());
            vec![Part::opaque(origin, longhaul_conversation::Vendor::Agent, value)]
        }
    }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

fn read_call(mut call: Object<'_>, out: &Out<'_>) -> ToolCall {
    let id = call.take_string("id").map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
    let mut function = call.take_object("function").unwrap_or(call);
    let name = function.take_string("name").unwrap_or_default();
    let args = function.take("arguments").or_else(|| function.take("args"));
    ToolCall::new(id, name).with_args(read_arguments(args))
}

/// A tool's answer: its output, and what it says to the model besides.
fn read_result(call: CallId, mut result: Object<'_>) -> ToolResult {
    let failed = result.is_true("isError") || result.is_true("is_error");
    let stated = result.has("isError") || result.has("is_error");
    let mut parts = read_content(result.take("output"), Origin::Tool);
    if let Some(message) = result.take_string("message").filter(|message| !message.is_empty()) {
        parts.push(Part::text(Origin::Tool, message));
    }
    let status = match (failed, stated) {
        (true, _) => ToolStatus::Failed,
        (false, true) => ToolStatus::Succeeded,
        (false, false) => ToolStatus::Unstated,
    };
    let is_text = parts.iter().all(|part| part.as_text().is_some());
    let mut read = ToolResult::text(call, "").with_status(status);
    if is_text {
        read.output = Output::Text(text_of(&parts));
    } else {
        (read.output, read.nested) = (Output::Empty, parts);
    }
    read
}

/// The names of a call's figures. The input leaves out what came from a cache or went into one.
struct UsageKeys {
    fresh: &'static str,
    read: &'static str,
    written: &'static str,
}

const PRESENT: UsageKeys =
    UsageKeys { fresh: "inputOther", read: "inputCacheRead", written: "inputCacheCreation" };

fn read_usage(usage: &Json<'_>, keys: &UsageKeys) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).map(TokenCount);
    let (read, written) = (count(keys.read), count(keys.written));
    let usage = Usage {
        input: count(keys.fresh).map(|fresh| [Some(fresh), read, written].into_iter().flatten().sum()),
        output: count("output"),
        cached: read,
        written: written.filter(|written| written.0 > 0),
        ..Usage::default()
    };
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::{Value, json};

    fn record(kind: &str, more: &Value) -> Value {
        let mut record = json!({"type": kind, "agentId": "main", "time": 1_795_033_073_378_u64});
        record.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        record
    }

    fn said(id: &str, origin: &str) -> Value {
        record(
            "context.append_message",
            &json!({"message": {"role": "user", "id": id, "content": [{"type": "text", "text": id}], "toolCalls": [],
                "origin": {"kind": origin}}}),
        )
    }

    fn event(event: &Value) -> Value {
        record("context.append_loop_event", &json!({ "event": event }))
    }

    #[track_caller]
    fn read(records: &[Value]) -> crate::Session {
        let head =
            json!({"type": "metadata", "protocol_version": "1.5", "created_at": 1_795_033_073_000_u64});
        let lines = std::iter::once(&head).chain(records).map(|record| format!("{record}\n"));
        let session = read_text(&lines.collect::<String>());
        assert_eq!(session.info.format, Format::Kimi);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);
        session
    }

    #[test]
    fn a_step_is_one_message() {
        let session = read(&[
            record("profile.bind", &json!({"systemPrompt": "Be brief."})),
            said("list", "user"),
            said("It is Monday.", "injection"),
            record("llm.request", &json!({"model": "kimi-k2"})),
            event(&json!({"type": "step.begin", "uuid": "s1"})),
            event(
                &json!({"type": "content.part", "stepUuid": "s1", "part": {"type": "think", "think": "hm"}}),
            ),
            event(
                &json!({"type": "content.part", "stepUuid": "s1", "part": {"type": "text", "text": "Looking."}}),
            ),
            event(
                &json!({"type": "tool.call", "toolCallId": "c", "name": "Bash", "args": {"command": "ls"}}),
            ),
            event(
                &json!({"type": "tool.result", "toolCallId": "c", "result": {"output": "one", "isError": true}}),
            ),
            event(&json!({"type": "step.end", "uuid": "s1",
                "usage": {"inputOther": 10, "output": 5, "inputCacheRead": 100, "inputCacheCreation": 0}})),
        ]);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: user \"list\"",
                "user: hook \"It is Monday.\"",
                "model: thought \"hm\", model \"Looking.\", call c Bash {\"command\":\"ls\"}",
                "user: result c failed \"one\"",
            ]
        );
        assert_eq!(session.info.model(), Some("kimi-k2"));
        assert_eq!(session.info.last_usage.and_then(|usage| usage.input), Some(TokenCount(110)));
        assert_eq!(session.info.system.len(), 1);
    }

    #[test]
    fn a_compaction_keeps_what_people_typed() {
        let compaction = record(
            "context.apply_compaction",
            &json!({"summary": "sum", "compactedCount": 3, "keptUserMessageCount": 2, "keptHeadUserMessageCount": 1}),
        );
        let session = read(&[
            said("a", "user"),
            said("b", "user"),
            said("x", "injection"),
            said("c", "user"),
            compaction,
            said("d", "user"),
        ]);
        assert_eq!(session.info.compactions, 1);
        let read: Vec<String> = outline(session.transcript.messages());
        assert_eq!(
            read,
            ["user: user \"a\"", "user: user \"c\"", "user: summary \"sum\"", "user: user \"d\""]
        );
    }

    #[test]
    fn prompts_can_be_taken_back() {
        let undo = |count: u64| record("context.undo", &json!({ "count": count }));
        let asked = [said("a", "user"), said("b", "user"), said("c", "user")];
        let left = |record: Value| {
            let records: Vec<Value> = asked.iter().cloned().chain([record]).collect();
            outline(read(&records).transcript.messages()).len()
        };
        assert_eq!(left(undo(1)), 2);
        assert_eq!(left(undo(9)), 0);
        assert_eq!(left(record("context.clear", &json!({}))), 0);
    }
}
