//! Writes opencode sessions, as `opencode import` takes them.
//!
//! A tool's call and its result are one part of the model's message. opencode sorts messages by their ids and times, so both rise.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{
    Body, CallId, Media, MediaData, Message, Origin, Part, Role, Timestamp, ToolCall, ToolResult, ToolStatus,
    Usage,
};
use longhaul_wire::{
    Fields, LossKind, Losses, PLAIN, Piece, lose_fields, lose_misplaced, object, pieces, plain_origin,
    says_something,
};
use serde_json::{Map, Value, json};

use super::shared::{Clock, hash, lose_request_fields, lose_setup, lose_side_chains, session_id};
use crate::read::opencode::unquoted;
use crate::{Format, Session};

/// The version of opencode whose documents these are.
const VERSION: &str = "1.18.33";
/// The agent that goes on with the session: opencode's default.
const AGENT: &str = "build";
/// The title of a session that has none.
const UNTITLED: &str = "Imported session";
/// The provider and model of messages that name none. opencode needs both, and asks the user's own where it does not know them.
const UNKNOWN: (&str, &str) = ("unknown", "unknown");

/// The session as one document.
pub(super) fn document(session: &Session, losses: &mut Losses) -> Value {
    match session.info.format {
        Format::OpenCode => lose_request_fields(session, losses),
        _ => lose_setup(session, losses),
    }
    lose_side_chains(session, losses);
    let info = &session.info;
    let messages = session.transcript.messages();
    let started = info.started.or_else(|| messages.iter().find_map(|message| message.at));
    let started = started.unwrap_or(Timestamp::from_millis(0));
    let id = opencode_session_id(session, started);
    let directory = info.directory.clone().unwrap_or_else(|| "/".into());
    let mut writer = Writer {
        losses,
        session: id.clone(),
        directory: directory.clone(),
        model: model_of(info.chosen_model.as_deref().or(info.model())),
        answers: answers(messages),
        taken: HashSet::new(),
        clock: Clock::of(session),
        last: started.as_millis().unsigned_abs() << COUNTER_BITS,
        parent: None,
        messages: Vec::new(),
    };
    for message in messages {
        writer.message(message);
    }
    let written = writer.messages;
    let ended = info.ended.unwrap_or(started).max(started);
    let slug: String = id.chars().rev().take(8).collect::<String>().to_lowercase();
    json!({
        "info": {
            "id": id, "slug": slug, "projectID": "global", "directory": directory,
            "title": info.title.as_deref().unwrap_or(UNTITLED), "version": VERSION,
            "time": {"created": started.as_millis(), "updated": ended.as_millis()},
        },
        "messages": written,
    })
}

/// The results of calls, each by the call it answers: the first one counts.
fn answers(messages: &[Message]) -> HashMap<&CallId, &ToolResult> {
    let mut answers = HashMap::new();
    for result in messages.iter().flat_map(Message::results) {
        answers.entry(&result.call).or_insert(result);
    }
    answers
}

/// The provider and the model of a name such as `anthropic/claude-sonnet-4-5`; whose models have known names is known, too.
fn model_of(name: Option<&str>) -> (String, String) {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return (UNKNOWN.0.into(), UNKNOWN.1.into());
    };
    if let Some((provider, model)) = name.split_once('/') {
        return (provider.into(), model.into());
    }
    let provider = match name {
        _ if name.starts_with("claude") => "anthropic",
        _ if name.starts_with("gemini") => "google",
        _ if name.starts_with("gpt") || name.starts_with('o') => "openai",
        _ => UNKNOWN.0,
    };
    (provider.into(), name.into())
}

/// An id of opencode's: a prefix, 48 bits that rise with time, and 14 letters and digits.
fn identifier(prefix: &str, number: u64, seed: &str) -> String {
    const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let digits = hash(seed).to_string();
    let bits = u128::from_str_radix(&digits, 16).unwrap_or_default();
    let letters = (0..14).scan(bits, |bits, _| {
        let letter = LETTERS[usize::try_from(*bits % 62).unwrap_or_default()];
        *bits /= 62;
        Some(char::from(letter))
    });
    format!("{prefix}_{:012x}{}", number & 0xffff_ffff_ffff, letters.collect::<String>())
}

fn opencode_session_id(session: &Session, started: Timestamp) -> String {
    let own = session_id(session);
    if own.starts_with("ses_") {
        return own;
    }
    new_opencode_session_id(&own, started)
}

