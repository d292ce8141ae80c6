//! Writes a session that is handed over, and takes it back to the byte.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use longhaul_conversation::{Origin, Part};
use longhaul_formats::read_session;
use longhaul_text::hash_text;
use longhaul_workspace::{Creation, Lock, LockTimeout, create_private_atomically};

use super::note::{HandoffNote, change, handoff_notes};
use super::{Handoff, HandoffChange, HandoffError};
use crate::install::{AgentPlaces, GuardedAgent};

/// Writes what was planned, and notes it so that it can be undone. `messages` is their number.
///
/// # Errors
/// If a file cannot be written, or changed since it was read.
pub fn apply_handoff(handoff: &Handoff, places: &AgentPlaces, messages: usize) -> Result<(), HandoffError> {
    let note = match &handoff.change {
        HandoffChange::Create { path, text } => {
            let folders = missing_folders(path);
            if create_private_atomically(path, text.as_bytes())? == Creation::AlreadyThere {
                return Err(HandoffError::Changed { path: path.clone() });
            }
            note(handoff, path, None, text.as_bytes(), folders, messages)
        }
        HandoffChange::Append { path, before, text } => {
            let _lock = lock(places, path)?;
            let mut bytes = read(path)?;
            if bytes.len() as u64 != *before {
                return Err(HandoffError::Changed { path: path.clone() });
            }
            let failed = |cause| HandoffError::Io { act: "append to", path: path.clone(), cause };
            let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
            bytes.extend_from_slice(text.as_bytes());
            note(handoff, path, Some(*before), &bytes, Vec::new(), messages)
        }
    };
    change(places, |notes| notes.push(note))
}

fn note(
    handoff: &Handoff,
    path: &Path,
    before: Option<u64>,
    bytes: &[u8],
    folders: Vec<PathBuf>,
    messages: usize,
) -> HandoffNote {
    HandoffNote {
        agent: handoff.agent.name().to_string(),
        id: handoff.id.clone(),
        path: path.to_path_buf(),
        before,
        after: bytes.len() as u64,
        hash: hash_of(bytes),
        folders,
        messages,
    }
}

/// A hand-over that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneHandoff {
    /// The session's id.
    pub id: String,
    /// The file that is gone, or as it was before.
    pub path: PathBuf,
    /// True if the file is gone, false if it is as it was before.
    pub is_removed: bool,
}

/// Takes back the newest hand-over to an agent, or that of this session.
///
/// # Errors
/// If there is none, or the session went on since.
pub fn undo_handoff(
    agent: GuardedAgent,
    id: Option<&str>,
    places: &AgentPlaces,
) -> Result<UndoneHandoff, HandoffError> {
    let is_named = |note: &&HandoffNote| id.is_none_or(|id| note.id.starts_with(id));
    let nothing = || HandoffError::NothingToUndo { agent: agent.title(), id: id.map(str::to_string) };
    let note =
        handoff_notes(places, agent).into_iter().rev().find(|note| is_named(&note)).ok_or_else(nothing)?;
    let path = &note.path;
    let _lock = lock(places, path)?;
    let bytes = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound && note.before.is_none() => None,
        Err(cause) => return Err(HandoffError::Io { act: "read", path: path.clone(), cause }),
    };
    if let Some(bytes) = &bytes {
        if bytes.len() as u64 != note.after || hash_of(bytes) != note.hash {
            return Err(HandoffError::Grown { path: path.clone(), turns: turns_since(bytes, note.after) });
        }
        let failed = |cause| HandoffError::Io { act: "take back", path: path.clone(), cause };
        match note.before {
            Some(before) => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                file.set_len(before).and_then(|()| file.sync_data()).map_err(failed)?;
            }
            None => fs::remove_file(path).map_err(failed)?,
        }
    }
    for folder in &note.folders {
        // One in which something else lies by now stays.
        let _ = fs::remove_dir(folder);
    }
    change(places, |notes| notes.retain(|other| *other != note))?;
    Ok(UndoneHandoff { id: note.id.clone(), path: path.clone(), is_removed: note.before.is_none() })
}

/// The user's prompts behind so many bytes of a session.
fn turns_since(bytes: &[u8], after: u64) -> Vec<String> {
    let after = usize::try_from(after).unwrap_or(usize::MAX).min(bytes.len());
    let typed = |bytes: &[u8]| -> Vec<String> {
        let Ok(session) = read_session(bytes) else { return Vec::new() };
        let messages = session.transcript.messages().iter();
        let texts = messages.filter_map(|message| {
            let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
            let text = typed.filter_map(Part::as_text).collect::<Vec<_>>().join(" ");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (!words.is_empty()).then_some(words)
        });
        texts.collect()
    };
    let known = typed(&bytes[..after]).len();
    typed(bytes).into_iter().skip(known).collect()
}

/// The folders that must be made for a file, the innermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect()
}

fn lock(places: &AgentPlaces, path: &Path) -> Result<Lock, HandoffError> {
    longhaul_workspace::create_private_folder(&places.notes)?;
    let name = places.notes.join(format!("{:016x}", hash_text(&path.to_string_lossy())));
    Ok(Lock::beside(&name, "hand over", LockTimeout::default())?)
}

fn read(path: &Path) -> Result<Vec<u8>, HandoffError> {
    fs::read(path).map_err(|cause| HandoffError::Io { act: "read", path: path.to_path_buf(), cause })
}

/// A hash of bytes of any kind.
fn hash_of(bytes: &[u8]) -> String {
    format!("{:016x}", hash_text(&String::from_utf8_lossy(bytes)))
}
