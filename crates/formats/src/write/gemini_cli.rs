//! Writes Gemini CLI sessions: a record a line, or the older single object.
//!
//! The results that follow a model's message are written into its tool calls, as Gemini CLI does; they come back as one
//! message, whose id is the model message's with `_response`.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{
    Body, CallId, Message, MessageId, Origin, Output, Part, Role, Timestamp, ToolCall, ToolResult,
    ToolStatus, Usage, Vendor,
};
use longhaul_wire::{
    LossKind, Losses, PLAIN, Piece, add_missing, call_names, fields_of, keep_fields, lose_fields, object,
    pieces, plain_origin, says_something,
};
use serde_json::{Map, Value};

use super::shared::{Clock, hash, lose_setup, lose_side_chains, push_line, session_id};
use longhaul_wire::gemini::{MadeUpIds, encode_part, fit_part, fit_result};

use crate::records::{response_id, status_word};
use crate::{Format, Session};

/// The session as lines.
pub(super) fn jsonl(session: &Session, losses: &mut Losses) -> String {
    let mut text = String::new();
    let mut head = head(session);
    head.insert("kind".into(), "main".into());
    push_line(&mut text, &Value::Object(head));
    each_record(session, losses, |record| push_line(&mut text, &record));
    text
}

/// The session as one object.
pub(super) fn json(session: &Session, losses: &mut Losses) -> Value {
    let mut document = head(session);
    let mut records = Vec::new();
    each_record(session, losses, |record| records.push(record));
    document.insert("messages".into(), Value::Array(records));
    Value::Object(document)
}

fn head(session: &Session) -> Map<String, Value> {
    let info = &session.info;
    let times = || session.transcript.messages().iter().filter_map(|message| message.at);
    let project = info.project.clone().unwrap_or_else(|| {
        // Gemini CLI has a hash of the project's folder here; any will do where it is not known.
        hash(info.directory.as_deref().unwrap_or_default()).to_string()
    });
    let mut head = object([("sessionId", session_id(session).into()), ("projectHash", project.into())]);
    let started = info.started.or_else(|| times().min());
    let ended = info.ended.or_else(|| times().max());
    for (key, time) in [("startTime", started), ("lastUpdated", ended)] {
        if let Some(time) = time {
            head.insert(key.into(), time.to_string().into());
        }
    }
    if let Some(title) = &info.title {
        head.insert("summary".into(), title.as_str().into());
    }
    if let Some(directory) = &info.directory {
        head.insert("directories".into(), Value::Array(vec![directory.as_str().into()]));
    }
    head
}

/// Hands over the records of all messages one by one, so that a long session is not held as JSON, too.
fn each_record(session: &Session, losses: &mut Losses, mut emit: impl FnMut(Value)) {
    lose_setup(session, losses);
    lose_side_chains(session, losses);
    let messages = session.transcript.messages();
    let mut writer = Writer {
        losses,
        names: call_names(messages),
        ids: messages.iter().map(|message| &message.id).collect(),
        is_own: matches!(session.info.format, Format::GeminiJsonl | Format::GeminiJson),
        answered: HashMap::new(),
        clock: Clock::of(session),
    };
    let mut emit = |record: Value| {
        if has_content(&record) {
            emit(record);
        }
    };
    let mut rest = messages;
    while let Some((message, behind)) = rest.split_first() {
        rest = behind;
        if !message.parts.iter().any(says_something) {
            continue;
        }
        match message.role {
            Role::User => emit(writer.user(&message.id, message, &message.parts)),
            Role::Model => {
                let answers = writer.take_answers(message, behind);
                emit(writer.model(message, &answers));
                rest = &behind[answers.whole..];
                if let Some((left, parts)) = answers.rest {
                    rest = &rest[1..];
                    let response = response_id(&message.id);
                    let id = if left.id == response { writer.free_id(&response) } else { left.id.clone() };
                    emit(writer.user(&id, left, parts));
                }
            }
        }
    }
}

/// One message as a record. Results in it are named by `names` where they do not say which tool they are of; those of calls
/// that other messages answer, by `answered`, are left out.
pub(crate) fn encode_record(
    message: &Message,
    names: HashMap<&CallId, &str>,
    answered: HashMap<CallId, MessageId>,
) -> Value {
    let mut losses = Losses::default();
    let mut writer = Writer { answered, ..Writer::of_one(&mut losses, names) };
    match message.role {
        Role::User => writer.user(&message.id, message, &message.parts),
        Role::Model => writer.model(message, &Answers::default()),
    }
}

