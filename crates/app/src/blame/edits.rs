//! The edits that a session made to a file.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use longhaul_conversation::{Body, CallId, Message, Ordinal, Origin, Timestamp, ToolCall, ToolStatus};
use longhaul_formats::{Event, SeenParts, read};
use longhaul_ledger::text_changes;
use longhaul_stores::Agent;
use serde_json::Value;

use super::WrittenBy;
use super::git::FileNames;
use super::replay::Change;

/// The longest request that is shown.
const LONGEST_REQUEST: usize = 400;

/// A session that may have edited the file.
#[derive(Clone, Debug)]
pub(super) struct SessionSource {
    pub(super) agent: Agent,
    pub(super) id: String,
    pub(super) path: PathBuf,
    /// The folder that it was about.
    pub(super) directory: Option<PathBuf>,
    pub(super) resume: Option<String>,
}

/// An edit of the file by one call of a tool.
#[derive(Clone, Debug)]
pub(super) struct FileEdit {
    pub(super) at: Timestamp,
    /// The call.
    pub(super) id: CallId,
    pub(super) changes: Vec<Change>,
    pub(super) by: Rc<WrittenBy>,
}

/// The edits of a session to the file with these names, in order. What failed, and what has no time, is left out.
pub(super) fn edits_of(source: &SessionSource, names: &FileNames) -> anyhow::Result<Vec<FileEdit>> {
    let mut text = Vec::new();
    crate::sessions::open(&source.path)?.read_to_end(&mut text)?;
    // Most sessions have nothing to do with a file.
    let is_named = |name: &String| {
        let last = name.rsplit('/').next().unwrap_or(name);
        memchr::memmem::find(&text, last.as_bytes()).is_some()
    };
    // A name that JSON writes with escapes cannot be looked for.
    if names.names.iter().all(|name| name.is_ascii() && !is_named(name)) {
        return Ok(Vec::new());
    }
    let mut reader = EditReader { source, names, chains: HashMap::new(), edits: Vec::new() };
    let mut seen = SeenParts::default();
    let info = read(text.as_slice(), &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                reader.observe("", &message);
            }
        }
        Event::Side { chain, message } => reader.observe(&chain, &message),
        Event::Warning(_) | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    });
    info?;
    Ok(reader.edits)
}

struct EditReader<'a> {
    source: &'a SessionSource,
    names: &'a FileNames,
    chains: HashMap<String, ChainState>,
    edits: Vec<FileEdit>,
}

/// The talk before the edits to come, from a chain of messages.
#[derive(Default)]
struct ChainState {
    /// The last request of the user.
    request: String,
    number: Option<Ordinal>,
    /// The calls that wait for their results.
    waiting: HashMap<CallId, Vec<Change>>,
}

impl EditReader<'_> {
    fn observe(&mut self, chain: &str, message: &Message) {
        if !self.chains.contains_key(chain) {
            // A sub-agent works for the request that the session was at.
            let (request, number) = match self.chains.get("") {
                Some(own) => (own.request.clone(), own.number),
                None => (String::new(), None),
            };
            let state = ChainState { request, number, ..ChainState::default() };
            self.chains.insert(chain.to_owned(), state);
        }
        let Some(state) = self.chains.get_mut(chain) else { return };
        let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
        let typed: Vec<&str> = typed.filter_map(|part| part.as_text()).map(str::trim).collect();
        let typed = typed.join("\n");
        if !typed.is_empty() {
            state.request = typed[..typed.floor_char_boundary(LONGEST_REQUEST)].to_owned();
            state.number = message.ordinal;
        }
        for part in &message.parts {
            match &part.body {
                Body::Call(call) => {
                    let changes = changes_of(call, self.source.directory.as_deref(), self.names);
                    if !changes.is_empty() {
                        state.waiting.insert(call.id.clone(), changes);
                    }
                }
                Body::Result(result) => {
                    let changes = state.waiting.remove(&result.call);
                    let (Some(changes), Some(at)) = (changes, message.at) else { continue };
                    if result.status == ToolStatus::Failed {
                        continue;
                    }
                    let by = WrittenBy {
                        agent: self.source.agent,
                        session: self.source.id.clone(),
                        number: state.number,
                        request: state.request.clone(),
                        at,
                        resume: self.source.resume.clone(),
                    };
                    let id = result.call.clone();
                    self.edits.push(FileEdit { at, id, changes, by: Rc::new(by) });
                }
                _ => {}
            }
        }
    }
}

