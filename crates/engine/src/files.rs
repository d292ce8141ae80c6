//! Saves the texts that a plan leaves out of a conversation, and takes them back if the plan comes to nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_compaction::FileToSave;
use longhaul_workspace::{WorkspaceError, write_private_cache};

/// The place where texts are saved.
pub trait Files: Send + Sync {
    /// Saves a text under a name relative to the place; tells whether nothing was there before.
    fn save(&self, file: &str, text: &str) -> Result<bool, WorkspaceError>;

    /// Takes back a text that was saved and is not needed after all.
    fn remove(&self, file: &str);

    /// The name by which a reader finds a text.
    fn shown_as(&self, file: &str) -> String {
        file.to_string()
    }
}

/// A folder on the disk, private to its owner.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Saves below this folder, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn place(&self, file: &str) -> PathBuf {
        // Names come from plans, which make them safe; a name that leads elsewhere is a fault of ours.
        self.path.join(
            file.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect::<PathBuf>(),
        )
    }
}

impl Files for Folder {
    fn shown_as(&self, file: &str) -> String {
        self.place(file).display().to_string()
    }

    fn save(&self, file: &str, text: &str) -> Result<bool, WorkspaceError> {
        let path = self.place(file);
        let is_new = !path.exists();
        // The log has it all; waiting for the disk would only make a long conversation wait.
        write_private_cache(&path, text.as_bytes()).map(|()| is_new)
    }

    fn remove(&self, file: &str) {
        let path = self.place(file);
        // Whatever cannot be removed is only a file too many.
        let _ = fs::remove_file(&path);
        let mut folder = path.parent();
        while let Some(empty) =
            folder.filter(|folder| *folder != Path::new("") && folder.starts_with(&self.path))
        {
            if fs::remove_dir(empty).is_err() {
                break;
            }
            folder = empty.parent();
        }
    }
}

/// Texts that were saved for a plan. Unless they are kept, those that were not there before are removed again.
pub(crate) struct Saved<'f> {
    files: &'f dyn Files,
    created: Vec<String>,
    /// The reason for each file that could not be saved.
    pub(crate) failed: BTreeMap<String, String>,
}

impl<'f> Saved<'f> {
    pub(crate) fn save(files: &'f dyn Files, texts: &[FileToSave]) -> Self {
        let mut saved = Self { files, created: Vec::new(), failed: BTreeMap::new() };
        for FileToSave { file, text } in texts {
            match files.save(file, text) {
                Ok(true) => saved.created.push(file.clone()),
                Ok(false) => {}
                Err(error) => {
                    saved.failed.insert(file.clone(), describe(&error));
                }
            }
        }
        saved
    }

    pub(crate) fn keep(mut self) {
        self.created.clear();
    }
}

impl Drop for Saved<'_> {
    fn drop(&mut self) {
        self.created.drain(..).for_each(|file| self.files.remove(&file));
    }
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> FileToSave {
        FileToSave { file: file.into(), text: "whole".into() }
    }

    #[test]
    fn what_is_not_kept_is_removed_again() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(home.path().join("out"));
        folder.save("a/old.txt", "whole").expect("it can be saved");
        let texts = [text("a/old.txt"), text("a/new.txt"), text("b/c/new.txt")];
        let saved = Saved::save(&folder, &texts);
        assert!(saved.failed.is_empty() && home.path().join("out/b/c/new.txt").exists());
        drop(saved);
        assert!(home.path().join("out/a/old.txt").exists() && !home.path().join("out/a/new.txt").exists());
        assert!(!home.path().join("out/b").exists(), "no empty folder is left");
        Saved::save(&folder, &texts).keep();
        assert_eq!(fs::read_to_string(home.path().join("out/b/c/new.txt")).expect("kept"), "whole");
    }

    #[test]
    fn what_cannot_be_saved_is_told() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("file"), "").expect("a file");
        let folder = Folder::new(home.path());
        let saved = Saved::save(&folder, &[text("file/inside.txt"), text("good.txt")]);
        assert_eq!(saved.failed.keys().collect::<Vec<_>>(), ["file/inside.txt"]);
        assert!(saved.failed["file/inside.txt"].contains("could not"), "{:?}", saved.failed);
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let folder = Folder::new("/home/me");
        assert_eq!(folder.place("../..//a/./b.txt"), Path::new("/home/me/a/b.txt"));
    }
}
