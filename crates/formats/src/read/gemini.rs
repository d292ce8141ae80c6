//! Reads Gemini CLI sessions: the record-per-line form and the older single object.
//!
//! A model's message carries its tool calls with their results, which become a user message of their own behind it.
//! The same response may also have been recorded as a user message. It counts once, where it was found first; if the two say
//! different things, as the newer one says.
//!
//! Records of Longhaul's own stand between the others. They rewrite the transcript, and may bring back what was rewritten,
//! so that the messages are kept here while the file is read.

mod checkpoint;
mod results;

use std::collections::{HashMap, HashSet, VecDeque};

use longhaul_conversation::{
    Body, CallId, Change, Extra, Fingerprint, MediaData, Message, MessageId, Output, Part, Role, Thought,
    TokenCount, ToolCall, ToolResult, Usage, Vendor, fingerprint_content,
};
use longhaul_wire::{CallIds, Json, List, Object, close_references, each_item, text_parts};
use serde_json::{Map, Value};

use crate::records::status_of_word;
use longhaul_wire::gemini::read_part;

use self::results::{LaterResult, as_response, keep_newest_results};
use super::displayed::{keep_typed, shown_text};
use super::{Known, Reader};
use crate::Format;
use crate::out::Out;
use crate::records::response_id;
use crate::records::{
    Branch, Effect, HostRecord, Record, RecordedFragment, RequestChange, RewriteKind, RuleChange,
    decode_record,
};

pub(crate) const JSONL: Known = Known {
    format: Format::GeminiJsonl,
    is_record,
    is_document: |_| false,
    open: || Box::new(Gemini::default()),
    unread: &[],
};

pub(super) const JSON: Known = Known {
    format: Format::GeminiJson,
    is_record: |_| false,
    is_document: |document| {
        let Some(messages) = document.get("messages").and_then(Json::as_array) else { return false };
        let typed = |message: &Json<'_>| message.get("type").is_some() && message.get("role").is_none();
        document.get("sessionId").is_some() && messages.iter().all(typed)
    },
    open: || Box::new(Gemini::default()),
    unread: &[],
};

/// Messages are written again within so many others, when their results arrive.
const REPEATS: usize = 64;

/// About how much memory a part takes.
fn size_of_part(part: &Part) -> usize {
    let body = match &part.body {
        Body::Text(text) => text.len(),
        Body::Thought(thought) => thought.text.len(),
        Body::Call(call) => call.args.to_string().len(),
        Body::Result(result) => {
            let structured = match &result.output {
                Output::Text(text) => text.len(),
                Output::Structured(value) => value.to_string().len(),
                Output::Empty => 0,
            };
            structured + result.nested.iter().map(size_of_part).sum::<usize>()
        }
        Body::Media(media) => match &media.data {
            MediaData::Base64(data) => data.len(),
            MediaData::Omitted { .. } => 0,
        },
        Body::File(_) | Body::Opaque(_) => 64,
    };
    body + 64
}

fn is_record(record: &Object<'_>) -> bool {
    let is_header = record.has("sessionId") && record.has("projectHash");
    let is_mark = ["$set", "$rewindTo", "$longhaul"].iter().any(|key| record.has(key));
    is_header || is_mark || is_message(record)
}

fn is_message(record: &Object<'_>) -> bool {
    let known = matches!(record.str("type"), Some("user" | "gemini" | "info" | "error" | "warning"));
    known && record.has("id") && (record.has("content") || record.has("toolCalls"))
}

/// Reads the records of a session and keeps what they amount to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gemini {
    ids: CallIds,
    /// The message that holds the response to each call.
    pub(crate) answered: HashMap<CallId, MessageId>,
    /// Which message made each call last.
    owners: HashMap<CallId, MessageId>,
    pub(crate) branch: Branch,
    pub(crate) rules: Vec<RuleChange>,
    pub(crate) requests: Vec<RequestChange>,
    pub(crate) fragments: Vec<RecordedFragment>,
    pub(crate) host: Option<HostRecord>,
    held: Held,
    /// Messages with an exact record, as Gemini CLI reads and repeats them.
    plain_forms: HashMap<MessageId, Fingerprint>,
    /// True while a checkpoint replaced the transcript and nobody was told: the next one often restores it.
    is_unannounced: bool,
    /// True if that checkpoint is a compaction.
    is_compaction: bool,
}

/// A message that was read, the results that it carries as a message of their own, and those of calls that other messages
/// answer.
#[derive(Debug, Default)]
struct Placed {
    message: Option<Message>,
    response: Option<Message>,
    later: Vec<LaterResult>,
}

/// The messages that a reader with bounded memory still has, the oldest first.
#[derive(Clone, Debug, Default)]
struct Held {
    messages: VecDeque<(MessageId, usize)>,
    bytes: usize,
    forgotten: HashSet<MessageId>,
}

