//! The snapshot that a message carries.

use longhaul_conversation::{Message, Ordinal, Origin, Part, snapshot_through};

use crate::Snapshot;
use crate::parse::parse_snapshot;

/// The snapshot of ours that a message with the mark `own` carries, if what it stands for was never seen: a log that has it
/// all numbers the snapshot behind what it stands for.
pub fn lost_before(message: &Message, own: Ordinal) -> Option<Snapshot> {
    own_snapshot(message).filter(|snapshot| snapshot.through().is_some_and(|through| own <= through))
}

/// The snapshot of ours that a message carries: it stands alone in a part of the user's side and says how far it goes.
pub fn own_snapshot(message: &Message) -> Option<Snapshot> {
    message.snapshot_through()?;
    let own = summaries(message).find(|text| snapshot_through(text).is_some());
    own.and_then(parse_snapshot)
}

/// The snapshot that a message carries, whoever wrote it.
pub fn any_snapshot(message: &Message) -> Option<Snapshot> {
    let foreign =
        || summaries(message).filter(|text| text.contains("<state_snapshot")).find_map(parse_snapshot);
    own_snapshot(message).or_else(foreign)
}

fn summaries(message: &Message) -> impl Iterator<Item = &str> {
    let summaries = message.parts.iter().filter(|part| part.origin == Origin::Summary);
    summaries.filter_map(Part::as_text)
}
