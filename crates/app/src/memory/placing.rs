//! Saving a fact in a memory file, and the folders that may hold one.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use longhaul_memory::{
    Fact, FactScope, KnownMemory, MemoryError, MemorySettings, Places, SavedFact, save_fact, save_in_folder,
    save_target,
};
use longhaul_workspace::LockTimeout;

use crate::clock::now;
use crate::failure::hinted;

/// The scope of a folder that the user names, if facts may be saved there.
pub fn folder(named: &Path, places: &Places) -> anyhow::Result<FactScope> {
    let refused = |reason: &str, hint: &str| {
        hinted(anyhow!("cannot save to {}: {reason}", named.display()), hint.to_string())
    };
    let workspace = places.workspace().map(|workspace| workspace.path.clone()).unwrap_or_default();
    let folder = workspace
        .join(named)
        .canonicalize()
        .ok()
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| refused("no such folder", "choose a folder in the workspace"))?;
    let holds = |root: &PathBuf| root.canonicalize().is_ok_and(|root| folder.starts_with(root));
    let mut around = places.folders.iter().filter(|known| holds(&known.path)).peekable();
    if around.peek().is_none() {
        return Err(refused("it is outside the workspace", "choose a folder in the workspace"));
    }
    if !around.any(|known| known.is_trusted) {
        return Err(refused("the workspace is not trusted", "run `longhaul trust add` to trust it"));
    }
    if folder.components().any(|part| part.as_os_str() == ".git") {
        return Err(refused("it belongs to Git", "choose a folder in the workspace"));
    }
    Ok(FactScope::Folder(folder))
}

/// Saves a fact where it belongs.
pub fn save(
    fact: &Fact,
    scope: &FactScope,
    places: &Places,
    settings: &MemorySettings,
) -> Result<SavedFact, MemoryError> {
    let is_shared = matches!(scope, FactScope::Folder(_));
    let path = save_target(scope.clone(), places, settings)?;
    let known = KnownMemory::load(scope, &path, places, settings);
    if !is_shared {
        return save_fact(&path, fact, known, now(), LockTimeout::default());
    }
    let beside = save_target(FactScope::Global, places, settings)?;
    save_in_folder(&path, &beside, fact, known, now(), LockTimeout::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_memory::WorkFolder;

    #[test]
    fn only_trusted_folders_of_the_workspace_are_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work/docs", "work/.git", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("made");
        }
        let check = |named: &str, is_trusted, expected: Result<&str, &str>| {
            let path = folder.path().join("work");
            let places = Places { folders: vec![WorkFolder { path, is_trusted }], ..Places::default() };
            match (super::folder(Path::new(named), &places), expected) {
                (Ok(FactScope::Folder(found)), Ok(expected)) => {
                    assert!(found.ends_with(expected), "{found:?}");
                }
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (found, _) => panic!("{named}: {found:?}"),
            }
        };
        check(".", true, Ok("work"));
        check("docs", true, Ok("work/docs"));
        check("docs", false, Err("not trusted"));
        check("../outside", true, Err("outside the workspace"));
        check(".git", true, Err("belongs to Git"));
        check("none", true, Err("no such folder"));
    }
}