/// A reader with bounded memory keeps about so many bytes of messages: far more than any window holds, so that what a
/// compaction keeps is always among them.
const MOST_HELD: usize = 24_000_000;

impl Reader for Gemini {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        match record {
            Json::Object(record) => self.object(record, out),
            other => out.warn(format!("expected a record, found {}; skipped", other.kind())),
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        self.announce(out);
    }
}

impl Gemini {
    fn object(&mut self, mut record: Object<'_>, out: &mut Out<'_>) {
        if let Some(id) = record.take_string("$rewindTo") {
            let id = MessageId::new(id);
            if self.branch.position(&id).is_some() {
                self.change(Change::RewindTo(id), out);
                // What was taken back may be answered again.
                self.answered.retain(|_, message| self.branch.position(message).is_some());
            } else {
                out.warn(format!("rewind to unknown message {id}; ignored"));
            }
        } else if let Some(mut changes) = record.take_object("$set") {
            let checkpoint = changes.take_list("messages");
            read_head(&changes, out);
            if let Some(messages) = checkpoint {
                self.checkpoint(messages, out);
            }
        } else if let Some(record) = record.take_object("$longhaul") {
            self.longhaul(record, out);
        } else if is_message(&record) {
            let placed = self.message(record, out);
            self.place(placed, out);
        } else if record.has("sessionId") {
            read_head(&record, out);
            if let Some(messages) = record.take_list("messages") {
                out.info.format = Format::GeminiJson;
                self.each_message(messages, out, |reader, placed, out| reader.place(placed, out));
            }
        } else {
            out.skip(record.str("type").unwrap_or("record of an unknown kind"));
        }
    }

    /// A record of our own.
    fn longhaul(&mut self, record: Object<'_>, out: &mut Out<'_>) {
        match decode_record(record, &self.branch) {
            None => return out.skip("$longhaul"),
            Some(Record::Exact(message)) => {
                for result in message.results() {
                    self.answered_elsewhere(&result.call, &message.id);
                }
                self.note_plain_form(&message);
                return self.put(message, out);
            }
            Some(Record::Setup(setup)) => {
                out.info.system = setup.system;
                out.info.tools = setup.tools;
                return;
            }
            Some(Record::Fragment(fragment)) => return self.fragments.push(fragment),
            Some(Record::Rule(change)) => return self.rules.push(change),
            Some(Record::Request(change)) => return self.requests.push(change),
            Some(Record::Host(host)) => return self.host = Some(host),
            Some(Record::ModelChoice(model)) => return out.info.chosen_model = Some(model),
            Some(Record::State(state)) => return self.branch.keep_state(state),
            Some(Record::Compaction { id, at, compaction, view }) => {
                out.info.compactions += 1;
                self.branch.compact(id, at, *compaction, view);
            }
            Some(Record::Mask { id, at, masking }) => self.branch.mask(id, at, masking),
            Some(Record::Undo { rewrite }) => match self.branch.undo(&rewrite) {
                None => return out.warn(format!("undo of {rewrite}, which is not active; ignored")),
                Some(undone) if matches!(undone.kind, RewriteKind::Compaction(_)) => {
                    out.info.compactions -= 1;
                }
                Some(_) => {}
            },
        }
        self.is_unannounced = false;
        self.show_anew(out);
    }

    /// Notes the form that a message had before its exact record, if that one differs: Gemini CLI repeats only that form.
    fn note_plain_form(&mut self, exact: &Message) {
        let plain = self.branch.get(&exact.id).map(fingerprint_content);
        if let Some(plain) = plain.filter(|plain| *plain != fingerprint_content(exact)) {
            self.plain_forms.insert(exact.id.clone(), plain);
        }
    }

    /// Adds a message, or replaces the one with its id.
    fn put(&mut self, message: Message, out: &mut Out<'_>) {
        let message = self.marked(message, out);
        self.change(Change::Put(message), out);
    }

    /// A message with its number; its time, model and usage are noted.
    fn marked(&self, message: Message, out: &mut Out<'_>) -> Message {
        let message = out.marked(message);
        out.note(message.at, message.model.as_deref(), message.usage.as_deref());
        out.count(&message);
        message
    }

    fn change(&mut self, change: Change, out: &mut Out<'_>) {
        self.announce(out);
        self.carry_out(change, out);
    }

    /// Tells those who follow the changes that a checkpoint replaced the transcript.
    fn announce(&mut self, out: &mut Out<'_>) {
        let is_compaction = std::mem::take(&mut self.is_compaction);
        if std::mem::take(&mut self.is_unannounced) {
            if is_compaction {
                out.show_compaction();
            }
            self.show_anew(out);
            if is_compaction {
                out.end_compaction();
            }
        }
    }

