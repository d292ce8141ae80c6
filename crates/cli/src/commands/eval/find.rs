//! Finds session files in folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Extensions of session files.
const ENDINGS: [&str; 4] = ["jsonl", "json", "traj", "md"];
/// Folders that hold no sessions and much else.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

/// The named files and those in the named folders, sorted within each folder; and the folders that cannot be searched.
pub(super) fn session_files(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<(PathBuf, anyhow::Error)>) {
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            search(path, &mut files, &mut unreadable);
        } else {
            files.push(path.clone());
        }
    }
    (files, unreadable)
}

fn search(folder: &Path, files: &mut Vec<PathBuf>, unreadable: &mut Vec<(PathBuf, anyhow::Error)>) {
    let mut entries = match list(folder) {
        Ok(entries) => entries,
        Err(error) => return unreadable.push((folder.to_path_buf(), error)),
    };
    entries.sort();
    for path in entries {
        // Links are followed to files only: links to folders can go round in circles.
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        if is_folder && !PASSED_OVER.iter().any(|name| path.ends_with(name)) {
            search(&path, files, unreadable);
        } else if path.is_file()
            && path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known))
        {
            files.push(path);
        }
    }
}

fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = "could not list the folder";
    fs::read_dir(folder).context(failed)?.map(|entry| Ok(entry.context(failed)?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_for_sessions() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in
            ["b/two.jsonl", "b/notes.txt", "a.traj", ".git/config.json", "b/c/.chat.md", "z.json/x.json"]
        {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
            fs::write(path, "").expect("written");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), folder.path().join("b/round")).expect("linked");
        let named = folder.path().join("b/notes.txt");
        let (files, unreadable) = session_files(&[folder.path().to_path_buf(), named, "nowhere".into()]);
        let names: Vec<_> = files
            .iter()
            .map(|file| file.strip_prefix(folder.path()).unwrap_or(file).display().to_string())
            .collect();
        assert_eq!(
            names,
            ["a.traj", "b/c/.chat.md", "b/two.jsonl", "z.json/x.json", "b/notes.txt", "nowhere"]
        );
        assert!(unreadable.is_empty());
    }
}