/// A model's message with the message that answers its calls as one record; `None` if that would not be all of the answer.
pub fn encode_answered(model: &Message, response: &Message) -> Option<Value> {
    if response.id != response_id(&model.id)
        || response.results().next().is_none()
        || response.extra.is_some()
    {
        return None;
    }
    let mut losses = Losses::default();
    let mut writer = Writer::of_one(&mut losses, call_names(std::slice::from_ref(model)));
    let answers = writer.take_answers(model, std::slice::from_ref(response));
    (answers.whole == 1 && answers.rest.is_none()).then(|| writer.model(model, &answers))
}

/// True if anything is left to say in a record.
fn has_content(record: &Value) -> bool {
    let is_filled = |key: &str| record[key].as_array().is_some_and(|list| !list.is_empty());
    ["content", "thoughts", "toolCalls"].into_iter().any(is_filled)
}

struct Writer<'a> {
    losses: &'a mut Losses,
    names: HashMap<&'a CallId, &'a str>,
    ids: HashSet<&'a MessageId>,
    /// True if the session comes from Gemini CLI, so that its records' further fields have a place here.
    is_own: bool,
    /// The message that answers each call: there is one for the reader, too.
    answered: HashMap<CallId, MessageId>,
    clock: Clock,
}

/// The results of a model's calls in the messages after it.
#[derive(Default)]
struct Answers<'a> {
    /// The result of each call, with what came behind it.
    parts: HashMap<&'a CallId, Vec<&'a Part>>,
    at: Option<Timestamp>,
    /// The number of messages that went into it whole.
    whole: usize,
    /// The message behind those, if it was taken in part, and what is left of it.
    rest: Option<(&'a Message, &'a [Part])>,
}

impl<'a> Writer<'a> {
    /// Writes single messages of a session that is Gemini CLI's own.
    fn of_one(losses: &'a mut Losses, names: HashMap<&'a CallId, &'a str>) -> Self {
        let clock = Clock::default();
        Self { losses, names, ids: HashSet::new(), is_own: true, answered: HashMap::new(), clock }
    }