    fn carry_out(&mut self, change: Change, out: &mut Out<'_>) {
        if !out.wants_changes() {
            self.branch.apply(change);
            return;
        }
        if out.is_bounded() {
            self.hold(&change);
        }
        match self.branch.apply(change.clone()) {
            _ if self.is_unannounced => {}
            Effect::Same => out.change(change),
            Effect::Anew => self.show_anew(out),
        }
    }

    /// Forgets the oldest messages as far as new ones need the room.
    fn hold(&mut self, change: &Change) {
        self.branch.forget_left();
        let (Change::Put(message) | Change::PutAfter { message, .. }) = change else { return };
        let size = message.parts.iter().map(size_of_part).sum();
        self.held.forgotten.remove(&message.id);
        self.held.messages.push_back((message.id.clone(), size));
        self.held.bytes += size;
        while self.held.bytes > MOST_HELD
            && let Some((id, size)) = self.held.messages.pop_front()
        {
            self.held.bytes -= size;
            // A message that was written again stands further behind once more.
            if self.held.messages.iter().rev().take(REPEATS).all(|(later, _)| *later != id) {
                self.branch.forget(&id);
                self.held.forgotten.insert(id);
            }
        }
    }

    fn show_anew(&self, out: &mut Out<'_>) {
        if !out.wants_changes() {
            return;
        }
        out.change(Change::Restart);
        let mut missing = 0;
        for message in self.branch.visible() {
            if self.held.forgotten.contains(&message.id) {
                missing += 1;
            } else {
                out.change(Change::Put(message));
            }
        }
        if missing > 0 {
            out.warn(format!("{missing} restored messages are too far back to read again; omitted here"));
        }
    }

