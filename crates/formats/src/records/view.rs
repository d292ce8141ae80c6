//! The transcript that a compaction led to, told by what it keeps of the log and what is new in it.

use std::collections::HashSet;

use longhaul_conversation::{Body, Message, MessageId, Origin, Output, Part, Role, Timestamp};
use longhaul_wire::{Json, Object, object};
use serde_json::{Map, Value, json};

use super::branch::{Branch, RecordedCompaction};
use super::entry::{Mask, from_json};
use super::exact::{decode_message, encode_message};
use super::same_but_for_marks;

/// One message of a transcript that was rewritten.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// A message of the log as it is.
    Kept(MessageId),
    /// A message of the compaction's own.
    Own(Box<Message>),
}

impl Piece {
    pub(super) fn id(&self) -> &MessageId {
        match self {
            Self::Kept(id) => id,
            Self::Own(message) => &message.id,
        }
    }
}

/// The record of a transcript made of `messages`.
pub(super) fn encode_view(
    messages: &[Message],
    at: Option<Timestamp>,
    branch: &Branch,
) -> Map<String, Value> {
    let mut fields = Map::new();
    let shown: HashSet<&MessageId> = messages.iter().map(|message| &message.id).collect();
    let log = branch.messages();
    let is_covered = |message: &Message| !shown.contains(&message.id);
    let first = log.iter().position(is_covered);
    let last = log.iter().rposition(is_covered);
    let kept = last.map_or(0, |last| last + 1);
    for (key, place) in [("first", first), ("last", last), ("kept", Some(kept))] {
        if let Some(message) = place.and_then(|place| log.get(place)) {
            fields.insert(key.into(), message.id.as_str().into());
        }
    }
    let mut view: Vec<Value> = Vec::new();
    // Where in the log the run ends that the last piece is.
    let mut run_end = None;
    let mut snapshot = None;
    for message in messages {
        let place = branch.position(&message.id).filter(|place| same_but_for_marks(&log[*place], message));
        if let Some(place) = place {
            match view.last_mut() {
                Some(run) if run_end == Some(place) => run["through"] = message.id.as_str().into(),
                _ => view.push(json!({"from": message.id.as_str(), "through": message.id.as_str()})),
            }
        } else if let Some(text) = text_of_snapshot(message, at).filter(|_| snapshot.is_none()) {
            snapshot = Some(text);
            view.push(json!({"snapshot": message.id.as_str()}));
        } else {
            view.push(Value::Object(object([("message", encode_message(message))])));
        }
        run_end = place.map(|place| place + 1);
    }
    if let Some(text) = snapshot {
        fields.insert("snapshot".into(), text.into());
    }
    fields.insert("view".into(), Value::Array(view));
    fields
}

/// A compaction's record as the transcript it stands for.
pub(super) fn decode_view(
    mut record: Object<'_>,
    at: Option<Timestamp>,
    branch: &Branch,
) -> Option<(RecordedCompaction, Vec<Piece>)> {
    let mut view = Vec::new();
    let snapshot = record.take_string("snapshot");
    for piece in record.take_array("view")? {
        let mut piece = piece.into_object()?;
        if let Some(message) = piece.take("message") {
            view.push(Piece::Own(Box::new(decode_message(message)?)));
        } else if let Some(id) = piece.take_string("snapshot") {
            view.push(Piece::Own(Box::new(snapshot_message(id.into(), snapshot.clone()?, at))));
        } else {
            let mut end = |key| branch.position(&piece.take_string(key)?.into());
            let (from, through) = (end("from")?, end("through")?);
            let run = branch.messages().get(from..=through)?;
            view.extend(run.iter().map(|message| Piece::Kept(message.id.clone())));
        }
    }
    let mut id_under = |key| record.take_string(key).map(MessageId::new);
    let (first, last, kept) = (id_under("first"), id_under("last"), id_under("kept"));
    let report = from_json(Json::Object(record)).unwrap_or_default();
    Some((RecordedCompaction { report, snapshot, first, last, kept }, view))
}

fn snapshot_message(id: MessageId, text: String, at: Option<Timestamp>) -> Message {
    Message { at, ..Message::new(id, Role::User, vec![Part::text(Origin::Summary, text)]) }
}

/// The text of a message that says nothing else than a snapshot does.
fn text_of_snapshot(message: &Message, at: Option<Timestamp>) -> Option<&str> {
    let [part] = message.parts.as_slice() else { return None };
    let text = part.as_text()?;
    let snapshot = snapshot_message(message.id.clone(), text.to_string(), at);
    same_but_for_marks(&snapshot, message).then_some(text)
}

impl Mask {
    /// Puts the preview in the place of the output, if this is the message it stands in.
    pub fn apply(&self, message: &mut Message) {
        if message.id != self.message {
            return;
        }
        for part in &mut message.parts {
            let Body::Result(result) = &mut part.body else { continue };
            if result.call != self.call {
                continue;
            }
            match &mut result.output {
                Output::Structured(value) => *value = json!({"output": self.preview}),
                output => *output = Output::Text(self.preview.clone()),
            }
            result.nested.retain(|part| part.as_text().is_none());
        }
    }
}
