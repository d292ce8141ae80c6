//! Records of Longhaul's own in a session of Gemini CLI: what was done to the conversation, and messages for which Gemini
//! CLI's records have no place. They stand under `$longhaul`, which Gemini CLI passes over.

mod arrivals;
mod branch;
mod delta;
mod entry;
mod exact;
mod view;

use longhaul_conversation::{Message, MessageId, ToolStatus};

pub(crate) use branch::{Branch, CheckpointEffect, Effect};
pub use branch::{RecordedCompaction, Rewrite, RewriteKind, RewriteState};
pub use entry::{
    Compaction, CompactionReport, CompactionState, CompactionTokens, Entry, EntryKind, FragmentContent,
    HostRecord, IMPORTED, Mask, Masking, RecordedFragment, RecordedNames, RecordedWait, RequestChange,
    RuleChange, Setup, encode_exact, encode_state, encode_undo,
};
pub(crate) use entry::{Record, decode_record, encode_entry};
pub use exact::is_legible;
pub(crate) use exact::{decode_opaque, encode_opaque};

/// The id under which the results that answer a model's message are read from a Gemini CLI session.
///
/// A message of results with this id is written into the model's own record, the way Gemini CLI does it.
pub fn response_id(model: &MessageId) -> MessageId {
    MessageId::new(format!("{model}_response"))
}

/// True if two messages are equal in all but their marks.
pub fn same_but_for_marks(one: &Message, other: &Message) -> bool {
    let Message { id, ordinal: _, role, at, model, usage, parts, extra } = one;
    (id, role, at, model) == (&other.id, &other.role, &other.at, &other.model)
        && (usage, parts, extra) == (&other.usage, &other.parts, &other.extra)
}

/// The key under which the neutral form has items of other vendors.
pub(crate) const OPAQUE: &str = "opaque";

const STATUSES: [(&str, ToolStatus); 4] = [
    ("unstated", ToolStatus::Unstated),
    ("success", ToolStatus::Succeeded),
    ("error", ToolStatus::Failed),
    ("cancelled", ToolStatus::Cancelled),
];

/// The word for a status in Gemini CLI's tool calls and in the neutral form.
pub(crate) fn status_word(status: ToolStatus) -> &'static str {
    STATUSES.iter().find(|(_, known)| *known == status).map_or("unstated", |(word, _)| word)
}

/// The status that [`status_word`] writes as `word`.
pub(crate) fn status_of_word(word: &str) -> Option<ToolStatus> {
    STATUSES.iter().find(|(known, _)| *known == word).map(|(_, status)| *status)
}