    /// Reads the messages of a list one by one.
    fn each_message(
        &mut self,
        messages: List<'_>,
        out: &mut Out<'_>,
        mut read: impl FnMut(&mut Self, Placed, &mut Out<'_>),
    ) {
        each_item(messages, "messages", out, |message, place, out| match message {
            Json::Object(message) if is_message(&message) => {
                let placed = self.message(message, out);
                read(self, placed, out);
            }
            other => {
                out.warn(format!("messages[{place}]: expected a message, found {}; skipped", other.kind()));
            }
        });
    }

    /// Puts what was read in its place: a response behind its call.
    fn place(&mut self, placed: Placed, out: &mut Out<'_>) {
        placed.later.into_iter().for_each(|later| self.renew(later, out));
        let Some(message) = placed.message else { return };
        let after = message.id.clone();
        self.put(message, out);
        if let Some(response) = placed.response {
            let message = out.marked(response);
            self.change(Change::PutAfter { after, message }, out);
        }
    }

    fn message(&mut self, mut record: Object<'_>, out: &mut Out<'_>) -> Placed {
        let id = record.take_string("id").map_or_else(|| out.made_up_id(), MessageId::new);
        let at = record.time("timestamp");
        record.take("timestamp");
        match record.take_string("type").as_deref() {
            Some("user") => {
                let mut parts = self.parts(record.take("content"), Role::User);
                close_references(&mut parts);
                let had_parts = !parts.is_empty();
                let (mut parts, later) = self.split_later(parts, &id);
                keep_newest_results(&mut parts);
                if let Some(shown) = record.get("displayContent").and_then(shown_text) {
                    parts = keep_typed(parts, &shown);
                }
                if had_parts && parts.is_empty() {
                    out.skip("response recorded twice");
                    return Placed { later, ..Placed::default() };
                }
                let extra = Extra::boxed(Vendor::Agent, record.into_map());
                let message = Message { at, extra, ..Message::new(id, Role::User, parts) };
                Placed { message: Some(message), response: None, later }
            }
            Some("gemini") => self.model(id, at, record),
            kind => {
                out.skip(kind.unwrap_or("?"));
                Placed::default()
            }
        }
    }

    fn model(
        &mut self,
        id: MessageId,
        at: Option<longhaul_conversation::Timestamp>,
        mut record: Object<'_>,
    ) -> Placed {
        let content = self.parts(record.take("content"), Role::Model);
        let thoughts = record.take_array("thoughts").unwrap_or_default();
        let tool_calls = record.take_array("toolCalls").unwrap_or_default();
        // What the model sent is the truth where it was kept whole; otherwise it is put together again.
        let is_whole = content.iter().any(|part| matches!(part.body, Body::Call(_) | Body::Thought(_)));
        let mut parts = Vec::new();
        if !is_whole {
            parts.extend(thoughts.iter().filter_map(read_thought));
        }
        parts.extend(content);
        parts.retain(|part| !part.is_empty() || part.extra.is_some());
        let response_id = response_id(&id);
        let (mut responses, mut later) = (Vec::new(), Vec::new());
        let mut recorded = Recorded::in_parts(&parts);
        recorded.ids.iter().for_each(|call| self.reopen(call, &id));
        let mut answered_at = at;
        for call in tool_calls.into_iter().filter_map(Json::into_object) {
            answered_at = answered_at.max(call.time("timestamp"));
            let read = self.tool_call(call, &mut recorded, &id, &mut parts);
            let (own, others) = self.split_later(read, &response_id);
            // What came with a result that does not count here is in the other message.
            responses.extend(own.into_iter().filter(|_| others.is_empty()));
            later.extend(others);
        }
        let mut message = Message::new(id, Role::Model, parts);
        message.at = at;
        message.model = record.take_string("model");
        message.usage = record.take("tokens").as_ref().and_then(read_tokens).map(Box::new);
        message.extra = Extra::boxed(Vendor::Agent, record.into_map());
        let response = (!responses.is_empty())
            .then(|| Message { at: answered_at, ..Message::new(response_id, Role::User, responses) });
        Placed { message: Some(message), response, later }
    }

    /// Adds a call to the parts of its message, unless they have it, and returns the parts of its result.
    fn tool_call(
        &mut self,
        mut call: Object<'_>,
        recorded: &mut Recorded,
        message: &MessageId,
        parts: &mut Vec<Part>,
    ) -> Vec<Part> {
        let name = call.take_string("name").unwrap_or_default();
        let own_id = call.take_string("id");
        let args = call.take("args").map_or_else(|| Value::Object(Map::new()), Json::into_value);
        let status = call.str("status").and_then(status_of_word).unwrap_or_default();
        // Of a call without an id, the content may have the same; its id was made up when it was read.
        let id = own_id.map(CallId::new).or_else(|| recorded.take(&name, &args));
        let id = id.unwrap_or_else(|| self.ids.of_call(&name));
        self.ids.note_call(&id);
        if recorded.ids.insert(id.clone()) {
            self.reopen(&id, message);
            parts.push(Part::call(ToolCall { id: id.clone(), name: name.clone(), args, reasoning: None }));
        }
        let read = match call.take("result") {
            None | Some(Json::Null) => return Vec::new(),
            Some(Json::String(text)) => {
                vec![Part::result(ToolResult::text(id.clone(), text).with_name(&name))]
            }
            // The call is known, whatever ids the parts have or lack.
            Some(Json::Array(items)) => {
                let mut ids = CallIds::default();
                items.into_iter().flat_map(|part| read_part(part, Role::User, &mut ids)).collect()
            }
            Some(part @ Json::Object(_)) => read_part(part, Role::User, &mut CallIds::default()),
            Some(other) => vec![Part::result(ToolResult {
                output: Output::Structured(other.into_value()),
                ..ToolResult::text(id.clone(), "").with_name(&name)
            })],
        };
        self.ids.close(&name, &id);
        as_response(read, &id, &name, status)
    }

    fn parts(&mut self, content: Option<Json<'_>>, role: Role) -> Vec<Part> {
        let mut parts = match content {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::String(text)) if text.is_empty() => Vec::new(),
            Some(Json::String(text)) => text_parts(text.into_owned(), role),
            Some(Json::Array(parts)) => {
                parts.into_iter().flat_map(|part| read_part(part, role, &mut self.ids)).collect()
            }
            Some(part) => read_part(part, role, &mut self.ids),
        };
        for part in &mut parts {
            match &mut part.body {
                Body::Call(call) if !call.id.is_made_up() => self.ids.note_call(&call.id),
                Body::Result(result) if !result.call.is_made_up() => {
                    let name = result.name.as_deref().unwrap_or_default();
                    result.call = self.ids.of_named_result(name, result.call.clone());
                }
                _ => {}
            }
        }
        parts
    }
}

/// The calls of a message that stand in its content.
struct Recorded {
    ids: HashSet<CallId>,
    /// Those that no entry of the list of calls was found for yet.
    open: VecDeque<ToolCall>,
}

impl Recorded {
    fn in_parts(parts: &[Part]) -> Self {
        let calls = parts.iter().filter_map(Part::as_call);
        Self { ids: calls.clone().map(|call| call.id.clone()).collect(), open: calls.cloned().collect() }
    }

    /// The id of a call like this, which is not open any more.
    fn take(&mut self, name: &str, args: &Value) -> Option<CallId> {
        let place = self.open.iter().position(|call| call.name == name && call.args == *args)?;
        self.open.remove(place).map(|call| call.id)
    }
}

