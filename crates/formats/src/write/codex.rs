//! Writes Codex rollouts: a header, then one record for each item. A conversation that begins with a summary becomes the record
//! of a compaction, which is how Codex itself goes on from one.

use std::collections::HashSet;

use longhaul_conversation::{
    Body, CallId, Extra, Media, MediaData, Message, Opaque, Origin, Output, Part, Role, Thought, Timestamp,
    ToolCall, ToolResult, ToolStatus, Vendor,
};
use longhaul_wire::responses::status_when_read;
use longhaul_wire::{
    Fields, LossKind, Losses, Piece, add_missing, fields_of, keep_fields, lose_fields, lose_misplaced,
    object, pieces, plain_origin, says_something,
};
use serde_json::{Map, Value};

use super::shared::{Clock, lose_request_fields, lose_setup, lose_side_chains, push_line, session_id};
use crate::read::codex::ORIGINS;
use crate::{Format, Session};

/// The version of Codex whose records these are.
const VERSION: &str = "0.169.0";

/// The vendor of items, blocks and fields.
const OWN: Vendor = Vendor::OpenAiResponses;

/// The session as lines.
pub(super) fn jsonl(session: &Session, losses: &mut Losses) -> String {
    // Codex sends its own instruction and tools again when it resumes.
    match session.info.format {
        Format::Codex => lose_request_fields(session, losses),
        _ => lose_setup(session, losses),
    }
    lose_side_chains(session, losses);
    let mut clock = Clock::of(session);
    let messages = session.transcript.messages();
    let started = session.info.started.or_else(|| messages.iter().find_map(|message| message.at));
    let started = started.unwrap_or(Timestamp::from_millis(0));
    let mut text = String::new();
    record(&mut text, started, "session_meta", header(session, started));
    if let Some(title) = &session.info.title {
        let event = object([("type", "thread_name_updated".into()), ("thread_name", title.as_str().into())]);
        record(&mut text, started, "event_msg", event);
    }
    let mut items = Items { losses, custom: HashSet::new(), reasoning: None, list: Vec::new() };
    for (place, message) in messages.iter().enumerate() {
        let at = clock.at(message).unwrap_or(started);
        items.message(message);
        let written = std::mem::take(&mut items.list);
        if place == 0 && is_summary(message) {
            record(&mut text, at, "compacted", compaction(message, written));
            continue;
        }
        for item in written {
            record(&mut text, at, "response_item", item);
        }
    }
    text
}

/// A conversation as one record of a compaction, which replaces all that a rollout said before it. `ordinal` numbers the
/// record where the rollout numbers its records.
pub fn encode_compaction(messages: &[Message], at: Timestamp, ordinal: Option<u64>) -> String {
    let mut losses = Losses::default();
    let mut items = Items { losses: &mut losses, custom: HashSet::new(), reasoning: None, list: Vec::new() };
    messages.iter().for_each(|message| items.message(message));
    let list = std::mem::take(&mut items.list);
    let payload = messages.first().map(|first| compaction(first, list)).unwrap_or_default();
    let mut line = String::new();
    let mut encoded = object([("timestamp", at.to_string().into())]);
    if let Some(ordinal) = ordinal {
        encoded.insert("ordinal".into(), ordinal.into());
    }
    encoded.insert("type".into(), "compacted".into());
    encoded.insert("payload".into(), Value::Object(payload));
    push_line(&mut line, &Value::Object(encoded));
    line
}

fn record(text: &mut String, at: Timestamp, kind: &str, payload: Fields) {
    let at = at.to_string();
    let line = object([("timestamp", at.into()), ("type", kind.into()), ("payload", Value::Object(payload))]);
    push_line(text, &Value::Object(line));
}

fn header(session: &Session, started: Timestamp) -> Fields {
    let info = &session.info;
    object([
        ("id", session_id(session).into()),
        ("timestamp", started.to_string().into()),
        ("cwd", info.directory.as_deref().unwrap_or("/").into()),
        ("originator", "longhaul".into()),
        ("cli_version", VERSION.into()),
        ("source", "cli".into()),
    ])
}

/// True for a summary that stands alone.
fn is_summary(message: &Message) -> bool {
    message.role == Role::User
        && !message.parts.is_empty()
        && message.parts.iter().all(|part| part.origin == Origin::Summary && part.as_text().is_some())
}

/// The record of a compaction: its summary, and the history that stands in the place of what came before.
fn compaction(first: &Message, items: Vec<Fields>) -> Fields {
    let summary: String = first.parts.iter().filter_map(Part::as_text).collect();
    let items = items.into_iter().map(Value::Object).collect();
    object([("message", summary.into()), ("replacement_history", Value::Array(items))])
}

