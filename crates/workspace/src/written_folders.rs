//! A record of the folders that tools wrote into, so that the next run finds what a killed one left there.
//!
//! Folders of the home are searched anyway. A project can be too large for that, so each folder is noted before the first
//! temporary file is made in it.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::staged::{find_strays, remove_strays};
use crate::{Lock, LockTimeout, write_private_cache};

/// The most folders remembered. Another process may still write into any of them.
const MOST_FOLDERS: usize = 100;

/// The record is rewritten once it has this many lines.
const MOST_LINES: usize = 2 * MOST_FOLDERS;

/// Notes folders before tools write into them. Clones share what is noted.
#[derive(Clone, Debug)]
pub struct FolderRecorder {
    /// The record, as soon as there is a place for one.
    file: fn() -> Option<PathBuf>,
    noted: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Default for FolderRecorder {
    /// A recorder that keeps nothing.
    fn default() -> Self {
        Self::new(|| None)
    }
}

impl FolderRecorder {
    /// Notes folders in the record that `file` names.
    pub fn new(file: fn() -> Option<PathBuf>) -> Self {
        Self { file, noted: Arc::default() }
    }

    /// Notes a folder. If that fails, the write goes on: at worst a temporary file stays until the next write there.
    pub fn note(&self, folder: &Path) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.contains(folder) {
            return;
        }
        if let (Some(file), Some(folder_text)) = ((self.file)(), folder.to_str())
            && append(&file, folder_text).is_some()
        {
            noted.insert(folder.to_path_buf());
        }
    }
}

/// Adds a line; the oldest ones are dropped when there are too many.
fn append(file: &Path, folder: &str) -> Option<()> {
    let line = serde_json::to_string(folder).ok()?;
    let _lock = Lock::beside(file, "noting a folder", LockTimeout::default()).ok()?;
    let known = noted_folders(file);
    if known.last().is_some_and(|last| last == Path::new(folder)) {
        return Some(());
    }
    let lines = fs::read_to_string(file).map(|text| text.lines().count()).unwrap_or_default();
    if lines == 0 || lines >= MOST_LINES {
        let kept = known.iter().rev().take(MOST_FOLDERS).rev().filter_map(|folder| folder.to_str());
        let kept = kept.filter_map(|folder| serde_json::to_string(folder).ok());
        let text: String = kept.chain([line]).map(|line| line + "\n").collect();
        return write_private_cache(file, text.as_bytes()).ok();
    }
    OpenOptions::new().append(true).open(file).ok()?.write_all(format!("{line}\n").as_bytes()).ok()
}

/// The newest folders of a record, each once, the newest last. A line that cannot be read is skipped.
fn noted_folders(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in text.lines().rev().filter_map(|line| serde_json::from_str::<PathBuf>(line).ok()) {
        if folders.len() < MOST_FOLDERS && folder.is_absolute() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.reverse();
    folders
}

/// The temporary files that killed processes left in the folders of a record. Nothing is changed.
pub fn find_noted_strays(file: &Path) -> Vec<PathBuf> {
    noted_folders(file).iter().flat_map(|folder| find_strays(folder)).collect()
}

/// Removes the temporary files that killed processes left in the folders of a record.
pub fn remove_noted_strays(file: &Path) {
    noted_folders(file).iter().for_each(|folder| drop(remove_strays(folder)));
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::STAGED_PREFIX;

    static ROOT: OnceLock<tempfile::TempDir> = OnceLock::new();

    fn record() -> Option<PathBuf> {
        Some(ROOT.get_or_init(|| tempfile::tempdir().expect("a folder")).path().join("written.txt"))
    }

    #[test]
    fn what_was_left_in_a_noted_folder_is_found_and_removed_and_nothing_else() {
        let file = record().expect("a path");
        let root = file.parent().expect("a folder");
        let (noted, other) = (root.join("a\nb/deep"), root.join("other"));
        let name = format!("{STAGED_PREFIX}0123456789abcdef");
        for folder in [&noted, &other] {
            fs::create_dir_all(folder).expect("made");
            fs::write(folder.join(&name), "left").expect("written");
            fs::write(folder.join(".longhaul-tmp-notes.txt"), "the user's").expect("written");
        }
        let recorder = FolderRecorder::new(record);
        let shared = recorder.clone();
        recorder.note(&noted);
        shared.note(&noted);
        assert_eq!(fs::read_to_string(&file).expect("a record").lines().count(), 1);
        assert_eq!(find_noted_strays(&file), [noted.join(&name)]);
        remove_noted_strays(&file);
        assert!(!noted.join(&name).exists() && other.join(&name).exists());
        assert!(noted.join(".longhaul-tmp-notes.txt").exists());
        // Somebody is about to finish this one.
        let busy = crate::staged_file(&noted).expect("made");
        remove_noted_strays(&file);
        assert!(busy.path().exists());
    }

    #[test]
    fn a_long_record_keeps_the_newest_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("written.txt");
        for number in 0..=MOST_LINES {
            append(&file, &format!("/work/{number}")).expect("noted");
        }
        let lines = fs::read_to_string(&file).expect("a record").lines().count();
        assert_eq!(lines, MOST_FOLDERS + 1);
        let known = noted_folders(&file);
        assert_eq!(known.len(), MOST_FOLDERS);
        assert_eq!(known.last(), Some(&PathBuf::from(format!("/work/{MOST_LINES}"))));
        fs::write(&file, "\"relative\"\nnonsense\n\"/work/a\"\n").expect("written");
        assert_eq!(noted_folders(&file), [PathBuf::from("/work/a")]);
        assert_eq!(noted_folders(Path::new("/no/such/file")), [] as [PathBuf; 0]);
    }

    #[test]
    fn without_a_place_nothing_is_noted() {
        let recorder = FolderRecorder::default();
        recorder.note(Path::new("/work"));
        assert!(recorder.noted.lock().expect("no panic").is_empty());
    }
}
