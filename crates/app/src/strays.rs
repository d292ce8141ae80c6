//! Temporary files that killed processes left behind in the home and in the project.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_workspace::{
    Home, ProjectHome, WorkspaceFolder, find_noted_strays, find_strays, remove_noted_strays, remove_strays,
};

/// The depth of the search below a project's part of the home.
const DEEPEST: u32 = 4;

/// The same for other projects, whose own sessions search deeper.
const DEEPEST_ELSEWHERE: u32 = 2;

/// The most folders searched.
const MOST_FOLDERS: usize = 1_000;

/// Places that Longhaul writes to: the home, with the parts of all projects, and the project's own top folders. Deeper ones that
/// tools wrote into are in the project's record.
fn places(home: &Home, project: Option<&ProjectHome>, folder: &Path) -> Vec<PathBuf> {
    let workspace = WorkspaceFolder::of(folder);
    let mut places = vec![home.root().to_path_buf(), home.skills(), folder.to_path_buf(), workspace.skills()];
    places.extend(workspace.skills().parent().map(Path::to_path_buf));
    add_folders(&home.root().join("longhaul"), DEEPEST, &mut places);
    if let Some(project) = project {
        add_folders(project.root(), DEEPEST, &mut places);
    }
    let is_other = |folder: &PathBuf| project.is_none_or(|project| project.root() != folder);
    let others = fs::read_dir(home.tmp()).into_iter().flatten().flatten().map(|entry| entry.path());
    for other in others.filter(|folder| folder.is_dir() && is_other(folder)) {
        if places.len() < MOST_FOLDERS {
            add_folders(&other, DEEPEST_ELSEWHERE, &mut places);
        }
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
    if let Some(project) = project {
        remove_noted_strays(&project.written_folders());
    }
}

/// Those that are there. Nothing is changed.
pub fn find(home: &Home, project: Option<&ProjectHome>, folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        places(home, project, folder).iter().flat_map(|place| find_strays(place)).collect();
    found.extend(project.map(|project| find_noted_strays(&project.written_folders())).unwrap_or_default());
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use longhaul_workspace::{Environment, FolderRecorder, STAGED_PREFIX};

    use super::*;

    #[test]
    fn left_overs_are_found_and_removed_in_the_home_in_all_projects_and_where_tools_wrote() {
        let root = tempfile::tempdir().expect("a folder");
        let environment = Environment { user_home: Some(root.path().join("user")), ..Environment::default() };
        let home = Home::resolve(&environment).expect("a home");
        let work = root.path().join("work");
        let name = format!("{STAGED_PREFIX}0123456789abcdef");
        let left: Vec<PathBuf> = ["", "tmp/a/chats", "tmp/b/tool-outputs", "tmp/b/memory/skills"]
            .iter()
            .map(|place| home.root().join(place).join(&name))
            .chain([work.join(&name), work.join(".gemini/skills").join(&name)])
            .collect();
        for file in &left {
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, "half").expect("written");
        }
        let mut expected = left.clone();
        expected.sort();
        assert_eq!(find(&home, None, &work), expected);
        remove(&home, None, &work);
        assert_eq!(find(&home, None, &work), [] as [PathBuf; 0]);
        assert!(left.iter().all(|file| !file.exists()));
        // A recorder that knows no place keeps none.
        FolderRecorder::default().note(&work);
        assert_eq!(fs::read_dir(&work).expect("a folder").count(), 1);
    }
}