struct Items<'l> {
    losses: &'l mut Losses,
    /// Calls that were written as ones of custom tools: their results must match.
    custom: HashSet<CallId>,
    /// The reasoning item written last in this turn of the model's.
    reasoning: Option<String>,
    list: Vec<Fields>,
}

impl Items<'_> {
    fn message(&mut self, message: &Message) {
        self.losses.at(message);
        let mut fields = fields_of(&keep_fields(&message.extra, OWN, self.losses));
        match message.role {
            Role::User => {
                self.reasoning = None;
                self.user(message, &mut fields);
            }
            Role::Model => self.model(message),
        }
        if !fields.is_empty() {
            let extra = Extra::boxed(OWN, fields);
            lose_fields(&extra, self.losses);
        }
    }

    fn user(&mut self, message: &Message, fields: &mut Map<String, Value>) {
        let mut blocks = Vec::new();
        // What Codex says as developer or system reads back as what the host added, without a tag around it.
        let is_by_host = fields.get("role").is_some_and(|role| role != "user");
        for piece in pieces(&message.parts, &ORIGINS) {
            match piece {
                Piece::Text { text, extra, origin: Origin::Hook, .. } if is_by_host => {
                    lose_fields(extra, self.losses);
                    if !text.is_empty() {
                        blocks.push(block("input_text", "text", text.into(), &None));
                    }
                }
                piece @ Piece::Text { extra, reads_back, origin, .. } => {
                    if !reads_back && matches!(origin, Origin::User | Origin::Model) {
                        self.losses.add(LossKind::Origin, origin.as_str());
                    }
                    // Codex has a text there and nothing else.
                    lose_fields(extra, self.losses);
                    let text = piece.told_text();
                    if !text.is_empty() {
                        blocks.push(block("input_text", "text", text.into(), &None));
                    }
                }
                Piece::Other(part) => match &part.body {
                    Body::Result(result) => {
                        self.close(&mut blocks, fields);
                        self.result(part, result);
                    }
                    Body::Opaque(opaque) if opaque.vendor == OWN && !is_block(opaque) => {
                        self.close(&mut blocks, fields);
                        self.opaque(part, opaque);
                    }
                    _ => {
                        if part.origin != plain_origin(part, Role::User) {
                            self.losses.add(LossKind::Origin, part.origin.as_str());
                        }
                        blocks.extend(self.block(part, Role::User));
                    }
                },
            }
        }
        self.close(&mut blocks, fields);
    }

    /// Writes the user's message that is being put together.
    fn close(&mut self, blocks: &mut Vec<Value>, fields: &mut Map<String, Value>) {
        if blocks.is_empty() {
            return;
        }
        let mut fields = std::mem::take(fields);
        let role = match fields.shift_remove("role") {
            Some(Value::String(role)) => role,
            _ => "user".to_string(),
        };
        let content = Value::Array(std::mem::take(blocks));
        let mut item = object([("type", "message".into()), ("role", role.into()), ("content", content)]);
        add_missing(&mut item, fields);
        self.list.push(item);
    }

    fn model(&mut self, message: &Message) {
        for part in message.parts.iter().filter(|part| says_something(part)) {
            if part.origin != plain_origin(part, Role::Model) {
                self.losses.add(LossKind::Origin, part.origin.as_str());
            }
            match &part.body {
                Body::Text(text) => {
                    let mut extra = keep_fields(&part.extra, OWN, self.losses);
                    if text.is_empty() && extra.is_none() {
                        continue;
                    }
                    let taken = extra.as_mut().and_then(|extra| extra.fields.shift_remove("message"));
                    let block = block("output_text", "text", text.as_str().into(), &extra);
                    let content = Value::Array(vec![block]);
                    let mut item = object([
                        ("type", "message".into()),
                        ("role", "assistant".into()),
                        ("content", content),
                    ]);
                    if let Some(Value::Object(fields)) = taken {
                        add_missing(&mut item, fields);
                    }
                    self.list.push(item);
                }
                Body::Thought(thought) => self.thought(part, thought),
                Body::Call(call) => self.call(part, call),
                Body::Result(result) => self.result(part, result),
                Body::Opaque(opaque) => self.opaque(part, opaque),
                Body::Media(_) | Body::File(_) => lose_misplaced(part, self.losses),
            }
        }
    }

    /// Reasoning goes back to its vendor only as that vendor sealed it.
    fn thought(&mut self, part: &Part, thought: &Thought) {
        let sealed = thought.signature.as_ref().filter(|signature| signature.vendor == OWN);
        let Some(sealed) = sealed else {
            lose_fields(&part.extra, self.losses);
            return self.losses.add(LossKind::Thought, "");
        };
        let fields = fields_of(&keep_fields(&part.extra, OWN, self.losses));
        let mut item = object([("type", "reasoning".into())]);
        if let Some(id) = &thought.item {
            item.insert("id".into(), id.as_str().into());
        }
        let said = |kind: &str| match thought.text.as_str() {
            "" => Value::Array(Vec::new()),
            text => Value::Array(vec![Value::Object(object([("type", kind.into()), ("text", text.into())]))]),
        };
        match fields.contains_key("summary") {
            true => item.insert("content".into(), said("reasoning_text")),
            false => item.insert("summary".into(), said("summary_text")),
        };
        item.insert("encrypted_content".into(), sealed.value.as_str().into());
        add_missing(&mut item, fields);
        self.reasoning.clone_from(&thought.item);
        self.list.push(item);
    }

    fn call(&mut self, part: &Part, call: &ToolCall) {
        if let Some(reasoning) = &call.reasoning
            && self.reasoning.as_ref() != Some(reasoning)
        {
            self.losses.add(LossKind::ReasoningItem, reasoning);
        }
        let fields = fields_of(&keep_fields(&part.extra, OWN, self.losses));
        let (id, name) = (call.id.as_str(), call.name.as_str());
        let own_type = fields.get("type").and_then(Value::as_str);
        let mut item = match (own_type, &call.args) {
            (Some("local_shell_call"), args) => object([
                ("type", "local_shell_call".into()),
                ("call_id", id.into()),
                ("action", args.clone()),
            ]),
            (Some("custom_tool_call"), args) | (_, args @ Value::String(_)) => {
                self.custom.insert(call.id.clone());
                object([
                    ("type", "custom_tool_call".into()),
                    ("name", name.into()),
                    ("input", args.clone()),
                    ("call_id", id.into()),
                ])
            }
            (_, args) => object([
                ("type", "function_call".into()),
                ("name", name.into()),
                ("arguments", args.to_string().into()),
                ("call_id", id.into()),
            ]),
        };
        add_missing(&mut item, fields);
        self.list.push(item);
    }

    fn result(&mut self, part: &Part, result: &ToolResult) {
        let mut fields = fields_of(&keep_fields(&part.extra, OWN, self.losses));
        let mut nested: Vec<Value> =
            result.nested.iter().filter_map(|part| self.block(part, Role::User)).collect();
        let text = match &result.output {
            Output::Text(text) => text.clone(),
            Output::Empty => String::new(),
            Output::Structured(_) => {
                ToolResult { nested: Vec::new(), ..result.clone() }.readable().into_owned()
            }
        };
        let is_packed = fields.get("metadata").is_some_and(Value::is_object);
        let output = if is_packed && nested.is_empty() {
            // A command's answer of an older Codex, packed with its exit code.
            let metadata = fields.shift_remove("metadata").unwrap_or_default();
            Value::Object(object([("output", text.into()), ("metadata", metadata)])).to_string().into()
        } else if nested.is_empty() {
            Value::String(text)
        } else {
            if !text.is_empty() {
                nested.insert(0, block("input_text", "text", text.into(), &None));
            }
            Value::Array(nested)
        };
        let read = output.as_str().map_or(ToolStatus::Unstated, status_when_read);
        let is_bad = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
        if is_bad && read != result.status {
            self.losses.add(LossKind::Status, result.call.as_str());
        }
        let kind = match self.custom.contains(&result.call) {
            true => "custom_tool_call_output",
            false => "function_call_output",
        };
        let kind = fields.shift_remove("type").unwrap_or_else(|| kind.into());
        let mut item = object([("type", kind), ("call_id", result.call.as_str().into()), ("output", output)]);
        add_missing(&mut item, fields);
        self.list.push(item);
    }

    /// An item of the vendor's own.
    fn opaque(&mut self, part: &Part, opaque: &Opaque) {
        lose_fields(&part.extra, self.losses);
        match &opaque.value {
            Value::Object(item) if opaque.vendor == OWN && !is_block(opaque) => self.list.push(item.clone()),
            value => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
                self.losses.add(LossKind::Opaque, kind);
            }
        }
    }

    /// A block of a message's or a result's content.
    fn block(&mut self, part: &Part, role: Role) -> Option<Value> {
        let extra = || part.extra.clone().filter(|extra| extra.vendor == OWN);
        match &part.body {
            Body::Text(text) => {
                lose_foreign(part, self.losses);
                let kind = if role == Role::User { "input_text" } else { "output_text" };
                Some(block(kind, "text", text.as_str().into(), &extra()))
            }
            Body::Media(media) => match data_url(media) {
                Some(url) if media.mime.starts_with("image/") => {
                    lose_foreign(part, self.losses);
                    Some(block("input_image", "image_url", url.into(), &extra()))
                }
                _ => {
                    lose_misplaced(part, self.losses);
                    None
                }
            },
            Body::File(file) if file.uri.starts_with("https://") => {
                lose_foreign(part, self.losses);
                Some(block("input_image", "image_url", file.uri.as_str().into(), &extra()))
            }
            Body::Opaque(opaque) if opaque.vendor == OWN && is_block(opaque) => Some(opaque.value.clone()),
            Body::Opaque(opaque) => {
                let kind = opaque.value.get("type").and_then(Value::as_str).unwrap_or_default();
                self.losses.add(LossKind::Opaque, kind);
                None
            }
            _ => {
                lose_misplaced(part, self.losses);
                None
            }
        }
    }
}

