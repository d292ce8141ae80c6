//! Temporary files that killed processes left behind in the home and in the project.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_workspace::{Home, ProjectHome, WorkspaceFolder, find_strays, remove_strays};

/// The depth of the search below a project's part of the home.
const DEEPEST: u32 = 4;

/// The most folders searched.
const MOST_FOLDERS: usize = 1_000;

/// Places that Longhaul writes to: the home, this project's part of it, and the project's own top folders. Deeper ones are
/// cleaned by the next write there.
fn places(home: &Home, project: Option<&ProjectHome>, folder: &Path) -> Vec<PathBuf> {
    let workspace = WorkspaceFolder::of(folder);
    let mut places = vec![home.root().to_path_buf(), home.skills(), folder.to_path_buf(), workspace.skills()];
    places.extend(workspace.skills().parent().map(Path::to_path_buf));
    add_folders(&home.root().join("longhaul"), DEEPEST, &mut places);
    if let Some(project) = project {
        add_folders(project.root(), DEEPEST, &mut places);
    }
    places
}

fn add_folders(folder: &Path, deepest: u32, places: &mut Vec<PathBuf>) {
    places.push(folder.to_path_buf());
    if deepest == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if places.len() >= MOST_FOLDERS {
            return;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_folders(&entry.path(), deepest - 1, places);
        }
    }
}

/// Removes them.
pub(crate) fn remove(home: &Home, project: Option<&ProjectHome>, folder: &Path) {
    places(home, project, folder).iter().for_each(|place| drop(remove_strays(place)));
}

/// Those that are there. Nothing is changed.
pub fn find(home: &Home, project: Option<&ProjectHome>, folder: &Path) -> Vec<PathBuf> {
    places(home, project, folder).iter().flat_map(|place| find_strays(place)).collect()
}
