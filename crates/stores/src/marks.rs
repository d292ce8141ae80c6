//! What lies beside a session and says of it what the session itself does not: its folder, its title, its id.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent::Agent;
use crate::head::Head;

/// A small file beside sessions is no larger than this.
const MOST: u64 = 1 << 20;

/// Completes a head from the files beside the session, and its id from the file's name.
pub(crate) fn complete(agent: Agent, path: &Path, head: &mut Head) {
    match agent {
        Agent::Gemini if head.directory.is_none() => {
            let root = path.parent().and_then(Path::parent).map(|folder| folder.join(".project_root"));
            head.directory = root.and_then(|path| small_text(&path)).map(|text| text.trim().to_string());
        }
        Agent::Kimi => {
            // agents/main/wire.jsonl, two folders below the session's own.
            let folder = path.ancestors().nth(3);
            if let Some(state) = folder.and_then(|folder| small_json(&folder.join("state.json"))) {
                let text = |key: &str| state[key].as_str().map(str::to_string);
                head.id = text("id").unwrap_or_else(|| std::mem::take(&mut head.id));
                head.directory = text("cwd").or(head.directory.take());
                head.title = text("title").filter(|title| !title.is_empty()).or(head.title.take());
            }
        }
        Agent::Vscode => {
            let workspace =
                path.ancestors().nth(2).and_then(|folder| small_json(&folder.join("workspace.json")));
            let folder = workspace.as_ref().and_then(|workspace| workspace["folder"].as_str());
            head.directory = folder.and_then(path_of_url).or(head.directory.take());
        }
        Agent::Cline | Agent::Roo => {
            head.id = folder_name(path).unwrap_or_default();
        }
        Agent::Antigravity => {
            head.id = path.ancestors().nth(3).and_then(Path::file_name).map(text_of).unwrap_or_default();
        }
        _ => {}
    }
    if head.id.is_empty() {
        head.id = path.file_stem().map(text_of).unwrap_or_default();
    }
}

/// The word by which Cursor names a project's folder: its path with `-` between the names.
pub(crate) fn is_cursor_folder(path: &Path, project: &Path) -> bool {
    let named = path.ancestors().nth(3).and_then(Path::file_name).map(text_of);
    let text = project.display().to_string();
    let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    named.is_some_and(|named| named.eq_ignore_ascii_case(word.trim_start_matches('-')))
}

fn folder_name(path: &Path) -> Option<String> {
    path.parent().and_then(Path::file_name).map(text_of)
}

fn text_of(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn small_text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MOST).then(|| fs::read_to_string(path).ok())?
}

pub(crate) fn small_json(path: &Path) -> Option<Value> {
    serde_json::from_str(&small_text(path)?).ok()
}

/// The path of a `file://` address.
fn path_of_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(rest.len());
    let mut rest = rest.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = (*first == b'%').then(|| behind.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    Some(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_paths() {
        assert_eq!(path_of_url("file:///home/dev/my%20shop").as_deref(), Some("/home/dev/my shop"));
        assert_eq!(path_of_url("file:///100%").as_deref(), Some("/100%"));
        assert_eq!(path_of_url("vscode-remote://x/y"), None);
    }

    #[test]
    fn cursor_names_folders_by_their_path() {
        let session = Path::new("/u/.cursor/projects/home-dev-my-shop/agent-transcripts/1/1.jsonl");
        assert!(is_cursor_folder(session, Path::new("/home/dev/my.shop")));
        assert!(!is_cursor_folder(session, Path::new("/home/dev")));
    }
}