fn lose_foreign(part: &Part, losses: &mut Losses) {
    if part.extra.as_ref().is_some_and(|extra| extra.vendor != OWN) {
        lose_fields(&part.extra, losses);
    }
}

/// True for a block of content, false for an item.
fn is_block(opaque: &Opaque) -> bool {
    let kind = opaque.value.get("type").and_then(Value::as_str);
    kind.is_none_or(|kind| kind.starts_with("input_") || kind.starts_with("output_"))
}

fn block(kind: &str, key: &str, value: Value, extra: &Option<Box<Extra>>) -> Value {
    let mut block = object([("type", kind.into()), (key, value)]);
    add_missing(&mut block, fields_of(extra));
    Value::Object(block)
}

fn data_url(media: &Media) -> Option<String> {
    match &media.data {
        MediaData::Base64(data) => Some(format!("data:{};base64,{data}", media.mime)),
        MediaData::Omitted { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{read_session, write_session};

    fn session(messages: Vec<Message>) -> Session {
        let file = r#"{"contents": [{"role": "user", "parts": [{"text": "x"}]}]}"#;
        let mut session = read_session(file.as_bytes()).expect("a session");
        session.transcript = longhaul_conversation::Transcript::from_messages(messages);
        session
    }

    fn conversation() -> Vec<Message> {
        let snapshot =
            "<state_snapshot through=\"m9\">\n<overall_goal>Fix it.</overall_goal>\n</state_snapshot>";
        let call = ToolCall::new("c1", "Bash").with_args(json!({"command": "ls"}));
        vec![
            Message::new("a", Role::User, vec![Part::text(Origin::Summary, snapshot)]),
            Message::new("b", Role::Model, vec![Part::model_text("Looking."), Part::call(call)]),
            Message::new("c", Role::User, vec![Part::result(ToolResult::text("c1", "one"))]),
            Message::new("d", Role::User, vec![Part::user_text("Go on.")]),
        ]
    }

    #[test]
    fn a_conversation_that_begins_with_a_summary_is_a_compaction() {
        let written = write_session(Format::Codex, &mut session(conversation()));
        let kinds: Vec<String> = written
            .text
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().expect("a type").into()
            })
            .collect();
        assert_eq!(
            kinds,
            ["session_meta", "compacted", "response_item", "response_item", "response_item", "response_item"]
        );
        let back = read_session(written.text.as_bytes()).expect("a session");
        assert_eq!((back.info.format, back.info.compactions), (Format::Codex, 1));
        let origins: Vec<Origin> = back
            .transcript
            .messages()
            .iter()
            .flat_map(|message| &message.parts)
            .map(|part| part.origin)
            .collect();
        assert_eq!(origins, [Origin::Summary, Origin::Model, Origin::Model, Origin::Tool, Origin::User]);
    }

    #[test]
    fn one_record_stands_for_a_whole_conversation() {
        let start = write_session(
            Format::Codex,
            &mut session(vec![Message::new("u", Role::User, vec![Part::user_text("old")])]),
        );
        let line = encode_compaction(&conversation(), Timestamp::from_millis(1_795_000_000_000), Some(7));
        assert_eq!(line.lines().count(), 1);
        assert!(line.contains("\"ordinal\":7"), "{line}");
        let back = read_session(format!("{}{line}", start.text).as_bytes()).expect("a session");
        let texts: Vec<&str> = back
            .transcript
            .messages()
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(Part::as_text)
            .collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts[0].starts_with("<state_snapshot") && !texts.contains(&"old"));
    }
}
