//! Temporary files and folders: not yet, or no longer, under their own name.
//!
//! Its maker holds a lock on it until it has its name or is gone. The system's lock ends with the process, so that
//! what a killed process left behind is told from what another one is about to finish.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile, TempDir};

/// The prefix of files and folders that mean nothing: temporary ones, and the store's own.
const OWN_PREFIX: &str = ".longhaul-";

/// The prefix of temporary files and folders.
pub const STAGED_PREFIX: &str = ".longhaul-tmp-";

/// So many random characters follow.
const RANDOM: usize = 16;

/// The age at which a temporary file counts as left behind, on file systems without locks.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// So many entries of a folder are looked at, so that a write into a huge folder does not take long.
const MOST_ENTRIES: usize = 10_000;

/// So often another name is tried where somebody took a new file for one that was left behind.
const TRIES: u32 = 8;

/// True if a file of this name is a left-over or about to be moved, and in either case means nothing.
pub(crate) fn is_own(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(OWN_PREFIX.as_bytes())
}

/// True if a name is one of a temporary file or folder.
pub fn is_staged_name(name: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(STAGED_PREFIX.as_bytes());
    rest.is_some_and(|rest| rest.len() == RANDOM && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// A new private file in this folder, which is gone when it is dropped.
///
/// # Errors
/// The system's error.
pub fn staged_file(folder: &Path) -> io::Result<NamedTempFile> {
    staged(|builder| builder.tempfile_in(folder), |staged| staged.as_file().lock(), NamedTempFile::path)
}

/// A folder that is not yet, or no longer, under its own name. It is gone when it is dropped.
#[derive(Debug)]
pub struct StagedFolder {
    folder: TempDir,
    /// Held open for its lock; not every system can open a folder.
    _lock: Option<File>,
}

impl StagedFolder {
    /// A new private folder in this one.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(beside: &Path) -> io::Result<Self> {
        let make = |builder: &mut Builder<'_, '_>| {
            make_private(builder);
            let folder = builder.tempdir_in(beside)?;
            let lock = File::open(folder.path()).ok();
            Ok(Self { folder, _lock: lock })
        };
        staged(make, |staged| staged._lock.as_ref().map_or(Ok(()), File::lock), Self::path)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The system's error; then it is gone.
    pub fn rename_to(self, target: &Path) -> io::Result<()> {
        fs::rename(self.path(), target)?;
        // It has another name now, and nothing is left to remove.
        let _ = self.folder.keep();
        Ok(())
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove(self) -> io::Result<()> {
        self.folder.close()
    }
}

/// Makes something temporary and locks it; anew where it was taken for a left-over before it was locked.
fn staged<T>(
    make: impl Fn(&mut Builder<'_, '_>) -> io::Result<T>,
    lock: impl Fn(&T) -> io::Result<()>,
    path: impl Fn(&T) -> &Path,
) -> io::Result<T> {
    let mut builder = Builder::new();
    builder.prefix(STAGED_PREFIX).rand_bytes(RANDOM);
    for _ in 0..TRIES {
        let made = make(&mut builder)?;
        // Where there are no locks, only what is old is taken for a left-over.
        let _ = lock(&made);
        if path(&made).symlink_metadata().is_ok() {
            return Ok(made);
        }
    }
    Err(io::Error::other("temporary files vanish as soon as they are made"))
}

/// Files are private by themselves.
#[cfg(unix)]
fn make_private(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o700));
}

#[cfg(not(unix))]
fn make_private(_builder: &mut Builder<'_, '_>) {}

/// The temporary files and folders in this folder that killed processes left behind. Nothing is changed.
pub fn find_strays(folder: &Path) -> Vec<PathBuf> {
    candidates(folder).filter(|path| Stray::claim(path).is_some()).collect()
}

/// Removes the temporary files and folders in this folder that killed processes left behind; tells which. What cannot be
/// removed stays for the next time.
pub fn remove_strays(folder: &Path) -> Vec<PathBuf> {
    let mut removed: Vec<PathBuf> = Vec::new();
    for path in candidates(folder) {
        let Some(stray) = Stray::claim(&path) else { continue };
        let gone = match stray.is_folder {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        if gone.is_ok() {
            removed.push(path);
        }
    }
    removed
}

fn candidates(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_ENTRIES).flatten();
    entries.filter(|entry| is_staged_name(&entry.file_name())).map(|entry| entry.path())
}

/// Something that a killed process left behind, locked so that nobody else takes it for theirs.
struct Stray {
    is_folder: bool,
    _lock: Option<File>,
}

impl Stray {
    fn claim(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        if !found.is_file() && !found.is_dir() {
            return None;
        }
        let is_folder = found.is_dir();
        let Ok(file) = File::open(path) else {
            return is_old(&found).then_some(Self { is_folder, _lock: None });
        };
        is_abandoned(&file, &found).then_some(Self { is_folder, _lock: Some(file) })
    }
}

/// True if nobody is about to finish a temporary file or folder; it is locked then, for as long as the handle is open.
pub fn is_abandoned(file: &File, found: &fs::Metadata) -> bool {
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => is_old(found),
    }
}

