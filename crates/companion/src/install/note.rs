//! The note that keeps what a file was before the guard was installed.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_text::hash_text;
use longhaul_workspace::write_private_atomically;
use serde::{Deserialize, Serialize};

use super::{AgentPlaces, GuardedAgent, InstallError, InstallScope};

/// A file before and after the guard was installed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InstallNote {
    pub(super) path: PathBuf,
    /// None if there was no file.
    pub(super) before: Option<String>,
    pub(super) after: String,
}

impl InstallNote {
    /// The note of an installation; none if it was not made here, or for another file.
    pub(super) fn load(
        places: &AgentPlaces,
        agent: GuardedAgent,
        scope: InstallScope,
        path: &Path,
    ) -> Option<Self> {
        let read = |file: PathBuf| {
            let text = fs::read_to_string(file).ok()?;
            serde_json::from_str::<Self>(&text).ok().filter(|note| note.path == path)
        };
        read(file(places, agent, scope, path)).or_else(|| read(older_file(places, agent, scope)))
    }

    pub(super) fn save(
        &self,
        places: &AgentPlaces,
        agent: GuardedAgent,
        scope: InstallScope,
    ) -> Result<(), InstallError> {
        let text = serde_json::to_string(self).expect("a path read from UTF-8 and texts are JSON");
        Ok(write_private_atomically(&file(places, agent, scope, &self.path), text.as_bytes())?)
    }
}

/// Forgets an installation; a note that stays does no harm, as its bytes are no longer there.
pub(super) fn forget(places: &AgentPlaces, agent: GuardedAgent, scope: InstallScope, path: &Path) {
    let is_older = InstallNote::load(places, agent, scope, path).is_some();
    let _ = fs::remove_file(file(places, agent, scope, path));
    if is_older && InstallNote::load(places, agent, scope, path).is_some() {
        let _ = fs::remove_file(older_file(places, agent, scope));
    }
}

/// The name under which one file is locked. Our home has the lock: an agent's folder gets no file that it does not know.
pub(super) fn lock_of(places: &AgentPlaces, path: &Path) -> PathBuf {
    places.notes.join(format!("{:016x}", hash_text(&path.to_string_lossy())))
}

fn file(places: &AgentPlaces, agent: GuardedAgent, scope: InstallScope, path: &Path) -> PathBuf {
    let path = hash_text(&path.to_string_lossy());
    places.notes.join(format!("{}-{}-{path:016x}.json", agent.name(), place_of(places, scope)))
}

/// The note of versions that changed one file for each agent.
fn older_file(places: &AgentPlaces, agent: GuardedAgent, scope: InstallScope) -> PathBuf {
    places.notes.join(format!("{}-{}.json", agent.name(), place_of(places, scope)))
}

fn place_of(places: &AgentPlaces, scope: InstallScope) -> String {
    match scope {
        InstallScope::User => "user".to_string(),
        InstallScope::Project => format!("{:016x}", hash_text(&places.project.to_string_lossy())),
    }
}
