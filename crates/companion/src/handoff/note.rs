//! Notes about sessions that were handed over, by which they can be taken back.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_workspace::{Lock, LockTimeout, write_private_atomically};
use serde::{Deserialize, Serialize};

use super::HandoffError;
use crate::install::{AgentPlaces, GuardedAgent};

/// The most notes that are kept.
const MOST: usize = 500;

/// A session that was handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffNote {
    /// The agent, by its name on the command line.
    pub agent: String,
    /// The session's id there.
    pub id: String,
    /// The file that was made or appended to.
    pub path: PathBuf,
    /// The size of the file before; none if it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The size of the file afterwards.
    pub after: u64,
    /// A hash of its bytes afterwards.
    pub hash: String,
    /// Folders that were made for it, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
    /// The number of messages that were written.
    #[serde(default)]
    pub messages: usize,
}

#[derive(Default, Serialize, Deserialize)]
struct Notes {
    v: u32,
    handoffs: Vec<HandoffNote>,
}

/// The sessions that were handed over to an agent and not taken back, oldest first.
pub fn handoff_notes(places: &AgentPlaces, agent: GuardedAgent) -> Vec<HandoffNote> {
    let mut notes = load(&file(places)).handoffs;
    notes.retain(|note| note.agent == agent.name());
    notes
}

/// Changes the notes under their lock.
pub(super) fn change(
    places: &AgentPlaces,
    change: impl FnOnce(&mut Vec<HandoffNote>),
) -> Result<(), HandoffError> {
    let path = file(places);
    longhaul_workspace::create_private_folder(&places.notes)?;
    let _lock = Lock::beside(&path, "hand over", LockTimeout::default())?;
    let mut notes = load(&path);
    notes.v = 1;
    change(&mut notes.handoffs);
    let surplus = notes.handoffs.len().saturating_sub(MOST);
    notes.handoffs.drain(..surplus);
    let text = serde_json::to_string_pretty(&notes).expect("paths and texts are JSON");
    Ok(write_private_atomically(&path, text.as_bytes())?)
}

fn load(path: &Path) -> Notes {
    fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn file(places: &AgentPlaces) -> PathBuf {
    places.notes.join("handoffs.json")
}
