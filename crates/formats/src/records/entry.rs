//! Longhaul's own records beside messages, and their form on disk: `{"$longhaul": {"v": 1, "kind": …}}`.

use longhaul_conversation::{
    CallId, FragmentPlace, Message, MessageId, Origin, Part, Timestamp, TokenCount, ToolDeclaration,
};
use longhaul_wire::{Json, Object, object};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::branch::{Branch, RecordedCompaction};
use super::delta::{decode_delta, encode_delta};
use super::exact::{decode_message, decode_parts, decode_tools, encode_message, encode_parts, encode_tools};
use super::view::{Piece, decode_view, encode_view};

/// The rung of compactions that another agent made before the session was imported.
pub const IMPORTED: &str = "imported";

/// The version of the records that are written and understood.
const VERSION: u64 = 1;

/// Something that happened to a session beside what was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Names the entry.
    pub id: String,
    /// When it happened.
    pub at: Option<Timestamp>,
    /// The event.
    pub kind: EntryKind,
}

/// An event of a session beside its messages.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// The instruction and the tools of a session that was imported.
    Setup(Setup),
    /// The transcript gave way to a shorter one.
    Compaction(Compaction),
    /// Tool outputs gave way to previews.
    Mask(Masking),
    /// A piece was placed beside the conversation.
    Fragment(RecordedFragment),
    /// The user added a rule by hand, or removed one.
    Rule(RuleChange),
    /// The user added a request by hand, or ended one.
    Request(RequestChange),
    /// The state of the host program.
    Host(HostRecord),
    /// The user chose this model for the session, by a name that finds it again; `auto` leaves the choice open.
    ModelChoice(String),
}

/// The instruction and the tools of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The system instruction.
    pub system: Vec<Part>,
    /// The tools that were declared.
    pub tools: Vec<ToolDeclaration>,
}

/// A compaction: how it went, and the transcript that it led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    /// The report.
    pub report: CompactionReport,
    /// The messages of the new transcript. Those that stand in the log unchanged are recorded by name only.
    pub messages: Vec<Message>,
}

/// The report of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionReport {
    /// The status, in a word.
    pub status: String,
    /// The rung of the ladder that brought it about.
    pub rung: String,
    /// The reason, in words for people.
    pub reason: String,
    /// The sizes before and after.
    pub tokens: CompactionTokens,
    /// The summariser.
    pub summariser: String,
    /// The model that summarised, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The cost, where prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The duration in milliseconds.
    pub ms: u64,
    /// The names that mattered and are still there, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<RecordedNames>,
}

/// A count of names, before and after a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedNames {
    /// Those that are still there.
    pub kept: usize,
    /// All of them.
    pub of: usize,
}

/// The sizes around a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionTokens {
    /// The transcript before.
    pub before: TokenCount,
    /// The transcript after.
    pub after: TokenCount,
    /// The size added beside the kept messages.
    pub added: TokenCount,
}

/// Tool outputs that gave way to previews, all at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masking {
    /// The outputs.
    pub masks: Vec<Mask>,
    /// The messages they stand in, as they are now.
    pub changed: Vec<Message>,
}

/// One tool output that gave way to a preview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mask {
    /// The message that holds the result.
    pub message: MessageId,
    /// The call that it answers.
    pub call: CallId,
    /// The file with the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The replacement.
    pub preview: String,
}

/// A piece that was placed beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFragment {
    /// The origin.
    pub origin: Origin,
    /// The place in the request.
    pub place: FragmentPlace,
    /// The text.
    pub content: FragmentContent,
}

/// The text of a recorded fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FragmentContent {
    /// The text itself.
    Text(String),
    /// A hash of a text that can be found elsewhere.
    Hash(String),
}

/// A change to the requests by the user's hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestChange {
    /// This request was added.
    Added {
        /// The text.
        text: String,
    },
    /// This request is done.
    Done {
        /// Names the request.
        request: String,
    },
    /// This request is no longer wanted, or never was one.
    Removed {
        /// Names the request.
        request: String,
    },
}

/// A change to the rules by the user's hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleChange {
    /// This rule was added.
    Added {
        /// The text.
        text: String,
    },
    /// This rule was taken back.
    Removed {
        /// Names the rule.
        rule: String,
    },
}

/// The state of the host program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostRecord {
    /// The active skills.
    pub skills: Vec<String>,
    /// The path of the plan, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The jobs that run.
    pub jobs: Vec<String>,
}