    /// Takes the results behind a model's message, as long as they come in the order of its calls.
    fn take_answers(&mut self, message: &'a Message, behind: &'a [Message]) -> Answers<'a> {
        let mut answers = Answers::default();
        let response = response_id(&message.id);
        let open: Vec<&CallId> = message.calls().map(|call| &call.id).collect();
        // An id that was used before waits for a result again: some servers number the calls of each answer anew.
        open.iter().for_each(|call| drop(self.answered.remove(*call)));
        let mut open = open.as_slice();
        let mut last = None;
        for message in behind {
            // The name must not be another message's.
            let is_free = message.id == response || !self.ids.contains(&response);
            // Two results of one call can only stand together, in a record of the user's side.
            let mut answered = HashSet::new();
            let is_single = message.results().all(|result| answered.insert(&result.call));
            if message.role != Role::User || !is_free || !is_single {
                break;
            }
            let mut taken = 0;
            for part in &message.parts {
                let place =
                    part.as_result().and_then(|result| open.iter().position(|id| **id == result.call));
                if let Some(place) = place {
                    last = Some(open[place]);
                    self.answered.insert(open[place].clone(), response.clone());
                    open = &open[place + 1..];
                } else if part.as_result().is_some() || part.origin != Origin::Tool || last.is_none() {
                    break;
                }
                answers.parts.entry(last.expect("a result came first")).or_default().push(part);
                taken += 1;
            }
            if taken == 0 && !message.parts.is_empty() {
                break;
            }
            answers.at = answers.at.max(message.at);
            self.losses.at(message);
            if taken < message.parts.len() {
                answers.rest = Some((message, &message.parts[taken..]));
                break;
            }
            lose_fields(&message.extra, self.losses);
            answers.whole += 1;
        }
        answers
    }

    fn free_id(&self, wanted: &MessageId) -> MessageId {
        let numbered = (2..).map(|number| MessageId::new(format!("{wanted}-{number}")));
        numbered.into_iter().find(|id| !self.ids.contains(id)).expect("there are more numbers than messages")
    }

    /// A record of the user's side.
    fn user(&mut self, id: &MessageId, message: &Message, parts: &[Part]) -> Value {
        self.losses.at(message);
        let mut content = Vec::new();
        let newest: HashMap<&CallId, &ToolResult> =
            parts.iter().filter_map(Part::as_result).map(|result| (&result.call, result)).collect();
        for piece in pieces(parts, &PLAIN) {
            match piece {
                piece @ Piece::Text { extra, reads_back, origin, .. } => {
                    // Tags cannot tell that a person typed it, nor that the model said it.
                    if !reads_back && matches!(origin, Origin::User | Origin::Model) {
                        self.losses.add(LossKind::Origin, origin.as_str());
                    }
                    let part = Part { extra: extra.clone(), ..Part::text(origin, piece.told_text()) };
                    content.extend(self.part(&part));
                }
                Piece::Other(part) => {
                    if let Some(result) = part.as_result()
                        && (self.answered.entry(result.call.clone()).or_insert_with(|| id.clone()) != id
                            || !std::ptr::eq(newest[&result.call], result))
                    {
                        self.losses.add(LossKind::SecondResult, result.call.as_str());
                        continue;
                    }
                    self.check_origin(part, Role::User);
                    content.extend(self.part(part));
                }
            }
        }
        let mut record = self.record(id, message, "user");
        record.insert("content".into(), Value::Array(content));
        self.add_fields(&mut record, message);
        Value::Object(record)
    }

    /// A record of the model's.
    fn model(&mut self, message: &Message, answers: &Answers<'_>) -> Value {
        self.losses.at(message);
        let mut record = self.record(&message.id, message, "gemini");
        let mut fitted = Vec::new();
        for part in message.parts.iter().filter(|part| says_something(part)) {
            self.check_origin(part, Role::Model);
            fitted.extend(fit_part(part, &self.names, self.losses).filter(says_something));
        }
        let is_plain = is_plain(&fitted);
        let in_content = |part: &&Part| !is_plain || !matches!(part.body, Body::Thought(_) | Body::Call(_));
        let content = fitted.iter().filter(in_content).map(|part| encode_part(part, MadeUpIds::Written));
        record.insert("content".into(), content.collect());
        if is_plain && fitted.iter().any(|part| matches!(part.body, Body::Thought(_))) {
            let thoughts = fitted.iter().filter_map(|part| encode_thought(part, message.at));
            record.insert("thoughts".into(), thoughts.collect());
        }
        let mut written = HashSet::new();
        let calls = fitted.iter().filter_map(Part::as_call).filter(|call| written.insert(&call.id));
        let calls: Vec<Value> = calls.map(|call| self.call(call, answers)).collect();
        if !calls.is_empty() {
            record.insert("toolCalls".into(), Value::Array(calls));
        }
        if let Some(usage) = &message.usage {
            record.insert("tokens".into(), Value::Object(encode_tokens(usage)));
        }
        if let Some(model) = &message.model {
            record.insert("model".into(), model.as_str().into());
        }
        self.losses.at(message);
        self.add_fields(&mut record, message);
        Value::Object(record)
    }

    fn record(&mut self, id: &MessageId, message: &Message, kind: &str) -> Map<String, Value> {
        let mut record = object([("id", id.as_str().into())]);
        if let Some(at) = self.clock.at(message) {
            record.insert("timestamp".into(), at.to_string().into());
        }
        record.insert("type".into(), kind.into());
        record
    }

    fn add_fields(&mut self, record: &mut Map<String, Value>, message: &Message) {
        if self.is_own {
            add_missing(record, fields_of(&keep_fields(&message.extra, Vendor::Agent, self.losses)));
        } else {
            lose_fields(&message.extra, self.losses);
        }
    }

    fn part(&mut self, part: &Part) -> Option<Value> {
        let fitted = fit_part(part, &self.names, self.losses).filter(says_something)?;
        Some(encode_part(&fitted, MadeUpIds::Written))
    }

    fn check_origin(&mut self, part: &Part, role: Role) {
        if part.origin != origin_when_read(part, role) {
            self.losses.add(LossKind::Origin, part.origin.as_str());
        }
    }

    /// A call with its outcome.
    fn call(&mut self, call: &ToolCall, answers: &Answers<'_>) -> Value {
        let mut encoded = object([
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("args", call.args.clone()),
        ]);
        let Some(parts) = answers.parts.get(&call.id) else { return Value::Object(encoded) };
        let status = parts[0].as_result().map(|result| result.status).unwrap_or_default();
        if status != ToolStatus::Unstated {
            encoded.insert("status".into(), status_word(status).into());
        }
        if let Some(text) = bare_text(parts, &call.name) {
            encoded.insert("result".into(), text.into());
            return timed(encoded, answers.at);
        }
        let result = parts.iter().filter_map(|part| match &part.body {
            Body::Result(result) => {
                let body = Body::Result(Box::new(self.stated_result(result)));
                let extra = keep_fields(&part.extra, Vendor::Gemini, self.losses);
                Some(encode_part(&Part { origin: part.origin, body, extra }, MadeUpIds::Written))
            }
            _ => self.part(part),
        });
        encoded.insert("result".into(), result.collect());
        timed(encoded, answers.at)
    }

    /// The result beside a status of its own: whether the call failed need not show in the answer.
    fn stated_result(&mut self, result: &ToolResult) -> ToolResult {
        if result.status == ToolStatus::Unstated {
            return fit_result(result, &self.names, self.losses);
        }
        let has_texts = result.nested.iter().any(|part| part.as_text().is_some());
        let status = match result.status {
            ToolStatus::Cancelled => ToolStatus::Failed,
            status => status,
        };
        let fitted = fit_result(&ToolResult { status, ..result.clone() }, &self.names, self.losses);
        match &result.output {
            Output::Structured(Value::Object(_)) if !has_texts => {
                ToolResult { output: result.output.clone(), ..fitted }
            }
            _ => fitted,
        }
    }
}

