//! Tells which files of a folder are locked, and by whom, without locking anything.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Holder;
use crate::lock::holder_of;
use crate::shared_lock::{STALE_AFTER, is_own, modified};

/// A file that somebody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The file.
    pub path: PathBuf,
    /// The holder of the lock.
    pub by: LockedBy,
}

/// The holder of a lock on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockedBy {
    /// A process of Longhaul; where the system does not let us read the lock file, nobody knows which.
    Longhaul(Option<Holder>),
    /// Gemini CLI, which makes a folder beside the file.
    GeminiCli,
    /// Nobody any more: a process was killed and left its folder, which the next who needs the file removes.
    LeftBehind,
}

/// The files of this folder that are locked, in the order of their names. A folder that cannot be read has none.
pub fn held_locks(folder: &Path) -> Vec<HeldLock> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut held: Vec<HeldLock> = entries.filter_map(|entry| held_lock(&entry.path())).collect();
    let by_name = |lock: &HeldLock| (lock.path.clone(), !matches!(lock.by, LockedBy::Longhaul(_)));
    held.sort_by_key(by_name);
    // Whoever locks against Gemini CLI too holds both kinds at once.
    held.dedup_by(|next, first| next.path == first.path && matches!(first.by, LockedBy::Longhaul(_)));
    held
}

fn held_lock(place: &Path) -> Option<HeldLock> {
    let name = place.file_name()?.to_str()?.strip_suffix(".lock")?;
    if place.is_dir() {
        let is_left = is_own(place) || modified(place)?.elapsed().is_ok_and(|age| age > STALE_AFTER);
        let by = if is_left { LockedBy::LeftBehind } else { LockedBy::GeminiCli };
        return Some(HeldLock { path: place.with_file_name(name), by });
    }
    let path = place.with_file_name(name.strip_prefix('.')?);
    Some(HeldLock { path, by: LockedBy::Longhaul(holder_of(place)?) })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::shared_lock::SharedLock;
    use crate::{Lock, LockTimeout};
    use std::time::{Duration, SystemTime};

    fn names(folder: &Path) -> Vec<String> {
        let held = held_locks(folder).into_iter();
        held.map(|lock| format!("{} {:?}", lock.path.file_name().unwrap_or_default().display(), lock.by))
            .collect()
    }

    #[test]
    fn only_locks_that_are_held_are_told() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        assert_eq!(names(&at("missing")), [] as [&str; 0]);
        drop(Lock::beside(&at("free"), "", LockTimeout::Immediate).expect("locked"));
        fs::write(at("yarn.lock"), "").expect("written");
        assert_eq!(names(root.path()), [] as [&str; 0]);

        let _held = Lock::beside(&at("a.json"), "counting", LockTimeout::Immediate).expect("locked");
        let _both = SharedLock::beside(&at("b.json"), "naming", LockTimeout::Immediate).expect("locked");
        let me = std::process::id();
        let by = |purpose: &str| format!("Longhaul(Some(Holder {{ process: {me}, purpose: {purpose:?} }}))");
        let expected = [format!("a.json {}", by("counting")), format!("b.json {}", by("naming"))];
        assert_eq!(names(root.path()), expected);
        // Looking did not hold anybody up.
        Lock::beside(&at("free"), "", LockTimeout::Immediate).expect("still free");
    }

    #[test]
    fn folders_of_gemini_cli_are_told_and_old_ones_called_so() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("projects.json.lock");
        fs::create_dir(&folder).expect("made");
        assert_eq!(names(root.path()), ["projects.json GeminiCli"]);
        let old = fs::FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(60));
        fs::File::open(&folder).expect("there").set_times(old).expect("set");
        assert_eq!(names(root.path()), ["projects.json LeftBehind"]);
    }

    #[test]
    fn a_folder_of_a_killed_process_is_left_behind() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("projects.json");
        std::mem::forget(SharedLock::beside(&path, "", LockTimeout::Immediate).expect("locked"));
        // The lock of a process that is gone is gone, too.
        fs::remove_file(root.path().join(".projects.json.lock")).expect("removed");
        assert_eq!(names(root.path()), ["projects.json LeftBehind"]);
    }
}