/// The changes of a call to the file.
fn changes_of(call: &ToolCall, directory: Option<&Path>, names: &FileNames) -> Vec<Change> {
    let is_file = |path: &str| {
        let path = Path::new(path);
        let whole = directory.map_or_else(|| path.to_path_buf(), |directory| directory.join(path));
        let whole = plain(&whole);
        names.contains(&whole) || whole.canonicalize().is_ok_and(|whole| names.contains(&whole))
    };
    if let Some(patch) = find_patch(&call.args) {
        return patch_hunks(patch)
            .into_iter()
            .filter(|(path, _)| is_file(path))
            .map(|(_, change)| change)
            .collect();
    }
    let number = |name: &str| call.args.get(name).and_then(Value::as_u64);
    let is_everywhere = ["replace_all", "replaceAll", "allow_multiple"]
        .iter()
        .any(|name| call.args.get(*name).and_then(Value::as_bool) == Some(true))
        || number("expected_replacements").is_some_and(|count| count > 1);
    let insert_after = number("insert_line").and_then(|line| usize::try_from(line).ok());
    let changes = text_changes(call).into_iter().filter(|change| is_file(&change.path));
    changes
        .map(|change| match (change.old.is_empty(), insert_after) {
            (true, Some(line)) => Change::Insert { line, new: change.new },
            (true, None) => Change::Write(change.new),
            (false, _) => Change::Replace { old: change.old, new: change.new, is_everywhere },
        })
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// A patch in Codex's language among arguments, also in a script.
fn find_patch(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => text.contains("*** Begin Patch").then_some(text),
        Value::Array(items) => items.iter().find_map(find_patch),
        Value::Object(fields) => fields.values().find_map(find_patch),
        _ => None,
    }
}

/// The hunks of a patch, each with its file; lines around a change stand on both sides.
fn patch_hunks(patch: &str) -> Vec<(String, Change)> {
    let mut hunks: Vec<(String, Change)> = Vec::new();
    let mut path = String::new();
    let mut is_new = false;
    let (mut old, mut new) = (String::new(), String::new());
    let mut end = |path: &str, is_new: bool, old: &mut String, new: &mut String| {
        let (old, new) = (std::mem::take(old), std::mem::take(new));
        if path.is_empty() || old == new {
            return;
        }
        let change = match is_new {
            true => Change::Write(new),
            false if old.is_empty() => Change::Insert { line: usize::MAX, new },
            false => Change::Replace { old, new, is_everywhere: false },
        };
        hunks.push((path.to_owned(), change));
    };
    for line in patch.lines() {
        let header = |name: &str| line.strip_prefix(name).map(|path| path.trim().to_owned());
        let update = header("*** Update File: ");
        let add = header("*** Add File: ");
        if line.starts_with("*** ") && !line.starts_with("*** End of File") || line.starts_with("@@") {
            end(&path, is_new, &mut old, &mut new);
            if line.starts_with("*** ") && !line.starts_with("*** Move to") {
                is_new = add.is_some();
                path = update.or(add).unwrap_or_default();
            }
            continue;
        }
        let (sides, text) = match line.as_bytes().first() {
            Some(b'-') => ((true, false), &line[1..]),
            Some(b'+') => ((false, true), &line[1..]),
            Some(b' ') => ((true, true), &line[1..]),
            _ => ((true, true), line),
        };
        for (is_on, side) in [(sides.0, &mut old), (sides.1, &mut new)] {
            if is_on {
                side.push_str(text);
                side.push('\n');
            }
        }
    }
    end(&path, is_new, &mut old, &mut new);
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_keep_the_lines_around_them() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn main\n one\n-two\n+2\n three\n@@\n+last\n*** Add File: b.rs\n+new\n*** End Patch";
        let replace =
            |old: &str, new: &str| Change::Replace { old: old.into(), new: new.into(), is_everywhere: false };
        assert_eq!(
            patch_hunks(patch),
            [
                ("src/a.rs".into(), replace("one\ntwo\nthree\n", "one\n2\nthree\n")),
                ("src/a.rs".into(), Change::Insert { line: usize::MAX, new: "last\n".into() }),
                ("b.rs".into(), Change::Write("new\n".into())),
            ]
        );
    }

    #[test]
    fn a_path_means_the_file_below_any_worktree() {
        let names = FileNames { roots: vec!["/srv/shop".into()], names: ["src/lib.rs".to_owned()].into() };
        for (path, expected) in [
            ("/srv/shop/src/lib.rs", true),
            ("/srv/shop/crates/a/src/lib.rs", false),
            ("/tmp/worktree-7/src/lib.rs", true),
            ("/tmp/worktree-7/xsrc/lib.rs", false),
        ] {
            assert_eq!(names.contains(Path::new(path)), expected, "{path}");
        }
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
