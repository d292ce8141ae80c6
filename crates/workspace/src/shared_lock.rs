//! Locks files that Gemini CLI changes, too.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::lock::LockWait;
use crate::write::follow_link;
use crate::{Lock, LockTimeout, WorkspaceError};

/// The age at which a folder counts as left by a crash: those who work for longer renew its time.
pub(crate) const STALE_AFTER: Duration = Duration::from_secs(10);

/// A [`Lock`], and besides it the kind that Gemini CLI takes on the files of the home: a folder `NAME.lock` beside
/// `NAME`, which only one program can make.
///
/// Among ourselves the system's lock counts, which needs no guessing about crashes: only its holder makes a folder, so that a
/// holder who finds a folder of ours finds what was left by a process that was killed.
#[derive(Debug)]
pub(crate) struct SharedLock {
    // Dropped in this order: the next of us must find no folder.
    _folder: LockFolder,
    _lock: Lock,
}

impl SharedLock {
    /// Locks `path` against ourselves and Gemini CLI; see [`Lock::beside`].
    pub(crate) fn beside(path: &Path, purpose: &str, timeout: LockTimeout) -> Result<Self, WorkspaceError> {
        let mut waiting = LockWait::new(timeout);
        let mut lock = Lock::acquire(path, purpose, &mut waiting)?;
        let folder = LockFolder::acquire(path, lock.found_note(), &mut waiting)?;
        // Where a folder does not show whose it is, its time does.
        lock.leave_note(&folder.made.map(as_note).unwrap_or_default());
        Ok(Self { _folder: folder, _lock: lock })
    }
}

#[derive(Debug)]
struct LockFolder {
    place: PathBuf,
    /// By its time we know the folder again.
    made: Option<SystemTime>,
}

impl LockFolder {
    /// Makes the folder, for the holder of the lock. `abandoned` is the time, as noted, of one whose maker was killed.
    fn acquire(path: &Path, abandoned: Option<&str>, waiting: &mut LockWait) -> Result<Self, WorkspaceError> {
        let mut place = follow_link(path)?.into_os_string();
        place.push(".lock");
        let place = PathBuf::from(place);
        loop {
            match create_own(&place) {
                Ok(()) => {
                    let made = modified(&place);
                    return Ok(Self { place, made });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(WorkspaceError::writing(&place, error)),
            }
            let is_stale = is_own(&place)
                || modified(&place).is_some_and(|made| {
                    made.elapsed().is_ok_and(|age| age > STALE_AFTER)
                        || abandoned == Some(as_note(made).as_str())
                });
            // One that cannot be removed is waited for like any other.
            let is_removed = is_stale && fs::remove_dir(&place).is_ok();
            if !is_removed && !waiting.pause() {
                return Err(WorkspaceError::Locked { path: path.to_path_buf(), holder: None });
            }
        }
    }
}

impl Drop for LockFolder {
    fn drop(&mut self) {
        // Had we taken too long, it might be somebody else's by now.
        if modified(&self.place) == self.made {
            let _ = fs::remove_dir(&self.place);
        }
    }
}

/// The permissions of our folders, by which they are known from the moment they are there. No other program makes a folder
/// that its owner may not write to, and removing one takes no permission of its own.
#[cfg(unix)]
const OWN_MODE: u32 = 0o500;

fn create_own(place: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, OWN_MODE);
    builder.create(place)
}

/// True for a folder that one of us made. Where folders have no permissions, nothing tells.
pub(crate) fn is_own(place: &Path) -> bool {
    #[cfg(unix)]
    let is_own = place.symlink_metadata().is_ok_and(|found| {
        found.is_dir() && std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777 == OWN_MODE
    });
    #[cfg(not(unix))]
    let is_own = {
        let _ = place;
        false
    };
    is_own
}

pub(crate) fn modified(place: &Path) -> Option<SystemTime> {
    place.symlink_metadata().ok()?.modified().ok()
}

