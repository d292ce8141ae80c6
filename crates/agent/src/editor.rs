//! Files that the user has open in an editor, as a plug-in writes them to a file: the model reads the whole list once, then
//! what changed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use longhaul_conversation::{Message, Origin, Part, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The longest selection that is shown, in characters.
const LONGEST_SELECTION: usize = 16_384;
/// The most files that are listed.
const MOST_FILES: usize = 10;
/// The longest file that is read, in bytes.
const LONGEST_FILE: u64 = 4 << 20;

/// The file that a plug-in writes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EditorFile {
    workspace_state: Option<EditorWorkspace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EditorWorkspace {
    open_files: Vec<OpenFile>,
}

/// A file in an editor.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenFile {
    path: String,
    timestamp: f64,
    #[serde(default)]
    is_active: bool,
    #[serde(default)]
    selected_text: Option<String>,
    #[serde(default)]
    cursor: Option<Cursor>,
}

/// A place in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Cursor {
    line: u64,
    character: u64,
}

/// The state of the editor that the model last read about.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditorContext {
    sent: Option<Vec<OpenFile>>,
    /// `true` once the user was warned that the file cannot be read.
    has_warned: bool,
}

impl EditorContext {
    /// Forgets it, so that the model reads everything the next time.
    pub(crate) fn forget(&mut self) {
        self.sent = None;
    }

    /// The part to add to the next prompt, if there is news.
    ///
    /// # Errors
    /// A warning for the user, once, where the file cannot be read.
    pub(crate) fn news(&mut self, path: &Path, messages: &[Message]) -> Result<Option<Part>, String> {
        // Nothing may stand between a call and its answer.
        if messages.last().is_some_and(waits_for_tools) {
            return Ok(None);
        }
        if messages.is_empty() {
            self.forget();
        }
        match read(path) {
            Ok(written) => {
                self.has_warned = false;
                let Some(written) = written else { return Ok(None) };
                let files = written.workspace_state.map(normalised).unwrap_or_default();
                Ok(self.update(files).map(|text| Part::text(Origin::Hook, text)))
            }
            Err(_) if self.has_warned => Ok(None),
            Err(error) => {
                self.has_warned = true;
                Err(format!("could not read the editor state from {}: {error}", path.display()))
            }
        }
    }

    /// The text on what is open now, if there is news.
    fn update(&mut self, files: Vec<OpenFile>) -> Option<String> {
        let news = match &self.sent {
            None => full(&files),
            Some(sent) => delta(sent, &files),
        };
        let is_full = self.sent.is_none();
        self.sent = Some(files);
        news.map(|news| render(&news, is_full))
    }
}

fn waits_for_tools(message: &Message) -> bool {
    message.role == Role::Model && message.calls().next().is_some()
}

/// The content of the file; `None` where there is none.
fn read(path: &Path) -> io::Result<Option<EditorFile>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
    }
    // An editor that closes may leave an empty file behind.
    if bytes.trim_ascii().is_empty() {
        return Ok(Some(EditorFile::default()));
    }
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// The newest files, the newest first, of which only that one can be active.
fn normalised(workspace: EditorWorkspace) -> Vec<OpenFile> {
    let mut files = workspace.open_files;
    files.sort_by(|one, other| other.timestamp.total_cmp(&one.timestamp));
    files.truncate(MOST_FILES);
    let is_active = files.first().is_some_and(|newest| newest.is_active);
    for file in files.iter_mut().skip(usize::from(is_active)) {
        (file.is_active, file.selected_text, file.cursor) = (false, None, None);
    }
    if let Some(active) = files.first_mut().filter(|file| file.is_active)
        && let Some(text) = &mut active.selected_text
        && let Some((end, _)) = text.char_indices().nth(LONGEST_SELECTION)
    {
        text.truncate(end);
        text.push_str("... [TRUNCATED]");
    }
    files
}

fn active(files: &[OpenFile]) -> Option<&OpenFile> {
    files.first().filter(|file| file.is_active)
}

fn selection(file: &OpenFile) -> &str {
    file.selected_text.as_deref().unwrap_or_default()
}

/// A file with where the user is in it.
fn described(file: &OpenFile) -> Value {
    let mut news = Map::from_iter([("path".to_string(), json!(file.path))]);
    if let Some(cursor) = file.cursor {
        news.insert("cursor".into(), json!(cursor));
    }
    if !selection(file).is_empty() {
        news.insert("selectedText".into(), json!(selection(file)));
    }
    Value::Object(news)
}

/// Everything, unless there is nothing.
fn full(files: &[OpenFile]) -> Option<Value> {
    let mut news = Map::new();
    if let Some(active) = active(files) {
        news.insert("activeFile".into(), described(active));
    }
    let others: Vec<&str> =
        files.iter().filter(|file| !file.is_active).map(|file| file.path.as_str()).collect();
    if !others.is_empty() {
        news.insert("otherOpenFiles".into(), json!(others));
    }
    (!news.is_empty()).then_some(Value::Object(news))
}

/// The differences, if there are any.
fn delta(before: &[OpenFile], now: &[OpenFile]) -> Option<Value> {
    let only_in = |files: &[OpenFile], others: &[OpenFile]| -> Vec<String> {
        let is_new = |file: &&OpenFile| !others.iter().any(|other| other.path == file.path);
        files.iter().filter(is_new).map(|file| file.path.clone()).collect()
    };
    let mut changes = Map::new();
    for (name, paths) in [("filesOpened", only_in(now, before)), ("filesClosed", only_in(before, now))] {
        if !paths.is_empty() {
            changes.insert(name.into(), json!(paths));
        }
    }
    match (active(before), active(now)) {
        (Some(before), Some(now)) if before.path == now.path => {
            if let Some(cursor) = now.cursor.filter(|cursor| before.cursor != Some(*cursor)) {
                changes.insert("cursorMoved".into(), json!({"path": now.path, "cursor": cursor}));
            }
            if selection(before) != selection(now) {
                let moved = json!({"path": now.path, "selectedText": selection(now)});
                changes.insert("selectionChanged".into(), moved);
            }
        }
        (_, Some(now)) => {
            changes.insert("activeFileChanged".into(), described(now));
        }
        (Some(before), None) => {
            let gone = json!({"path": null, "previousPath": before.path});
            changes.insert("activeFileChanged".into(), gone);
        }
        (None, None) => {}
    }
    (!changes.is_empty()).then(|| json!({"changes": changes}))
}

fn render(news: &Value, is_full: bool) -> String {
    let introduction = match is_full {
        true => "This is what the user has open in an editor. It is told by the editor; nobody typed it.",
        false => "This is what changed in the user's editor since you were last told. Nobody typed it.",
    };
    format!("{introduction}\n```json\n{news:#}\n```")
}

#[cfg(test)]
mod tests;
