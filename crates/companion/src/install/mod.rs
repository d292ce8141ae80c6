//! Installs the guard in other agents, and takes it back to the byte.
//!
//! Entries in an agent's own settings, or a file of ours beside them, call the `longhaul` on the
//! PATH. A plan shows every change before it is made; a note in our home keeps the bytes of before.

mod agents;
mod change;
mod note;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use longhaul_workspace::{JsoncError, Lock, LockTimeout, WorkspaceError, write_private_atomically};

pub use agents::{AgentPlaces, GuardedAgent, InstallScope};
pub use change::FileChange;
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
    #[error("could not add hooks to {}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: JsoncError,
    },
    /// A key of a settings file has another type than its agent expects.
    #[error("could not add hooks to {}: \"{key}\" is no {expected}", path.display())]
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
    let path = agent.file(scope, places);
    let before = read(&path)?;
    let after = agent.with_guard(&path, before.as_deref())?;
    let change = FileChange { path, before, after: Some(after) };
    Ok(InstallPlan { agent, scope, changes: change.if_any() })
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
    let path = agent.file(scope, places);
    let before = read(&path)?;
    let after = match (&before, InstallNote::load(places, agent, scope, &path)) {
        (None, _) => None,
        (Some(now), Some(note)) if note.after == *now => note.before,
        (Some(now), _) => agent.without_guard(&path, now)?,
    };
    let change = FileChange { path, before, after };
    Ok(InstallPlan { agent, scope, changes: change.if_any() })
}

/// True if the guard is installed there, in whatever version.
///
/// # Errors
/// If a file of the agent cannot be read.
pub fn is_installed(
    agent: GuardedAgent,
    scope: InstallScope,
    places: &AgentPlaces,
) -> Result<bool, InstallError> {
    Ok(read(&agent.file(scope, places))?.is_some_and(|text| agent.has_guard(&text)))
}

/// Makes the changes of a plan, each under a lock and at once, and keeps the bytes of before.
///
/// # Errors
/// If a file changed since the plan was made, or cannot be written.
pub fn apply_install(plan: &InstallPlan, places: &AgentPlaces) -> Result<(), InstallError> {
    for change in &plan.changes {
        let _lock = Lock::beside(&note::lock_of(places, &change.path), "install", LockTimeout::default())?;
        if read(&change.path)? != change.before {
            return Err(InstallError::Changed { path: change.path.clone() });
        }
        let Some(after) = &change.after else {
            remove(&change.path)?;
            note::forget(places, plan.agent, plan.scope);
            continue;
        };
        if plan.agent.has_guard(after) {
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
            note::forget(places, plan.agent, plan.scope);
        }
    }
    Ok(())
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