fn is_old(found: &fs::Metadata) -> bool {
    let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age > ABANDONED_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    /// Leaves what a killed process leaves: the name without the lock.
    fn leave(folder: &Path) -> (PathBuf, PathBuf) {
        let file = staged_file(folder).expect("made").into_temp_path().keep().expect("kept");
        let StagedFolder { folder: inner, _lock } = StagedFolder::create(folder).expect("made");
        let inner = inner.keep();
        fs::write(inner.join("SKILL.md"), "half").expect("written");
        (file, inner)
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let root = tempfile::tempdir().expect("a folder");
        let kept = [
            ".longhaul-index.json",
            ".longhaul-tmp-notes",
            ".longhaul-tmp-0123456789abcde.",
            ".longhaul-backup",
            "notes.txt",
        ];
        for name in kept {
            fs::write(root.path().join(name), "mine").expect("written");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("notes.txt", root.path().join(".longhaul-tmp-0123456789abcdef"))
            .expect("linked");
        let (file, folder) = leave(root.path());
        let (held, held_folder) = (staged_file(root.path()), StagedFolder::create(root.path()));
        let mut found = find_strays(root.path());
        found.sort();
        let mut expected = vec![file.clone(), folder];
        expected.sort();
        assert_eq!(found, expected);
        assert!(file.exists(), "looking changes nothing");
        let mut removed = remove_strays(root.path());
        removed.sort();
        assert_eq!(removed, expected);
        assert!(held.expect("made").path().exists() && held_folder.expect("made").path().exists());
        let mut left: Vec<&str> = kept.to_vec();
        if cfg!(unix) {
            left.push(".longhaul-tmp-0123456789abcdef");
        }
        left.sort_unstable();
        assert_eq!(names(root.path()), left);
    }

    #[test]
    fn a_folder_gets_its_name_or_is_gone() {
        let root = tempfile::tempdir().expect("a folder");
        let staged = StagedFolder::create(root.path()).expect("made");
        fs::write(staged.path().join("a"), "").expect("written");
        staged.rename_to(&root.path().join("named")).expect("renamed");
        drop(StagedFolder::create(root.path()).expect("made"));
        StagedFolder::create(root.path()).expect("made").remove().expect("removed");
        assert_eq!(names(root.path()), ["named"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(&root.path().join("named")), 0o700);
            assert_eq!(mode(staged_file(root.path()).expect("made").path()), 0o600);
        }
    }

    #[test]
    fn nobody_loses_a_new_file_to_whoever_cleans_up() {
        let root = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..3)
                .map(|maker| {
                    scope.spawn({
                        let root = root.path();
                        move || {
                            for round in 0..100 {
                                let staged = staged_file(root).expect("made");
                                staged.persist(root.join(format!("{maker}-{round}"))).expect("it is there");
                            }
                        }
                    })
                })
                .collect();
            while !makers.iter().all(|maker| maker.is_finished()) {
                remove_strays(root.path());
            }
        });
        assert_eq!(names(root.path()).len(), 300);
    }
}