/// An id for a session of opencode's: always the same for the same seed and time.
pub fn new_opencode_session_id(seed: &str, at: Timestamp) -> String {
    // The ids of sessions fall with time: the newest stands first.
    identifier("ses", !(at.as_millis().unsigned_abs() << COUNTER_BITS), seed)
}

/// The bits of an id below the milliseconds.
const COUNTER_BITS: u32 = 12;

struct Writer<'a> {
    losses: &'a mut Losses,
    session: String,
    directory: String,
    model: (String, String),
    /// The result of each call.
    answers: HashMap<&'a CallId, &'a ToolResult>,
    /// The calls whose results were written.
    taken: HashSet<CallId>,
    clock: Clock,
    /// The number of the id given last.
    last: u64,
    /// The user's message that the model answers.
    parent: Option<String>,
    messages: Vec<Value>,
}

impl<'a> Writer<'a> {
    fn message(&mut self, message: &'a Message) {
        self.losses.at(message);
        lose_fields(&message.extra, self.losses);
        let millis = self.clock.at(message).map_or(0, |at| at.as_millis().unsigned_abs());
        self.last = self.last.max(millis << COUNTER_BITS) + 1;
        let created = self.last >> COUNTER_BITS;
        let id = identifier("msg", self.last, message.id.as_str());
        match message.role {
            Role::User => self.user(message, &id, created),
            Role::Model => self.model(message, &id, created),
        }
    }

    fn user(&mut self, message: &'a Message, id: &str, created: u64) {
        let mut parts = Vec::new();
        for piece in pieces(&message.parts, &PLAIN) {
            match piece {
                Piece::Text { text, extra, reads_back: false, origin: Origin::Hook, .. } => {
                    // What the program put in has a mark of its own.
                    lose_fields(extra, self.losses);
                    if !text.is_empty() {
                        parts.push(object([
                            ("type", "text".into()),
                            ("synthetic", true.into()),
                            ("text", text.into()),
                        ]));
                    }
                }
                piece @ Piece::Text { extra, reads_back, origin, .. } => {
                    lose_fields(extra, self.losses);
                    if !reads_back && matches!(origin, Origin::User | Origin::Model) {
                        self.losses.add(LossKind::Origin, origin.as_str());
                    }
                    let text = piece.told_text();
                    if !text.is_empty() {
                        let text = match unquoted(&text) {
                            // Its reader would take the marks for those of a command line.
                            Some(_) => format!("\"{}\"", text.replace('"', "\\\"")),
                            None => text,
                        };
                        parts.push(object([("type", "text".into()), ("text", text.into())]));
                    }
                }
                Piece::Other(part) => match &part.body {
                    // It stands with its call.
                    Body::Result(result) if self.taken.remove(&result.call) => {
                        lose_fields(&part.extra, self.losses);
                    }
                    _ => {
                        if part.origin != plain_origin(part, Role::User) {
                            self.losses.add(LossKind::Origin, part.origin.as_str());
                        }
                        parts.extend(self.other(part));
                    }
                },
            }
        }
        if parts.is_empty() {
            return;
        }
        let (provider, model) = &self.model;
        let info = json!({
            "id": id, "sessionID": self.session, "role": "user", "time": {"created": created}, "agent": AGENT,
            "model": {"providerID": provider, "modelID": model},
        });
        self.parent = Some(id.to_string());
        self.put(id, &info, parts);
    }

    fn model(&mut self, message: &'a Message, id: &str, created: u64) {
        let mut parts: Vec<Fields> = Vec::new();
        for part in message.parts.iter().filter(|part| says_something(part)) {
            if part.origin != plain_origin(part, Role::Model) {
                self.losses.add(LossKind::Origin, part.origin.as_str());
            }
            let time = json!({"start": created, "end": created});
            match &part.body {
                Body::Text(text) => {
                    lose_fields(&part.extra, self.losses);
                    if !text.is_empty() {
                        let text = text.as_str();
                        parts.push(object([("type", "text".into()), ("text", text.into()), ("time", time)]));
                    }
                }
                Body::Thought(thought) => {
                    lose_fields(&part.extra, self.losses);
                    if thought.signature.is_some() {
                        self.losses.add(LossKind::Signature, "");
                    }
                    if !thought.text.is_empty() {
                        let text = thought.text.as_str();
                        parts.push(object([
                            ("type", "reasoning".into()),
                            ("text", text.into()),
                            ("time", time),
                        ]));
                    }
                }
                Body::Call(call) => {
                    lose_fields(&part.extra, self.losses);
                    let state = self.state(call, created);
                    parts.push(object([
                        ("type", "tool".into()),
                        ("tool", call.name.as_str().into()),
                        ("callID", call.id.as_str().into()),
                        ("state", state),
                    ]));
                }
                _ => parts.extend(self.other(part)),
            }
        }
        if parts.is_empty() {
            return;
        }
        let (provider, model) = match &message.model {
            Some(name) => model_of(Some(name)),
            None => self.model.clone(),
        };
        let parent = self.parent.clone().unwrap_or_else(|| identifier("msg", 0, &self.session));
        let info = json!({
            "id": id, "sessionID": self.session, "role": "assistant", "parentID": parent, "mode": AGENT, "agent": AGENT,
            "path": {"cwd": self.directory, "root": self.directory}, "cost": 0,
            "tokens": tokens(message.usage.as_deref().copied().unwrap_or_default()),
            "modelID": model, "providerID": provider, "time": {"created": created, "completed": created}, "finish": "stop",
        });
        self.put(id, &info, parts);
    }