fn read_thought(thought: &Json<'_>) -> Option<Part> {
    let text = match (
        thought.get("subject").and_then(Json::as_str),
        thought.get("description").and_then(Json::as_str),
    ) {
        (Some(subject), Some(description)) if !subject.is_empty() => format!("**{subject}** {description}"),
        (subject, description) => description.or(subject)?.to_string(),
    };
    Some(Part::thought(Thought { text, ..Thought::default() }))
}

/// The token figures of a model's message.
pub(super) fn read_tokens(tokens: &Json<'_>) -> Option<Usage> {
    let count = |key: &str| tokens.get(key).and_then(Json::as_u64).map(TokenCount);
    let usage = Usage {
        input: count("input"),
        output: count("output"),
        cached: count("cached"),
        thoughts: count("thoughts"),
        tool: count("tool"),
        total: count("total"),
        ..Usage::default()
    };
    (!usage.is_empty()).then_some(usage)
}

fn read_head(head: &Object<'_>, out: &mut Out<'_>) {
    if let Some(id) = head.str("sessionId") {
        out.info.session_id = Some(id.to_string());
    }
    if let Some(hash) = head.str("projectHash") {
        out.info.project = Some(hash.to_string());
    }
    if let Some(summary) = head.str("summary") {
        out.info.title = Some(summary.to_string());
    }
    if let Some(directory) = head.get("directories").and_then(Json::as_array).and_then(<[_]>::first) {
        out.info.directory = directory.as_str().map(str::to_string);
    }
    out.note(head.time("startTime"), None, None);
    out.note(head.time("lastUpdated"), None, None);
}

#[cfg(test)]
mod tests {
    use crate::{Format, Replay, Session, read_session};
    use longhaul_conversation::{Body, Origin, Role, ToolStatus, find_faults};

