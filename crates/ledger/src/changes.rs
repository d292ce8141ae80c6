//! Reads the lines that calls and proposals change in files, old and new.

use longhaul_conversation::ToolCall;
use serde_json::Value;

use crate::arguments::{content_in, get, path_in, text_argument};
use crate::fields::Field;
use crate::paths::file_name;

/// One place in a file, before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextChange {
    /// The file, empty where nothing names it.
    pub path: String,
    /// The text that goes, perhaps with lines around it that stay.
    pub old: String,
    /// The text that comes in its place.
    pub new: String,
}

/// Texts longer than this are data rather than an edit.
const LONGEST: usize = 80_000;
/// No call has more changes than this.
const MOST: usize = 40;
/// The line that begins a patch of Codex's.
const PATCH: &str = "*** Begin Patch";

/// The changes that a call makes to files, as far as its arguments say them.
pub fn text_changes(call: &ToolCall) -> Vec<TextChange> {
    let args = &call.args;
    if let Some(patch) = find_patch(args) {
        return patch_changes(patch);
    }
    let Some(path) = path_in(args) else { return Vec::new() };
    let mut changes = Vec::new();
    if let Some(Value::Array(edits)) = get(args, "edits") {
        changes.extend(edits.iter().filter_map(replacement));
    } else if let Some(blocks) = get(args, "diff").and_then(Value::as_str) {
        changes = block_changes(blocks);
    } else if let Some(change) = replacement(args) {
        changes.push(change);
    } else if let Some(content) = content_in(args) {
        changes.push(TextChange { new: content.to_string(), ..TextChange::default() });
    }
    changes.truncate(MOST);
    changes.retain(|change| change.old.len() + change.new.len() <= LONGEST);
    changes.into_iter().map(|change| TextChange { path: path.clone(), ..change }).collect()
}

/// The old and the new text among arguments.
fn replacement(args: &Value) -> Option<TextChange> {
    let new = text_argument(args, Field::New)?;
    let old = text_argument(args, Field::Old).unwrap_or_default();
    Some(TextChange { path: String::new(), old: old.to_string(), new: new.to_string() })
}

/// A patch in Codex's language among arguments, also in a script.
fn find_patch(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => (text.len() <= LONGEST && text.contains(PATCH)).then_some(text),
        Value::Array(items) => items.iter().find_map(find_patch),
        Value::Object(fields) => fields.values().find_map(find_patch),
        _ => None,
    }
}

/// The changes of a patch or a unified diff: each run of lines that go and come.
pub fn patch_changes(patch: &str) -> Vec<TextChange> {
    let mut changes: Vec<TextChange> = Vec::new();
    let mut change = TextChange::default();
    for line in patch.lines() {
        let header = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ "];
        let path = header.iter().find_map(|header| line.strip_prefix(header));
        let (old, new) = (line.strip_prefix('-'), line.strip_prefix('+'));
        if path.is_none() && !line.starts_with("--- ") {
            let side = match (old, new) {
                (Some(line), _) => Some((&mut change.old, line)),
                (_, Some(line)) => Some((&mut change.new, line)),
                _ => None,
            };
            if let Some((side, line)) = side {
                side.push_str(line);
                side.push('\n');
                continue;
            }
        }
        let next = TextChange { path: change.path.clone(), ..TextChange::default() };
        let done = std::mem::replace(&mut change, next);
        if !(done.old.is_empty() && done.new.is_empty()) && changes.len() < MOST {
            changes.push(done);
        }
        if let Some(path) = path {
            let path = path.split('\t').next().unwrap_or(path);
            let path = path.strip_prefix("b/").unwrap_or(path);
            change.path = file_name(path).unwrap_or_default().to_string();
        }
    }
    if !(change.old.is_empty() && change.new.is_empty()) {
        changes.push(change);
    }
    changes
}

/// The changes of blocks such as `<<<<<<< SEARCH … ======= … >>>>>>> REPLACE`, without the names of their files.
pub fn block_changes(blocks: &str) -> Vec<TextChange> {
    let mut changes = Vec::new();
    let mut change: Option<TextChange> = None;
    let mut is_new = false;
    for line in blocks.lines() {
        let is_mark = |word: &str| line.ends_with(word) && line.starts_with(['<', '-', '+', '>']);
        if is_mark("SEARCH") {
            (change, is_new) = (Some(TextChange::default()), false);
        } else if is_mark("REPLACE") {
            changes.extend(change.take().filter(|_| changes.len() < MOST));
        } else if line.len() >= 5 && line.bytes().all(|byte| byte == b'=') {
            is_new = true;
        } else if let Some(change) = &mut change {
            let side = if is_new { &mut change.new } else { &mut change.old };
            side.push_str(line);
            side.push('\n');
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(args: Value, expected: &[(&str, &str, &str)]) {
        let changes = text_changes(&ToolCall::new("c", "edit").with_args(args));
        let changes: Vec<_> =
            changes.iter().map(|change| (&*change.path, &*change.old, &*change.new)).collect();
        assert_eq!(changes, expected);
    }

    #[test]
    fn edits_of_every_form_are_read() {
        check(json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"}), &[("a.rs", "x", "y")]);
        check(json!({"path": "a.rs", "content": "all"}), &[("a.rs", "", "all")]);
        check(
            json!({"path": "a.rs", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "v", "new_string": "w"}]}),
            &[("a.rs", "x", "y"), ("a.rs", "v", "w")],
        );
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n stays\n-old\n+new\n stays\n+more\n*** Add File: b.md\n+text\n*** End Patch";
        let expected = [("src/a.rs", "old\n", "new\n"), ("src/a.rs", "", "more\n"), ("b.md", "", "text\n")];
        check(json!({"input": patch}), &expected);
        check(json!({"cmd": ["bash", "-lc", format!("apply_patch <<'E'\n{patch}\nE")]}), &expected);
        check(
            json!({"path": "a.rs", "diff": "------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE"}),
            &[("a.rs", "old\n", "new\n")],
        );
        check(json!({"command": "ls"}), &[]);
    }
}
