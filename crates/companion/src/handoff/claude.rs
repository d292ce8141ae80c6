//! The lines of a session as Claude Code itself writes them: a chain of UUIDs, and the version that is installed.

use longhaul_conversation::Timestamp;
use longhaul_text::hash_text;
use serde_json::{Map, Value, json};

/// The lines with the installed version, and with a UUID for each line that has another id.
pub(super) fn with_version(text: &str, version: Option<&str>) -> String {
    let mut written = String::with_capacity(text.len());
    for line in text.lines() {
        let Ok(Value::Object(mut record)) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(version) = version.filter(|_| record.contains_key("version")) {
            record.insert("version".into(), version.into());
        }
        for key in ["uuid", "parentUuid", "leafUuid"] {
            if let Some(Value::String(id)) = record.get_mut(key)
                && !is_uuid(id)
            {
                *id = uuid_of(id);
            }
        }
        written.push_str(&Value::Object(record).to_string());
        written.push('\n');
    }
    written
}

/// The lines that compact a session in its own file: the mark of a compaction behind the last record, the summary and what
/// follows it.
pub(super) fn appended(text: &str, bytes: &[u8], at: Timestamp, boundary: &str) -> String {
    let mut lines: Vec<Map<String, Value>> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| match line {
            Value::Object(record) if record.contains_key("uuid") => Some(record),
            _ => None,
        })
        .collect();
    let last = last_uuid(bytes);
    let mut mark = json!({
        "parentUuid": null, "logicalParentUuid": last, "isSidechain": false, "type": "system", "subtype": "compact_boundary",
        "content": "Conversation compacted", "isMeta": false, "timestamp": at.to_string(), "uuid": boundary, "level": "info",
        "compactMetadata": {"trigger": "manual"}, "userType": "external",
    });
    for key in ["cwd", "sessionId", "version"] {
        if let Some(value) = lines.first().and_then(|line| line.get(key)) {
            mark[key] = value.clone();
        }
    }
    if let Some(first) = lines.first_mut() {
        first.insert("parentUuid".into(), boundary.into());
    }
    let all = std::iter::once(mark).chain(lines.into_iter().map(Value::Object));
    all.map(|line| format!("{line}\n")).collect()
}

/// The id of the last record on the main chain.
fn last_uuid(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        let is_aside = record.get("isSidechain").and_then(Value::as_bool) == Some(true);
        record.get("uuid").and_then(Value::as_str).filter(|_| !is_aside).map(str::to_string)
    })
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit())
}

/// A UUID that is always the same for the same text.
fn uuid_of(text: &str) -> String {
    let (high, low) = (hash_text(text), hash_text(&format!("{text} uuid")));
    let digits = format!("{high:016x}{low:016x}");
    // Version 8 is for values of one's own making.
    format!("{}-{}-8{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}