    const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"abc","startTime":"2026-01-02T03:04:05.000Z","lastUpdated":"2026-01-02T03:04:05.000Z","kind":"main"}"#;

    fn session(lines: &[&str]) -> Session {
        let text = format!("{HEADER}\n{}\n", lines.join("\n"));
        read_session(text.as_bytes()).expect("a session")
    }

    /// Each message as `role:part part`, with calls and results by id.
    fn sketch(session: &Session) -> String {
        let part = |body: &Body| match body {
            Body::Text(text) => text.clone(),
            Body::Thought(thought) => format!("thought[{}]", thought.text),
            Body::Call(call) => format!("call({})", call.id),
            Body::Result(result) => format!("result({}={})", result.call, result.readable()),
            other => format!("{other:?}"),
        };
        let messages = session.transcript.messages().iter().map(|message| {
            let parts: Vec<String> = message.parts.iter().map(|p| part(&p.body)).collect();
            format!("{}:{}", if message.role == Role::User { "u" } else { "m" }, parts.join(" "))
        });
        messages.collect::<Vec<_>>().join(" | ")
    }

    #[track_caller]
    fn check(lines: &[&str], expected: &str) {
        assert_eq!(sketch(&session(lines)), expected);
    }

    const ASK: &str = r#"{"id":"1","timestamp":"2026-01-02T03:05:00Z","type":"user","content":"hi"}"#;
    const CALL: &str = r#"{"id":"2","timestamp":"2026-01-02T03:05:01Z","type":"gemini","content":"","thoughts":[{"subject":"Plan","description":"look","timestamp":"x"}],"toolCalls":[{"id":"c","name":"ls","args":{"p":1},"status":"success","result":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a b"}}}]}],"tokens":{"input":10,"output":2,"cached":3,"thoughts":1,"tool":0,"total":13},"model":"gemini-2.5-pro"}"#;

    #[test]
    fn calls_thoughts_and_results_are_put_together() {
        let read = session(&[ASK, CALL, r#"{"id":"3","type":"gemini","content":"done"}"#]);
        assert_eq!(sketch(&read), "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b) | m:done");
        assert_eq!(read.info.session_id.as_deref(), Some("s-1"));
        assert_eq!(read.info.model(), Some("gemini-2.5-pro"));
        assert_eq!(read.info.last_usage.and_then(|usage| usage.cached).map(|cached| cached.0), Some(3));
        let status = read.transcript.messages()[2].results().next().map(|result| result.status);
        assert_eq!(status, Some(ToolStatus::Succeeded));
        assert!(find_faults(read.transcript.messages()).is_empty());
    }

    #[test]
    fn responses_have_the_time_of_their_calls() {
        let late = CALL.replace(r#""status":"#, r#""timestamp":"2026-01-02T03:06:00Z","status":"#);
        let times = |call: &str| {
            let read = session(&[ASK, call]);
            read.transcript
                .messages()
                .iter()
                .filter_map(|message| message.at)
                .map(|at| at.to_minute())
                .collect()
        };
        let minutes = |minutes: [&str; 3]| minutes.map(|minute| format!("2026-01-02 03:{minute}")).to_vec();
        let seen: [Vec<String>; 2] = [times(CALL), times(&late)];
        assert_eq!(seen, [minutes(["05", "05", "05"]), minutes(["05", "05", "06"])]);
    }

    #[test]
    fn a_message_written_again_replaces_the_first_in_place() {
        let open =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        check(
            &[ASK, open, r#"{"id":"4","type":"user","content":"more"}"#, CALL],
            "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b) | u:more",
        );
    }

    #[test]
    fn a_response_does_not_appear_twice() {
        let response = r#"{"id":"3","type":"user","content":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a b"}}}]}"#;
        check(&[ASK, CALL, response], "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b)");
        let open =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        check(&[ASK, open, response, CALL], "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b)");
    }

    #[test]
    fn content_with_calls_is_the_truth() {
        let whole = r#"{"id":"2","type":"gemini","content":[{"text":"see","thought":true},{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"sig"}],"thoughts":[{"subject":"x","description":"y"}],"toolCalls":[{"name":"ls","args":{},"result":"out"}]}"#;
        let read = session(&[ASK, whole]);
        assert_eq!(sketch(&read), "u:hi | m:thought[see] call(lh-call-1) | u:result(lh-call-1=out)");
        let call = &read.transcript.messages()[1].parts[1];
        assert_eq!(
            call.extra.as_ref().map(|extra| extra.fields["thoughtSignature"].clone()),
            Some("sig".into())
        );
    }

    #[test]
    fn equal_calls_without_ids_have_a_result_each() {
        let twice = r#"{"id":"2","type":"gemini","content":[{"functionCall":{"name":"ls","args":{}}},{"functionCall":{"name":"ls","args":{}}}],"toolCalls":[{"name":"ls","args":{},"result":"one"},{"name":"ls","args":{},"result":"two"}]}"#;
        let later = r#"{"id":"3","type":"gemini","content":[{"functionCall":{"name":"ls","args":{}}}]}"#;
        let response = r#"{"id":"4","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"three"}}}]}"#;
        check(
            &[ASK, twice, later, response],
            "u:hi | m:call(lh-call-1) call(lh-call-2) | u:result(lh-call-1=one) result(lh-call-2=two) | \
             m:call(lh-call-3) | u:result(lh-call-3=three)",
        );
    }

    #[test]
    fn checkpoints_and_rewinds_change_the_transcript() {
        let checkpoint = r#"{"$set":{"messages":[{"id":"9","type":"user","content":"<state_snapshot>s</state_snapshot>"}],"summary":"A title"}}"#;
        let read = session(&[ASK, CALL, checkpoint, r#"{"id":"10","type":"gemini","content":"on"}"#]);
        assert_eq!(sketch(&read), "u:<state_snapshot>s</state_snapshot> | m:on");
        assert_eq!((read.info.compactions, read.info.title.as_deref()), (1, Some("A title")));
        check(
            &[ASK, CALL, r#"{"$rewindTo":"2"}"#, r#"{"id":"3","type":"user","content":"no"}"#],
            "u:hi | u:no",
        );
        let unknown = session(&[ASK, r#"{"$rewindTo":"nobody"}"#]);
        assert_eq!((sketch(&unknown).as_str(), unknown.warnings[0].line), ("u:hi", Some(3)));
    }

    /// A session as Gemini CLI 0.61 leaves it when it is resumed: two checkpoints, the first with the context alone.
    fn resumed() -> Vec<String> {
        let context = r#"{"id":"0","type":"user","content":"<session_context>\nhere\n</session_context>"}"#;
        let call = r#"{"id":"2","type":"gemini","content":[{"functionCall":{"id":"c","name":"ls","args":{"p":1}}}]}"#;
        let response = |id: &str| {
            format!(
                r#"{{"id":"{id}","type":"user","content":[{{"functionResponse":{{"id":"c","name":"ls","response":{{"output":"a b"}}}}}}]}}"#
            )
        };
        let all = [context, ASK, call, &response("2_response"), &response("3")].join(",");
        vec![
            format!(r#"{{"$set":{{"messages":[{context}]}}}}"#),
            ASK.into(),
            CALL.into(),
            response("3"),
            format!(r#"{{"$set":{{"messages":[{context}]}}}}"#),
            format!(r#"{{"$set":{{"messages":[{all}]}}}}"#),
            r#"{"id":"5","type":"user","content":"and now b"}"#.into(),
        ]
    }

    #[test]
    fn resuming_a_session_is_no_compaction() {
        let lines = resumed();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let read = session(&lines);
        let expected = "u:<session_context>\nhere\n</session_context> | u:hi | m:thought[**Plan** look] call(c) | \
                        u:result(c=a b) | u:and now b";
        assert_eq!(sketch(&read), expected);
        assert_eq!(read.info.compactions, 0);
        let twice: Vec<&str> = lines.iter().chain(&lines[4..6]).copied().collect();
        assert_eq!(session(&twice).info.compactions, 0);
        let replay = Replay::read(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes()).expect("a log");
        assert_eq!(replay.said().len(), 5, "nothing is there twice");
        assert_eq!(replay.history(), replay.messages().iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_checkpoint_repeats_messages_with_an_exact_record() {
        let call =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        let response = r#"{"id":"3","type":"user","content":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a b"}}}]}"#;
        let exact = r#"{"$longhaul":{"v":1,"kind":"exact","message":{"id":"3","role":"user","parts":[{"read":0,"result":{"call":"c","output":"text"}}]}}}"#;
        let checkpoint = format!(r#"{{"$set":{{"messages":[{ASK},{call},{response}]}}}}"#);
        let next = r#"{"id":"5","type":"user","content":"and now b"}"#;
        let lines = [HEADER, ASK, call, response, exact, &checkpoint, next];
        let replay = Replay::read(format!("{}\n", lines.join("\n")).as_bytes()).expect("a log");
        assert_eq!(replay.said().len(), 4, "nothing is there twice");
        let numbers: Vec<u32> =
            replay.said().iter().filter_map(|said| said.ordinal).map(|number| number.0).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        // As Gemini CLI has it once it resumed: the result stands in the call's message as well.
        let answered = call.replace(
            r#""args":{}"#,
            r#""args":{},"result":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a b"}}}]"#,
        );
        let resumed = checkpoint.replace(call, &answered);
        let lines = [HEADER, ASK, call, response, exact, &resumed, next];
        let replay = Replay::read(format!("{}\n", lines.join("\n")).as_bytes()).expect("a log");
        let ids: Vec<&str> = replay.said().iter().map(|said| said.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "3", "5"]);
        let changed = checkpoint.replace("a b", "b c");
        let lines = [HEADER, ASK, call, response, exact, &changed, next];
        let replay = Replay::read(format!("{}\n", lines.join("\n")).as_bytes()).expect("a log");
        assert_eq!(replay.said().len(), 5, "another result is another form");
    }

    #[test]
    fn the_same_call_again_does_not_hide_one_that_was_dropped() {
        let call = |id: &str| {
            format!(
                r#"{{"id":"{id}","type":"gemini","content":"","toolCalls":[{{"id":"{id}-0","name":"ls","args":{{}}}}]}}"#
            )
        };
        let (first, second) = (call("2"), call("4"));
        let dropping = format!(r#"{{"$set":{{"messages":[{ASK}]}}}}"#);
        let repeating = format!(r#"{{"$set":{{"messages":[{ASK},{second}]}}}}"#);
        let lines = [HEADER, ASK, &first, &dropping, &second, &repeating];
        let replay = Replay::read(format!("{}\n", lines.join("\n")).as_bytes()).expect("a log");
        let ids: Vec<&str> = replay.said().iter().map(|said| said.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "4"]);
    }

    #[test]
    fn what_another_program_compacted_away_was_said_all_the_same() {
        let mut lines = resumed();
        lines.push(r#"{"id":"6","type":"gemini","content":"b it is"}"#.into());
        let summary = r#"{"id":"n1","type":"user","content":"You must push to main. Always."},{"id":"n2","type":"gemini","content":"Got it. Thanks for the additional context!"}"#;
        let tail = |mark: &str| {
            format!(
                r#"{{"id":"{mark}3","type":"user","content":"and now b"}},{{"id":"{mark}4","type":"gemini","content":[{{"text":"b it is"}}]}}"#
            )
        };
        lines.push(format!(r#"{{"$set":{{"messages":[{summary},{}]}}}}"#, tail("n")));
        let again = summary.replace("\"n", "\"x");
        lines.push(format!(r#"{{"$set":{{"messages":[{again},{}]}}}}"#, tail("x")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let read = session(&lines);
        assert_eq!(read.info.compactions, 1, "the same summary again is no second one");
        let summary = &read.transcript.messages()[0];
        assert_eq!(summary.parts[0].origin, Origin::Summary, "no person typed it");
        let replay = Replay::read(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes()).expect("a log");
        let texts: Vec<&str> = replay
            .history()
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| part.as_text())
            .collect();
        let expected = [
            "<session_context>\nhere\n</session_context>",
            "hi",
            "You must push to main. Always.",
            "Got it. Thanks for the additional context!",
            "and now b",
            "b it is",
        ];
        assert_eq!(texts, expected);
        assert!(replay.history().is_sorted_by_key(|message| message.ordinal));
    }

    #[test]
    fn results_belong_to_their_call_by_position() {
        let call = |id: &str| {
            format!(
                r#"{{"id":"{id}","type":"gemini","content":[{{"functionCall":{{"id":"call_0","name":"ls","args":{{}}}}}}]}}"#
            )
        };
        let response = |id: &str, text: &str| {
            format!(
                r#"{{"id":"{id}","type":"user","content":[{{"functionResponse":{{"id":"call_0","name":"ls","response":{{"output":"{text}"}}}}}}]}}"#
            )
        };
        let lines =
            [call("a"), response("a_response", "one"), response("b", "one"), call("c"), response("d", "two")];
        let expected = "u:hi | m:call(call_0) | u:result(call_0=one) | m:call(call_0) | u:result(call_0=two)";
        check(&[ASK, &lines[0], &lines[1], &lines[2], &lines[3], &lines[4]], expected);
        let checkpoint = format!(r#"{{"$set":{{"messages":[{ASK},{}]}}}}"#, lines.join(","));
        check(&[ASK, &checkpoint], expected);
        // Calls that lost their id when the history was compacted, and results that did not.
        let nameless = call("a").replace(r#""id":"call_0","#, "");
        check(&[ASK, &nameless, &lines[1], &lines[2]], "u:hi | m:call(lh-call-1) | u:result(lh-call-1=one)");
    }

    #[test]
    fn of_two_messages_that_answer_a_call_the_newer_counts() {
        let response = |text: &str, more: &str| {
            format!(
                r#"{{"id":"3","type":"user","content":[{{"functionResponse":{{"id":"c","name":"ls","response":{{"output":"{text}"}}}}}}{more}]}}"#
            )
        };
        let renewed = "u:hi | m:thought[**Plan** look] call(c) | u:result(c=new)";
        check(&[ASK, CALL, &response("new", "")], renewed);
        let status = session(&[ASK, CALL, &response("new", "")]).transcript.messages()[2]
            .results()
            .next()
            .map(|result| result.status);
        assert_eq!(status, Some(ToolStatus::Succeeded));
        check(&[ASK, CALL, &response("new", r#",{"text":"go on"}"#)], &format!("{renewed} | u:go on"));
        let open =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        check(
            &[ASK, open, &response("old", ""), CALL],
            "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b)",
        );
        let checkpoint = format!(r#"{{"$set":{{"messages":[{ASK},{CALL},{}]}}}}"#, response("new", ""));
        check(&[ASK, CALL, &checkpoint], renewed);
    }

    #[test]
    fn a_call_has_one_result_the_newer_of_two() {
        let twice = r#"{"id":"3","type":"user","content":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"old"}}},{"functionResponse":{"id":"c","name":"ls","response":{"output":"new"}}}]}"#;
        let open =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        check(&[ASK, open, twice], "u:hi | m:call(c) | u:result(c=new)");
    }

    #[test]
    fn what_was_taken_back_may_be_answered_again() {
        let open =
            r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls","args":{}}]}"#;
        let response = |id: &str, text: &str| {
            format!(
                r#"{{"id":"{id}","type":"user","content":[{{"functionResponse":{{"id":"c","name":"ls","response":{{"output":"{text}"}}}}}}]}}"#
            )
        };
        check(
            &[ASK, open, &response("3", "old"), r#"{"$rewindTo":"3"}"#, &response("4", "new")],
            "u:hi | m:call(c) | u:result(c=new)",
        );
    }

    #[test]
    fn other_records_are_passed_over() {
        let read = session(&[
            r#"{"id":"a","type":"info","content":"welcome"}"#,
            ASK,
            r#"{"$set":{"lastUpdated":"2026-01-02T05:00:00.000Z"}}"#,
            r#"{"$longhaul":{"v":1,"kind":"mask"}}"#,
        ]);
        assert_eq!(sketch(&read), "u:hi");
        assert_eq!(read.info.skipped.iter().collect::<Vec<_>>(), [("$longhaul", 1), ("info", 1)]);
        assert_eq!(read.info.ended.map(|at| at.to_minute()).as_deref(), Some("2026-01-02 05:00"));
    }

    #[test]
    fn the_older_form_is_read_on_one_line_and_on_many() {
        let text = format!(
            r#"{{"sessionId":"s","projectHash":"p","startTime":"2026-01-02T03:04:05Z","messages":[{ASK},{CALL}]}}"#
        );
        let pretty = text.replace("},{", "},\n{");
        for text in [text, pretty] {
            let read = read_session(text.as_bytes()).expect("a session");
            assert_eq!(read.info.format, Format::GeminiJson);
            assert_eq!(sketch(&read), "u:hi | m:thought[**Plan** look] call(c) | u:result(c=a b)");
        }
    }
}
