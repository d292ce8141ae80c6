//! The record with which a rollout of Codex goes on from a compaction.

use longhaul_conversation::{Message, Timestamp};
use longhaul_formats::encode_compaction;
use serde_json::Value;

/// The record, numbered where the rollout numbers its records.
pub(super) fn appended(messages: &[Message], bytes: &[u8], at: Timestamp) -> String {
    let text = String::from_utf8_lossy(bytes);
    let ordinal = |line: &str| serde_json::from_str::<Value>(line).ok()?.get("ordinal")?.as_u64();
    let last = text.lines().rev().find_map(ordinal);
    encode_compaction(messages, at, last.map(|last| last + 1))
}