/// The state that the compactions of a session share, across processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionState {
    /// True if the last summary that nobody asked for failed.
    pub latched: bool,
    /// The number of passes that failed in a row.
    pub failures: u32,
    /// The number of passes that got as far as a summary.
    pub attempts: u64,
    /// The number of model calls.
    pub calls: u32,
    /// Tokens of those requests and answers together.
    pub tokens: TokenCount,
    /// Those of them that are estimated, because the provider did not report them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub estimated: TokenCount,
    /// Their cost, where prices are known.
    pub money: f64,
    /// The condition of the next automatic pass; none if something happened since that tells it better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<RecordedWait>,
}

fn is_nothing(tokens: &TokenCount) -> bool {
    *tokens == TokenCount::ZERO
}

/// The condition of the next automatic pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedWait {
    /// For nothing but the threshold.
    Nothing,
    /// For the request to grow.
    Growth {
        /// The size after the last pass.
        since: TokenCount,
    },
    /// For the request not to fit any more.
    Overflow,
}

/// One record as it is read back.
#[derive(Debug)]
pub(crate) enum Record {
    Exact(Message),
    Setup(Setup),
    Compaction { id: String, at: Option<Timestamp>, compaction: Box<RecordedCompaction>, view: Vec<Piece> },
    Mask { id: String, at: Option<Timestamp>, masking: Masking },
    Undo { rewrite: String },
    Fragment(RecordedFragment),
    Rule(RuleChange),
    Request(RequestChange),
    Host(HostRecord),
    ModelChoice(String),
    State(CompactionState),
}

/// An entry as a record. What it has in common with the messages on `branch` is not written again.
pub(crate) fn encode_entry(entry: &Entry, branch: &Branch) -> Value {
    let (kind, fields) = match &entry.kind {
        EntryKind::Setup(setup) => ("setup", encode_setup(setup)),
        EntryKind::Compaction(compaction) => ("compaction", encode_compaction(compaction, entry.at, branch)),
        EntryKind::Mask(masking) => ("mask", encode_masking(masking, branch)),
        EntryKind::Fragment(fragment) => ("fragment", encode_fragment(fragment)),
        EntryKind::Rule(RuleChange::Added { text }) => {
            ("pin", object([("action", "added".into()), ("text", text.as_str().into())]))
        }
        EntryKind::Rule(RuleChange::Removed { rule }) => {
            ("pin", object([("action", "removed".into()), ("pin", rule.as_str().into())]))
        }
        EntryKind::Request(change) => {
            let (action, key, value) = match change {
                RequestChange::Added { text } => ("added", "text", text),
                RequestChange::Done { request } => ("done", "request", request),
                RequestChange::Removed { request } => ("removed", "request", request),
            };
            ("request", object([("action", action.into()), (key, value.as_str().into())]))
        }
        EntryKind::Host(host) => ("host", fields_of(host)),
        EntryKind::ModelChoice(model) => ("model", object([("model", model.as_str().into())])),
    };
    envelope(kind, Some(&entry.id), entry.at, fields)
}

/// A record that has the message in full, which counts instead of any other form of it. What `read`, the form that the
/// records before give it, has of it already is not written again.
pub fn encode_exact(message: &Message, read: Option<&Message>) -> Value {
    let message = match read {
        Some(read) => encode_delta(message, read),
        None => encode_message(message),
    };
    envelope("exact", None, None, object([("message", message)]))
}

/// A record that takes back the rewrite with this id.
pub fn encode_undo(rewrite: &str, at: Option<Timestamp>) -> Value {
    envelope("undo", None, at, object([("compaction", rewrite.into())]))
}

/// A record of what compactions leave behind for the next ones.
pub fn encode_state(state: &CompactionState, at: Option<Timestamp>) -> Value {
    envelope("state", None, at, fields_of(state))
}

fn envelope(kind: &str, id: Option<&str>, at: Option<Timestamp>, fields: Map<String, Value>) -> Value {
    let mut record = object([("v", VERSION.into()), ("kind", kind.into())]);
    if let Some(id) = id {
        record.insert("id".into(), id.into());
    }
    if let Some(at) = at {
        record.insert("at".into(), at.to_string().into());
    }
    record.extend(fields);
    Value::Object(object([("$longhaul", Value::Object(record))]))
}