    /// A call with its outcome.
    fn state(&mut self, call: &ToolCall, at: u64) -> Value {
        let input = match &call.args {
            args @ Value::Object(_) => args.clone(),
            args => {
                self.losses.add(LossKind::Arguments, &call.name);
                json!({"input": args})
            }
        };
        let Some(result) = self.answers.get(&call.id).copied() else {
            return json!({"status": "pending", "input": input, "raw": ""});
        };
        if !self.taken.insert(call.id.clone()) {
            return json!({"status": "pending", "input": input, "raw": ""});
        }
        let is_text = |part: &&Part| part.as_text().is_some();
        let alone =
            ToolResult { nested: result.nested.iter().filter(is_text).cloned().collect(), ..result.clone() };
        let text = alone.readable().into_owned();
        let time = json!({"start": at, "end": at});
        match result.status {
            ToolStatus::Failed | ToolStatus::Cancelled => {
                if result.status == ToolStatus::Cancelled {
                    self.losses.add(LossKind::Status, call.id.as_str());
                }
                result
                    .nested
                    .iter()
                    .filter(|part| !is_text(part))
                    .for_each(|part| lose_misplaced(part, self.losses));
                json!({"status": "error", "input": input, "error": text, "time": time})
            }
            _ => {
                let files =
                    result.nested.iter().filter(|part| !is_text(part)).filter_map(|part| self.file(part));
                let files: Vec<Value> = files.map(Value::Object).collect();
                let mut state = json!({
                    "status": "completed", "input": input, "output": text, "title": call.name, "metadata": {}, "time": time,
                });
                if !files.is_empty() {
                    state["attachments"] = Value::Array(files);
                }
                state
            }
        }
    }

    /// Media and files; nothing else has a place here.
    fn other(&mut self, part: &Part) -> Option<Fields> {
        lose_fields(&part.extra, self.losses);
        self.file(part)
    }

    fn file(&mut self, part: &Part) -> Option<Fields> {
        let (mime, url) = match &part.body {
            Body::Media(media) => (media.mime.clone(), data_url(media)),
            Body::File(file) => {
                (file.mime.clone().unwrap_or_else(|| "text/plain".into()), Some(file.uri.clone()))
            }
            Body::Opaque(opaque) => {
                let kind = opaque.value.get("type").and_then(Value::as_str).unwrap_or_default();
                self.losses.add(LossKind::Opaque, kind);
                return None;
            }
            _ => {
                lose_misplaced(part, self.losses);
                return None;
            }
        };
        let Some(url) = url else {
            lose_misplaced(part, self.losses);
            return None;
        };
        Some(object([("type", "file".into()), ("mime", mime.into()), ("url", url.into())]))
    }

    /// Adds a message, its parts with ids of their own.
    fn put(&mut self, id: &str, info: &Value, parts: Vec<Fields>) {
        let number = self.last;
        let with_ids = |(place, mut part): (usize, Map<String, Value>)| {
            let seed = format!("{id} {place}");
            // Parts are sorted by their ids, too; their numbers may meet those of other messages' parts, their letters do not.
            let own = identifier("prt", number + place as u64, &seed);
            part.insert("id".into(), own.into());
            part.insert("sessionID".into(), self.session.as_str().into());
            part.insert("messageID".into(), id.into());
            if let Some(files) = part.get_mut("state").and_then(|state| state.get_mut("attachments")) {
                for (nth, file) in files.as_array_mut().into_iter().flatten().enumerate() {
                    file["id"] = identifier("prt", number, &format!("{seed} {nth}")).into();
                    file["sessionID"] = self.session.as_str().into();
                    file["messageID"] = id.into();
                }
            }
            Value::Object(part)
        };
        let parts: Vec<Value> = parts.into_iter().enumerate().map(with_ids).collect();
        self.messages.push(json!({"info": info, "parts": parts}));
    }
}

