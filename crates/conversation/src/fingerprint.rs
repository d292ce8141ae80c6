//! Fingerprints of messages and of conversation prefixes, by content.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Body, CallId, MediaData, Message, Output, Part, Role, ToolStatus};

/// A hash of the content of a message, or of a conversation up to a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint([u8; 16]);

/// Fields of the transport rather than the conversation: clients move and change them at will.
const TRANSPORT: &[&str] = &["cache_control", "timestamp", "ts"];

/// The fingerprint of one message: its role and parts in canonical form, without message ids, times, generated ids and
/// transport fields. The order of keys in an object does not matter.
pub fn fingerprint_message(message: &Message) -> Fingerprint {
    let mut sum = CanonicalHasher { hasher: blake3::Hasher::new(), scope: Scope::Everything };
    sum.message(message);
    if let Some(extra) = &message.extra {
        sum.fields(&extra.fields);
    }
    sum.finish()
}

/// The fingerprint of what a message says: as [`fingerprint_message`], without the ids of calls, thoughts and further fields,
/// which other programs drop and renew when they write a conversation again.
pub fn fingerprint_content(message: &Message) -> Fingerprint {
    let mut sum = CanonicalHasher { hasher: blake3::Hasher::new(), scope: Scope::Content };
    sum.message(message);
    sum.finish()
}

impl Fingerprint {
    fn of(sum: &blake3::Hasher) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&sum.finalize().as_bytes()[..16]);
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Hashes values in canonical form: every text is preceded by its length, so that different values give different
/// bytes.
struct CanonicalHasher {
    hasher: blake3::Hasher,
    scope: Scope,
}

/// The fields of a message that count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    Content,
}

impl CanonicalHasher {
    fn message(&mut self, message: &Message) {
        self.tag(match message.role {
            Role::User => "user",
            Role::Model => "model",
        });
        match self.scope {
            Scope::Everything => self.parts(&message.parts),
            Scope::Content => {
                let is_thought = |part: &&Part| matches!(part.body, Body::Thought(_));
                message
                    .parts
                    .iter()
                    .filter(|part| !is_thought(part) && !part.is_empty())
                    .for_each(|part| self.part(part));
            }
        }
    }

    fn call_id(&mut self, id: &CallId) {
        self.option((self.scope == Scope::Everything && !id.is_made_up()).then(|| id.as_str()));
    }

    fn tag(&mut self, tag: &'static str) {
        self.text(tag);
    }

    fn text(&mut self, text: &str) {
        self.hasher.update(&(text.len() as u64).to_le_bytes());
        self.hasher.update(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        match text {
            Some(text) => {
                self.tag("some");
                self.text(text);
            }
            None => self.tag("none"),
        }
    }

    fn parts(&mut self, parts: &[Part]) {
        self.hasher.update(&(parts.len() as u64).to_le_bytes());
        for part in parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &Part) {
        match &part.body {
            Body::Text(text) => {
                self.tag("text");
                self.text(text);
            }
            Body::Thought(thought) => {
                self.tag("thought");
                self.text(&thought.text);
                self.option(thought.signature.as_ref().map(|signature| signature.value.as_str()));
            }
            Body::Call(call) => {
                self.tag("call");
                self.call_id(&call.id);
                self.text(&call.name);
                self.value(&call.args);
            }
            Body::Result(result) => {
                self.tag("result");
                self.call_id(&result.call);
                self.tag(match result.status {
                    ToolStatus::Unstated | ToolStatus::Succeeded => "fine",
                    ToolStatus::Failed => "failed",
                    ToolStatus::Cancelled => "cancelled",
                });
                match &result.output {
                    Output::Empty => self.tag("empty"),
                    Output::Text(text) => {
                        self.tag("text");
                        self.text(text);
                    }
                    Output::Structured(value) => self.value(value),
                }
                self.parts(&result.nested);
            }
            Body::Media(media) => {
                self.tag("media");
                self.text(&media.mime);
                match &media.data {
                    MediaData::Base64(data) => self.text(data),
                    MediaData::Omitted { bytes } => self.text(&bytes.to_string()),
                }
            }
            Body::File(file) => {
                self.tag("file");
                self.text(&file.uri);
            }
            Body::Opaque(opaque) => {
                self.tag("opaque");
                self.value(&opaque.value);
            }
        }
        if let Some(extra) = &part.extra
            && self.scope == Scope::Everything
        {
            self.fields(&extra.fields);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag("null"),
            Value::Bool(true) => self.tag("true"),
            Value::Bool(false) => self.tag("false"),
            Value::Number(number) => {
                self.tag("number");
                // 1 and 1.0 are the same number in JSON.
                match number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15) {
                    Some(whole) => self.text(&(whole as i64).to_string()),
                    None => self.text(&number.to_string()),
                }
            }
            Value::String(text) => {
                self.tag("string");
                self.text(text);
            }
            Value::Array(items) => {
                self.tag("array");
                self.hasher.update(&(items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                self.tag("object");
                self.fields(fields);
            }
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        let mut sorted: Vec<_> =
            fields.iter().filter(|(key, _)| !TRANSPORT.contains(&key.as_str())).collect();
        if sorted.is_empty() {
            return;
        }
        sorted.sort_by_key(|(key, _)| key.as_str());
        self.hasher.update(&(sorted.len() as u64).to_le_bytes());
        for (key, value) in sorted {
            self.text(key);
            self.value(value);
        }
    }

    fn finish(self) -> Fingerprint {
        Fingerprint::of(&self.hasher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, MessageId, Timestamp, ToolCall, Vendor};
    use serde_json::json;

    fn call(id: CallId, args: Value) -> Message {
        Message::new("m", Role::Model, vec![Part::call(ToolCall::new(id, "read").with_args(args))])
    }

    #[test]
    fn transport_marks_do_not_count() {
        let plain = Message::new("a", Role::User, vec![Part::user_text("hi")]);
        let mut marked = plain.clone();
        marked.id = MessageId::new("b");
        marked.at = Some(Timestamp::from_millis(5));
        let marks = json!({"cache_control": {"type": "ephemeral"}});
        marked.parts[0] = marked.parts[0]
            .clone()
            .with_extra(Vendor::Anthropic, marks.as_object().cloned().unwrap_or_default());
        assert_eq!(fingerprint_message(&plain), fingerprint_message(&marked));
    }

    #[test]
    fn content_and_role_count() {
        let user = Message::new("a", Role::User, vec![Part::user_text("hi")]);
        let model = Message { role: Role::Model, ..user.clone() };
        let other = Message::new("a", Role::User, vec![Part::user_text("hi!")]);
        let split = Message::new("a", Role::User, vec![Part::user_text("h"), Part::user_text("i")]);
        let sums: std::collections::HashSet<_> =
            [&user, &model, &other, &split].into_iter().map(fingerprint_message).collect();
        assert_eq!(sums.len(), 4);
    }

    #[test]
    fn key_order_and_made_up_ids_do_not_count() {
        let one = call(CallId::made_up(1), json!({"a": 1, "b": [1, 2]}));
        let two = call(CallId::made_up(2), json!({"b": [1.0, 2], "a": 1}));
        let own = call(CallId::new("x"), json!({"a": 1, "b": [1, 2]}));
        assert_eq!(fingerprint_message(&one), fingerprint_message(&two));
        assert_ne!(fingerprint_message(&one), fingerprint_message(&own));
    }
}