/// The record inside `$longhaul`; `None` if it is of a version or kind that nobody here knows, or broken.
pub(crate) fn decode_record(mut record: Object<'_>, branch: &Branch) -> Option<Record> {
    if record.get("v")?.as_u64()? != VERSION {
        return None;
    }
    let id = record.take_string("id").unwrap_or_default();
    let at = record.time("at");
    match record.take_string("kind")?.as_str() {
        "exact" => {
            let message = record.take("message")?;
            let read = message.get("id").and_then(Json::as_str).map(MessageId::from);
            decode_delta(message, read.and_then(|id| branch.get(&id))).map(Record::Exact)
        }
        "setup" => Some(Record::Setup(Setup {
            system: decode_parts(record.take_array("system")?)?,
            tools: decode_tools(record.take_array("tools")?)?,
        })),
        "compaction" => {
            let (compaction, view) = decode_view(record, at, branch)?;
            Some(Record::Compaction { id, at, compaction: Box::new(compaction), view })
        }
        "mask" => {
            let masks = record.take_array("masks")?.into_iter().map(from_json).collect::<Option<_>>()?;
            let changed = record.take_array("messages").unwrap_or_default();
            let changed = changed.into_iter().map(decode_message).collect::<Option<_>>()?;
            Some(Record::Mask { id, at, masking: Masking { masks, changed } })
        }
        "undo" => Some(Record::Undo { rewrite: record.take_string("compaction")? }),
        "fragment" => decode_fragment(record).map(Record::Fragment),
        "pin" => Some(Record::Rule(match record.str("action")? {
            "added" => RuleChange::Added { text: record.take_string("text")? },
            "removed" => RuleChange::Removed { rule: record.take_string("pin")? },
            _ => return None,
        })),
        "request" => Some(Record::Request(match record.str("action")? {
            "added" => RequestChange::Added { text: record.take_string("text")? },
            "done" => RequestChange::Done { request: record.take_string("request")? },
            "removed" => RequestChange::Removed { request: record.take_string("request")? },
            _ => return None,
        })),
        "host" => from_json(Json::Object(record)).map(Record::Host),
        "model" => record.take_string("model").map(Record::ModelChoice),
        "state" => from_json(Json::Object(record)).map(Record::State),
        _ => None,
    }
}

fn encode_setup(setup: &Setup) -> Map<String, Value> {
    object([("system", encode_parts(&setup.system)), ("tools", encode_tools(&setup.tools))])
}

fn encode_compaction(compaction: &Compaction, at: Option<Timestamp>, branch: &Branch) -> Map<String, Value> {
    let mut fields = fields_of(&compaction.report);
    fields.extend(encode_view(&compaction.messages, at, branch));
    fields
}

fn encode_masking(masking: &Masking, branch: &Branch) -> Map<String, Value> {
    let masks = masking.masks.iter().map(|mask| Value::Object(fields_of(mask))).collect();
    // Most masked messages follow from their previews.
    let visible = branch.visible();
    let follows = |message: &&Message| {
        let mut derived = visible.iter().find(|known| known.id == message.id).cloned();
        if let Some(derived) = &mut derived {
            masking.masks.iter().for_each(|mask| mask.apply(derived));
        }
        derived.is_some_and(|derived| super::same_but_for_marks(&derived, message))
    };
    let others = masking.changed.iter().filter(|message| !follows(message));
    object([("masks", masks), ("messages", others.map(encode_message).collect())])
}

fn encode_fragment(fragment: &RecordedFragment) -> Map<String, Value> {
    let content = match &fragment.content {
        FragmentContent::Text(text) => ("text", text.as_str().into()),
        FragmentContent::Hash(hash) => ("hash", hash.as_str().into()),
    };
    let place = PLACES.iter().find(|(_, place)| *place == fragment.place).map_or("system", |(word, _)| word);
    object([("origin", fragment.origin.as_str().into()), ("place", place.into()), content])
}

fn decode_fragment(mut fragment: Object<'_>) -> Option<RecordedFragment> {
    let origin = Origin::from_word(fragment.str("origin")?)?;
    let word = fragment.str("place")?;
    let place = PLACES.iter().find(|(known, _)| *known == word)?.1;
    let content = match fragment.take_string("text") {
        Some(text) => FragmentContent::Text(text),
        None => FragmentContent::Hash(fragment.take_string("hash")?),
    };
    Some(RecordedFragment { origin, place, content })
}

const PLACES: [(&str, FragmentPlace); 3] = [
    ("system", FragmentPlace::System),
    ("first-user-message", FragmentPlace::FirstUserMessage),
    ("newest-message", FragmentPlace::NewestMessage),
];

fn fields_of(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("plain structures are objects, not {other:?}"),
    }
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(json: Json<'_>) -> Option<T> {
    serde_json::from_value(json.into_value()).ok()
}
