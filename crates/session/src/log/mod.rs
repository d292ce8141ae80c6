//! The append-only log of a session: Gemini CLI's records, and beside them what Longhaul did with the conversation.

mod arrivals;
mod branch;
mod entry;
mod error;
mod exact;
mod file;
mod fork;
mod journal;
#[cfg(test)]
mod laws;
mod open;
mod recording;
mod replay;
mod retell;
mod view;

use longhaul_conversation::Message;

pub(crate) use branch::{Branch, Effect};
pub use branch::{RecordedCompaction, Rewrite, RewriteKind, RewriteState};
pub use entry::{
    Compaction, CompactionReport, CompactionState, CompactionTokens, Entry, EntryKind, FragmentContent,
    HostRecord, Mask, Masking, PinChange, RecordedFragment, RecordedWait, Setup,
};
pub(crate) use entry::{Record, decode_record};
pub use error::LogError;
pub(crate) use exact::{decode_opaque, encode_opaque};
pub use file::Durability;
pub use journal::Log;
pub use open::{NewSession, Recovery, SessionKind};
pub use recording::{PendingRecords, Recording};
pub use replay::Replay;

/// Whether two messages are equal in all but their marks.
fn same_but_for_marks(one: &Message, other: &Message) -> bool {
    let Message { id, ordinal: _, role, at, model, usage, parts, extra } = one;
    (id, role, at, model) == (&other.id, &other.role, &other.at, &other.model)
        && (usage, parts, extra) == (&other.usage, &other.parts, &other.extra)
}
