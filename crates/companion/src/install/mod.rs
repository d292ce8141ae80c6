//! Installs the guard in other agents, and takes it back to the byte.
//!
//! A plug-in, an extension or entries in an agent's own settings call the `longhaul` on the PATH: hooks, the MCP server and a
//! skill. A plan shows every change before it is made; a note in our home keeps the bytes of before.

mod agents;
mod change;
mod note;
mod pieces;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use longhaul_workspace::{JsoncError, Lock, LockTimeout, WorkspaceError, write_private_atomically};

pub use agents::{AgentPlaces, GuardedAgent, InstallScope};
pub use change::{FileChange, FileOwner};
use note::InstallNote;

/// An error of installing or uninstalling.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file of the agent cannot be read.
    #[error("could not read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// A settings file has a syntax error or an unexpected shape.
    #[error("could not install in {}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: JsoncError,
    },
    /// A key of a settings file has another type than its agent expects.
    #[error("could not install in {}: \"{key}\" is no {expected}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The type it must have.
        expected: &'static str,
    },
    /// A file changed between the plan and its execution.
    #[error("{} changed meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written or locked.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// The changes that installing or uninstalling would make.
#[derive(Clone, Debug, PartialEq)]
pub struct InstallPlan {
    /// The agent.
    pub agent: GuardedAgent,
    /// Its reach.
    pub scope: InstallScope,
    /// The changes of files; none where everything is in place.
    pub changes: Vec<FileChange>,
}

/// Plans to install the guard in an agent.
///
/// # Errors
/// If a file of the agent cannot be read or understood.
pub fn plan_install(
    agent: GuardedAgent,
    scope: InstallScope,
    places: &AgentPlaces,
) -> Result<InstallPlan, InstallError> {
    let mut changes = Vec::new();
    for file in agent.files(scope, places) {
        let before = read(&file.path)?;
        let after = file.with(before.as_deref())?;
        changes.extend(FileChange { owner: file.owner(), path: file.path, before, after }.if_any());
    }
    Ok(InstallPlan { agent, scope, changes })
}

/// Plans to take the guard out of an agent: to the bytes of before where nothing else has changed, and otherwise by
/// removing its entries.
///
/// # Errors
/// As [`plan_install`].
pub fn plan_uninstall(
    agent: GuardedAgent,
    scope: InstallScope,
    places: &AgentPlaces,
) -> Result<InstallPlan, InstallError> {
    let mut changes = Vec::new();
    for file in agent.files(scope, places).into_iter().rev() {
        let before = read(&file.path)?;
        let after = match (&before, InstallNote::load(places, agent, scope, &file.path)) {
            (None, _) => None,
            (Some(now), Some(note)) if note.after == *now => note.before,
            (Some(now), _) => file.without(now)?,
        };
        changes.extend(FileChange { owner: file.owner(), path: file.path, before, after }.if_any());
    }
    Ok(InstallPlan { agent, scope, changes })
}

/// The state of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallState {
    /// Nothing of it is there.
    Absent,
    /// An older version of it is there, or a part of it.
    Outdated,
    /// It is there as this version makes it.
    Current,
}

/// The state of an installation, in whatever version.
///
/// # Errors
/// If a file of the agent cannot be read.
pub fn install_state(
    agent: GuardedAgent,
    scope: InstallScope,
    places: &AgentPlaces,
) -> Result<InstallState, InstallError> {
    let mut is_there = false;
    let mut is_current = true;
    for file in agent.files(scope, places) {
        let now = read(&file.path)?;
        // What is not understood is no place of ours.
        is_current &= file.with(now.as_deref()).is_ok_and(|wanted| wanted == now);
        is_there |= now.is_some_and(|now| file.is_in(&now));
    }
    Ok(match (is_there, is_current) {
        (false, _) => InstallState::Absent,
        (true, false) => InstallState::Outdated,
        (true, true) => InstallState::Current,
    })
}

/// Makes the changes of a plan, each under a lock and at once, and keeps the bytes of before.
///
/// # Errors
/// If a file changed since the plan was made, or cannot be written.
pub fn apply_install(plan: &InstallPlan, places: &AgentPlaces) -> Result<(), InstallError> {
    let files = plan.agent.files(plan.scope, places);
    for change in &plan.changes {
        let _lock = Lock::beside(&note::lock_of(places, &change.path), "install", LockTimeout::default())?;
        if read(&change.path)? != change.before {
            return Err(InstallError::Changed { path: change.path.clone() });
        }
        let file = files.iter().find(|file| file.path == change.path);
        let Some(after) = &change.after else {
            remove(&change.path)?;
            note::forget(places, plan.agent, plan.scope, &change.path);
            continue;
        };
        // Files of ours are removed whole: there is no before to come back to.
        let is_noted = change.owner == FileOwner::Agent && file.is_some_and(|file| file.is_in(after));
        if is_noted {
            // Of a newer version over an older one, the bytes of before the first count.
            let known = InstallNote::load(places, plan.agent, plan.scope, &change.path);
            let is_renewed = known.as_ref().is_some_and(|known| Some(&known.after) == change.before.as_ref());
            let before =
                if is_renewed { known.and_then(|known| known.before) } else { change.before.clone() };
            let note = InstallNote { path: change.path.clone(), before, after: after.clone() };
            note.save(places, plan.agent, plan.scope)?;
            write_private_atomically(&change.path, after.as_bytes())?;
        } else {
            write_private_atomically(&change.path, after.as_bytes())?;
            if change.owner == FileOwner::Agent {
                note::forget(places, plan.agent, plan.scope, &change.path);
            }
        }
    }
    remove_empty_folders(plan, places);
    Ok(())
}

/// Removes the folders that only files of ours were in.
fn remove_empty_folders(plan: &InstallPlan, places: &AgentPlaces) {
    let roots =
        [&places.claude, &places.codex, &places.gemini, &places.opencode, &places.project, &places.notes];
    let is_kept = |folder: &Path| roots.iter().any(|root| root.starts_with(folder));
    let removed = plan.changes.iter().filter(|change| change.after.is_none());
    for change in removed {
        for folder in change.path.ancestors().skip(1).take_while(|folder| !is_kept(folder)) {
            // One in which something else lies stays, and those above it.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(InstallError::Unreadable { path: path.to_path_buf(), cause }),
    }
}

fn remove(path: &Path) -> Result<(), InstallError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(WorkspaceError::Failed { act: "remove", path: path.to_path_buf(), cause }.into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