/// The call with the time of its answer.
fn timed(mut call: Map<String, Value>, at: Option<Timestamp>) -> Value {
    if let Some(at) = at {
        call.insert("timestamp".into(), at.to_string().into());
    }
    Value::Object(call)
}

/// The answer, if it is one text and nothing more, which may stand in the record as it is.
fn bare_text<'a>(parts: &[&'a Part], tool: &str) -> Option<&'a str> {
    let [part] = parts else { return None };
    let result = part.as_result()?;
    let is_bare = part.extra.is_none() && result.nested.is_empty();
    let is_fine = matches!(result.status, ToolStatus::Unstated | ToolStatus::Succeeded);
    let is_named = result.name.as_deref() == Some(tool);
    match &result.output {
        Output::Text(text) if is_bare && is_fine && is_named => Some(text),
        _ => None,
    }
}

/// The origin that the readers of Gemini parts give a part which is no text of the user's side.
pub(super) fn origin_when_read(part: &Part, role: Role) -> Origin {
    match &part.body {
        Body::Thought(_) => Origin::Model,
        Body::Opaque(opaque) if role == Role::User && opaque.value.is_object() => Origin::Hook,
        _ => plain_origin(part, role),
    }
}

/// True if the parts are thoughts, then content, then calls, none of which says more than the record's fields for them
/// can hold.
fn is_plain(parts: &[Part]) -> bool {
    let place = |part: &Part| match &part.body {
        Body::Thought(_) => 0,
        Body::Call(_) => 2,
        _ => 1,
    };
    let is_bare = |part: &Part| match &part.body {
        Body::Thought(thought) => {
            thought.signature.is_none() && !thought.text.is_empty() && part.extra.is_none()
        }
        Body::Call(_) => part.extra.is_none(),
        _ => true,
    };
    let mut ids = HashSet::new();
    parts.is_sorted_by_key(place)
        && parts.iter().all(is_bare)
        && parts.iter().filter_map(Part::as_call).all(|call| ids.insert(&call.id))
}

/// A thought as a subject and its description.
fn encode_thought(part: &Part, at: Option<Timestamp>) -> Option<Value> {
    let Body::Thought(thought) = &part.body else { return None };
    let titled = thought.text.strip_prefix("**").and_then(|text| text.split_once("** "));
    let (subject, description) =
        titled.filter(|(subject, _)| !subject.is_empty()).unwrap_or(("", &thought.text));
    let mut encoded = object([("subject", subject.into()), ("description", description.into())]);
    if let Some(at) = at {
        encoded.insert("timestamp".into(), at.to_string().into());
    }
    Some(Value::Object(encoded))
}

/// The token figures that are known.
pub(super) fn encode_tokens(usage: &Usage) -> Map<String, Value> {
    let figures = [
        ("input", usage.input),
        ("output", usage.output),
        ("cached", usage.cached),
        ("thoughts", usage.thoughts),
        ("tool", usage.tool),
        ("total", usage.total),
    ];
    figures.into_iter().filter_map(|(key, count)| Some((key.to_string(), count?.0.into()))).collect()
}