fn data_url(media: &Media) -> Option<String> {
    match &media.data {
        MediaData::Base64(data) => Some(format!("data:{};base64,{data}", media.mime)),
        MediaData::Omitted { .. } => None,
    }
}

/// The figures of a call; opencode counts what came from a cache beside the input.
fn tokens(usage: Usage) -> Value {
    let count = |count: Option<longhaul_conversation::TokenCount>| count.unwrap_or_default().0;
    let beside = usage.cached.unwrap_or_default() + usage.written.unwrap_or_default();
    json!({
        "input": usage.input.map_or(0, |input| (input - beside).0), "output": count(usage.output),
        "reasoning": count(usage.thoughts), "cache": {"read": count(usage.cached), "write": count(usage.written)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_session, write_session};

    fn session(messages: Vec<Message>) -> Session {
        let file = r#"{"contents": [{"role": "user", "parts": [{"text": "x"}]}]}"#;
        let mut session = read_session(file.as_bytes()).expect("a session");
        session.transcript = longhaul_conversation::Transcript::from_messages(messages);
        session
    }

    #[test]
    fn ids_and_times_rise_also_where_messages_have_none() {
        let said = |id: &str, role| {
            Message::new(
                id,
                role,
                vec![Part::text(if role == Role::User { Origin::User } else { Origin::Model }, id)],
            )
        };
        let mut first = said("a", Role::User);
        first.at = Some(Timestamp::from_millis(1_795_122_547_269));
        let messages = vec![first, said("b", Role::Model), said("c", Role::User)];
        let document: Value =
            serde_json::from_str(&write_session(Format::OpenCode, &mut session(messages)).text)
                .expect("JSON");
        let infos: Vec<&Value> =
            document["messages"].as_array().expect("a list").iter().map(|it| &it["info"]).collect();
        let ids: Vec<&str> = infos.iter().map(|info| info["id"].as_str().expect("an id")).collect();
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 30), "{ids:?}");
        assert!(ids[0].starts_with("msg_1f5a44a45"), "as opencode itself makes them: {ids:?}");
        assert!(infos.iter().map(|info| info["time"]["created"].as_u64()).is_sorted());
        assert_eq!(infos[1]["parentID"], ids[0]);
        assert!(
            document["info"]["id"].as_str().is_some_and(|id| id.starts_with("ses_e0a5bb")),
            "{}",
            document["info"]["id"]
        );
    }

    #[test]
    fn a_result_stands_with_its_call() {
        let call = ToolCall::new("c1", "bash").with_args(json!({"command": "ls"}));
        let failed = ToolResult::text("c1", "no such file").with_status(ToolStatus::Failed);
        let messages = vec![
            Message::new("u", Role::User, vec![Part::user_text("list")]),
            Message::new("a", Role::Model, vec![Part::call(call)]),
            Message::new("r", Role::User, vec![Part::result(failed), Part::user_text("and now?")]),
        ];
        let written = write_session(Format::OpenCode, &mut session(messages));
        assert_eq!(written.lost, []);
        let back = read_session(written.text.as_bytes()).expect("a session");
        let shown: Vec<String> = back
            .transcript
            .messages()
            .iter()
            .flat_map(|message| &message.parts)
            .map(|part| match &part.body {
                Body::Call(call) => format!("call {}", call.name),
                Body::Result(result) => format!("{:?} {}", result.status, result.readable()),
                _ => part.as_text().unwrap_or_default().to_string(),
            })
            .collect();
        assert_eq!(shown, ["list", "call bash", "Failed no such file", "and now?"]);
    }

    #[test]
    fn models_name_their_provider() {
        for (name, expected) in [
            (Some("claude-sonnet-4-5"), ("anthropic", "claude-sonnet-4-5")),
            (Some("local/qwen/3"), ("local", "qwen/3")),
            (Some("gpt-5"), ("openai", "gpt-5")),
            (None, UNKNOWN),
        ] {
            let (provider, model) = model_of(name);
            assert_eq!((provider.as_str(), model.as_str()), expected);
        }
    }
}