fn as_note(made: SystemTime) -> String {
    let since = made.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{File, FileTimes};

    struct Fixture {
        _root: tempfile::TempDir,
        file: PathBuf,
        folder: PathBuf,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            let (file, folder) = (root.path().join("projects.json"), root.path().join("projects.json.lock"));
            Self { _root: root, file, folder }
        }

        /// Makes the folder of another program, as old as this.
        fn make_folder(&self, seconds: u64) {
            let _ = fs::remove_dir(&self.folder);
            fs::create_dir(&self.folder).expect("made");
            let time = SystemTime::now() - Duration::from_secs(seconds);
            let folder = File::open(&self.folder).expect("there");
            folder.set_times(FileTimes::new().set_modified(time)).expect("set");
        }

        fn lock(&self, timeout: LockTimeout) -> Result<SharedLock, WorkspaceError> {
            SharedLock::beside(&self.file, "", timeout)
        }
    }

    #[test]
    fn the_folder_is_there_as_long_as_the_lock() {
        let fixture = Fixture::new();
        let lock = fixture.lock(LockTimeout::Immediate).expect("locked");
        assert!(fixture.folder.is_dir());
        assert!(fixture.lock(LockTimeout::Immediate).is_err());
        drop(lock);
        assert!(!fixture.folder.exists());
        drop(fixture.lock(LockTimeout::Immediate).expect("free again"));
    }

    #[test]
    fn another_program_is_waited_for() {
        let fixture = Fixture::new();
        fixture.make_folder(0);
        let error = fixture.lock(LockTimeout::After(Duration::from_millis(20))).expect_err("held");
        assert!(matches!(error, WorkspaceError::Locked { holder: None, .. }), "{error:?}");
        assert!(fixture.folder.is_dir());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                fs::remove_dir(&fixture.folder).expect("removed");
            });
            fixture.lock(LockTimeout::default()).expect("released in time");
        });
    }

    #[test]
    fn what_a_crash_left_is_taken_over() {
        let fixture = Fixture::new();
        fixture.make_folder(11);
        fixture.lock(LockTimeout::Immediate).expect("stale");
        assert!(!fixture.folder.exists());
    }

    /// Lets go of the system's lock as a killed process does, without cleaning up.
    fn kill(lock: SharedLock, copy_of_lock_file: &Path) {
        let text = fs::read(copy_of_lock_file).expect("readable");
        let SharedLock { _folder: folder, _lock: lock } = lock;
        std::mem::forget(folder);
        drop(lock);
        fs::write(copy_of_lock_file, text).expect("written");
    }

    #[test]
    fn one_of_us_that_was_killed_is_not_waited_for() {
        let fixture = Fixture::new();
        let lock_file = fixture.file.with_file_name(".projects.json.lock");
        kill(fixture.lock(LockTimeout::Immediate).expect("locked"), &lock_file);
        assert!(fixture.folder.is_dir());
        drop(fixture.lock(LockTimeout::Immediate).expect("abandoned"));
        assert!(!fixture.folder.exists());

        // The folder that another program made since is not the one that was abandoned.
        kill(fixture.lock(LockTimeout::Immediate).expect("locked"), &lock_file);
        fixture.make_folder(1);
        fixture.lock(LockTimeout::Immediate).expect_err("held");
        assert!(fixture.folder.is_dir());
    }

    #[test]
    fn one_of_us_that_was_killed_before_it_left_word_is_not_waited_for() {
        let fixture = Fixture::new();
        let mut waiting = LockWait::new(LockTimeout::Immediate);
        let lock = Lock::acquire(&fixture.file, "", &mut waiting).expect("locked");
        std::mem::forget(LockFolder::acquire(&fixture.file, None, &mut waiting).expect("made"));
        drop(lock);
        assert!(fixture.folder.is_dir());
        drop(fixture.lock(LockTimeout::Immediate).expect("abandoned"));
        assert!(!fixture.folder.exists());
    }

    #[test]
    fn a_folder_that_was_taken_over_is_left_to_its_new_holder() {
        let fixture = Fixture::new();
        let lock = fixture.lock(LockTimeout::Immediate).expect("locked");
        fixture.make_folder(1);
        drop(lock);
        assert!(fixture.folder.is_dir());
    }
}
