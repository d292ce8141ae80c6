//! Texts that would only find themselves: searches for what was said, and what Longhaul put into a conversation.

use longhaul_conversation::{Origin, ToolCall};
use serde_json::Value;

/// The names of the tools that search what was said, without the prefix that a client gives them.
const RECALL_TOOLS: &[&str] = &["recall_history", "recall"];

/// Names of the server, as clients join them with a tool's name.
const SERVER: &str = "longhaul";

/// The command that searches, as a person or a model types it.
const RECALL_COMMAND: &str = "longhaul recall";

/// Starts of texts that the guard gives an agent after a compaction.
const GUARD_MARKS: &[&str] = &["<longhaul_guard", "<longhaul-guard", "[longhaul guard]", "<state_snapshot"];

/// True for a call that asks for what was said.
pub(crate) fn is_recall(call: &ToolCall) -> bool {
    let name = call.name.as_str();
    RECALL_TOOLS[..1].contains(&name)
        || RECALL_TOOLS.iter().any(|tool| name.ends_with(tool)) && name.contains(SERVER)
        || has_command(&call.args)
}

fn has_command(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() < 2_000 && text.contains(RECALL_COMMAND),
        Value::Array(items) => items.iter().any(has_command),
        Value::Object(fields) => {
            ["command", "cmd", "script"].iter().filter_map(|name| fields.get(*name)).any(has_command)
        }
        _ => false,
    }
}

/// True for a text that a hook of Longhaul's added.
pub(crate) fn is_injected(origin: Origin, text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(400)];
    origin == Origin::Hook && GUARD_MARKS.iter().any(|mark| head.contains(mark))
}
