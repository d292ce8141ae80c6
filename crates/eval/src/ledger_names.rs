//! The strongest simple mix: the changed files, then the lines with most names.

use std::collections::{BTreeSet, HashSet};

use longhaul_conversation::{Message, MessageId, ToolCall};
use serde_json::Value;

use crate::excerpt::{ids, room, with_excerpt};
use crate::index::hash;
use crate::method::{CompactionTask, Compactor};
use crate::text::readable_text;

/// The longest line; a longer one is cut, since it would take the whole budget.
const LONGEST_LINE: usize = 400;

/// Lists the changed files, then takes the lines with most names that are not there yet until the budget is full.
///
/// It is what someone would write in an afternoon: neither its list nor its names come from the product or the judge.
#[derive(Default)]
pub(crate) struct LedgerAndNames {
    messages: Vec<ObservedMessage>,
}

struct ObservedMessage {
    id: MessageId,
    changed: Vec<String>,
    lines: Vec<NamedLine>,
}

struct NamedLine {
    text: String,
    names: Vec<u64>,
}

impl Compactor for LedgerAndNames {
    fn observe(&mut self, message: &Message) {
        let text = readable_text(message);
        let mut changed: Vec<String> = message.calls().flat_map(changed_files).collect();
        changed.extend(patched_files(&text));
        let lines = text.lines().filter_map(NamedLine::of).collect();
        self.messages.push(ObservedMessage { id: message.id.clone(), changed, lines });
    }

    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let tail = ids(task.tail());
        let head: Vec<&ObservedMessage> =
            self.messages.iter().filter(|seen| !tail.contains(&seen.id)).collect();
        with_excerpt(task, &excerpt(&head, room(task)))
    }
}

/// The changed files, each once, then the chosen lines in their order, within `room` characters.
fn excerpt(head: &[&ObservedMessage], room: usize) -> String {
    let changed: BTreeSet<&str> = head.iter().flat_map(|seen| &seen.changed).map(String::as_str).collect();
    let mut left = room;
    let mut kept = String::new();
    for file in changed {
        let line = format!("changed: {file}\n");
        if let Some(rest) = left.checked_sub(line.chars().count()) {
            left = rest;
            kept.push_str(&line);
        }
    }
    let lines: Vec<&NamedLine> = head.iter().flat_map(|seen| &seen.lines).collect();
    for place in choose(&lines, left) {
        kept.push_str(&lines[place].text);
        kept.push('\n');
    }
    kept
}

/// The places of the lines with most names, each of which brings a new one, within `room` characters; in order.
fn choose(lines: &[&NamedLine], room: usize) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..lines.len()).collect();
    // Of lines with as many names the later one comes first.
    ranked.sort_by_key(|place| std::cmp::Reverse((lines[*place].names.len(), *place)));
    let mut known: HashSet<u64> = HashSet::new();
    let mut left = room;
    let mut chosen = Vec::new();
    for place in ranked {
        let line = lines[place];
        let cost = line.text.chars().count() + 1;
        if cost <= left && line.names.iter().any(|name| !known.contains(name)) {
            left -= cost;
            known.extend(&line.names);
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    chosen
}

impl NamedLine {
    /// The line, if it names something.
    fn of(line: &str) -> Option<Self> {
        let text: String = line.trim().chars().take(LONGEST_LINE).collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
        let mut names: Vec<u64> = text
            .split(|c| !is_part(c))
            .map(|word| word.trim_matches(['.', '-', '/']))
            .filter(|word| is_name(word))
            .map(|word| hash(word.as_bytes()))
            .collect();
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then_some(Self { text, names })
    }
}

/// Returns true for a word of some length with an inner capital, a digit, a dot, a slash or an underscore.
fn is_name(word: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '.' | '/' | '_');
    word.len() >= 6 && word.chars().skip(1).any(is_inner) && word.chars().any(|c| c.is_ascii_alphabetic())
}

/// The files that a call says it writes: a path among the arguments of a tool whose name says so.
fn changed_files(call: &ToolCall) -> Vec<String> {
    const WRITERS: [&str; 7] = ["edit", "write", "replace", "create", "patch", "insert", "update_file"];
    const PATHS: [&str; 6] = ["file_path", "path", "filePath", "filename", "file", "notebook_path"];
    let name = call.name.to_lowercase();
    let is_view = call.args.get("command").and_then(Value::as_str) == Some("view");
    if is_view || !WRITERS.iter().any(|writer| name.contains(writer)) {
        return Vec::new();
    }
    let path = PATHS.iter().find_map(|key| call.args.get(*key)?.as_str());
    path.map(str::to_string).into_iter().collect()
}

/// The files named in the heads of patches, and in Aider's notes.
fn patched_files(text: &str) -> impl Iterator<Item = String> {
    const HEADS: [&str; 5] =
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "Applied edit to "];
    text.lines().filter_map(|line| {
        let path = HEADS.iter().find_map(|head| line.trim_start().strip_prefix(head))?;
        Some(path.trim().to_string()).filter(|path| !path.is_empty() && path.len() < 300)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolResult};
    use serde_json::json;

    fn seen(messages: &[Message]) -> Vec<ObservedMessage> {
        let mut compactor = LedgerAndNames::default();
        messages.iter().for_each(|message| compactor.observe(message));
        compactor.messages
    }

    #[track_caller]
    fn check(messages: &[Message], room: usize, expected: &str) {
        let seen = seen(messages);
        assert_eq!(excerpt(&seen.iter().collect::<Vec<_>>(), room), expected);
    }

    fn output(text: &str) -> Message {
        Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", text))])
    }

    #[test]
    fn changed_files_stand_first_and_once() {
        let edit = |args| Part::call(ToolCall::new("c", "Edit").with_args(args));
        let calls = vec![
            edit(json!({"file_path": "src/b.rs"})),
            edit(json!({"file_path": "src/b.rs"})),
            Part::call(ToolCall::new("d", "Read").with_args(json!({"file_path": "src/c.rs"}))),
            Part::call(
                ToolCall::new("e", "str_replace_editor")
                    .with_args(json!({"command": "view", "path": "d.rs"})),
            ),
        ];
        let messages = [
            Message::new("c", Role::Model, calls),
            output("*** Update File: src/a.rs\nApplied edit to e.py"),
        ];
        let seen = seen(&messages);
        let kept = excerpt(&seen.iter().collect::<Vec<_>>(), 60);
        assert!(kept.starts_with("changed: e.py\nchanged: src/a.rs\nchanged: src/b.rs\n"), "{kept}");
        assert!(!kept.contains("changed: src/c.rs") && !kept.contains("changed: d.rs"), "{kept}");
    }

    #[test]
    fn lines_with_most_names_come_first_and_in_order() {
        let text = "one oneName here\nplain words only\nboth firstName and secondName\nagain secondName";
        check(&[output(text)], 30, "both firstName and secondName\n");
        check(&[output(text)], 100, "one oneName here\nboth firstName and secondName\n");
        check(&[output(text)], 3, "");
        check(&[], 100, "");
    }
}
