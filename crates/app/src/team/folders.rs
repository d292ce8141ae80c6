//! The folders whose sessions are pushed to the team: only those that the user has enabled.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use longhaul_archive::{Archive, ArchivedSession};
use longhaul_workspace::{create_private_atomically, main_worktree};

use crate::settings::Settings;
use crate::{archive, environment};

/// The folders whose sessions are pushed: those of the settings, and those that were enabled.
///
/// # Errors
/// The list cannot be read.
pub fn pushed_folders(settings: &Settings) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut folders = enabled()?;
    folders.extend(settings.archive_push());
    Ok(folders)
}

/// Lets the sessions of the current folder's repository be pushed, or stops that; the folder, and true if that is new.
///
/// # Errors
/// The list cannot be written.
pub fn set_pushed(is_pushed: bool) -> anyhow::Result<(PathBuf, bool)> {
    // The folder of the archive must be there.
    drop(archive::open()?);
    let here = main_worktree(&environment::current_folder());
    let mut folders = enabled()?;
    let is_new = if is_pushed { folders.insert(here.clone()) } else { folders.remove(&here) };
    if is_new {
        let text = serde_json::to_vec_pretty(&folders).context("could not write down the folders")?;
        create_private_atomically(&list()?, &text)?;
    }
    Ok((here, is_new))
}

fn list() -> anyhow::Result<PathBuf> {
    let folder = archive::folder()?.context("there is no home folder for the archive")?;
    Ok(folder.join("push.json"))
}

fn enabled() -> anyhow::Result<BTreeSet<PathBuf>> {
    let list = list()?;
    let failed = || format!("could not read {}", list.display());
    match std::fs::read(&list) {
        Ok(text) => serde_json::from_slice(&text).with_context(failed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error).with_context(failed),
    }
}

/// The sessions that may be pushed, each with its project.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn pushed<'a>(
    archive: &'a Archive,
    settings: &Settings,
) -> anyhow::Result<Vec<(&'a ArchivedSession, String)>> {
    let folders = pushed_folders(settings)?;
    let folders = folders.iter().flat_map(|folder| [folder.clone(), main_worktree(folder)]).collect();
    let found = archive.projects().context("could not read the archive")?;
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut sessions = Vec::new();
    for session in archive.sessions() {
        let project = found.get(&session.number()).or(session.source.project.as_ref());
        // What is about no folder is about none that was enabled.
        let Some(project) = project else { continue };
        let is_pushed = || is_of(Path::new(project), &folders);
        if *known.entry(project.clone()).or_insert_with(is_pushed) {
            sessions.push((session, project.clone()));
        }
    }
    Ok(sessions)
}

pub(super) fn plan_push(settings: &Settings) -> anyhow::Result<Vec<(ArchivedSession, String)>> {
    let mut archive = archive::open()?;
    archive::sync(&mut archive, settings, |_| true)?.context("could not sync the archive")?;
    let sessions = pushed(&archive, settings)?;
    Ok(sessions.into_iter().map(|(session, project)| (session.clone(), project)).collect())
}

/// True for a folder in one of these, or in another worktree of it.
fn is_of(project: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    let is_in = |project: &Path| folders.iter().any(|folder| project.starts_with(folder));
    is_in(project) || is_in(&main_worktree(project))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enabled_folders_are_pushed() {
        let folders = BTreeSet::from([PathBuf::from("/srv/shop")]);
        for (project, expected) in
            [("/srv/shop", true), ("/srv/shop/crates/cart", true), ("/srv/shopping", false), ("/srv", false)]
        {
            assert_eq!(is_of(Path::new(project), &folders), expected, "{project}");
        }
    }
}
