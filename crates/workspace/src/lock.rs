//! Lets one process at a time work on a file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::WorkspaceError;
use crate::holder::Holder;
use crate::write::{create_private_folder, folder_of, follow_link};

const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The most bytes that are read of a lock file to learn its holder.
const HOLDER_LIMIT: u64 = 4096;

/// The longest wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTimeout {
    /// Fail at once if the lock is held.
    Immediate,
    /// Fail after this time.
    After(Duration),
}

impl Default for LockTimeout {
    /// Fifteen seconds. Work under a lock takes milliseconds, but after ten seconds we know of a lock of Gemini CLI that
    /// it was left by a crash.
    fn default() -> Self {
        Self::After(Duration::from_secs(15))
    }
}

/// Waiting for something, in pauses that grow until the timeout.
#[derive(Debug)]
pub(crate) struct LockWait {
    timeout: LockTimeout,
    started: Instant,
    next_pause: Duration,
}

impl LockWait {
    pub(crate) fn new(timeout: LockTimeout) -> Self {
        Self { timeout, started: Instant::now(), next_pause: SHORTEST_PAUSE }
    }

    /// Sleeps for a while; `false`, at once, once the timeout has passed.
    pub(crate) fn pause(&mut self) -> bool {
        let left = match self.timeout {
            LockTimeout::Immediate => Duration::ZERO,
            LockTimeout::After(limit) => limit.saturating_sub(self.started.elapsed()),
        };
        thread::sleep(self.next_pause.min(left));
        self.next_pause = (self.next_pause * 2).min(LONGEST_PAUSE);
        !left.is_zero()
    }
}

/// The right to work on a file, until it is dropped.
///
/// The system's lock is on another file, `.NAME.lock` beside `NAME`: an atomic write replaces the file itself, and
/// with it every lock on it. The lock file stays behind, for deleting it would let two processes hold two locks of one
/// name; what counts is the system's lock, which ends with the process, also when it is killed.
///
/// Locks bind only those who ask for them, threads of one process included.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// The last note of a holder that was killed.
    note: Option<String>,
}

impl Lock {
    /// Locks `path`, which need not exist; `purpose` is what others are told who wait for it.
    ///
    /// # Errors
    /// [`WorkspaceError::Locked`] after `timeout`, or what prevents a lock file from being made.
    pub fn beside(path: &Path, purpose: &str, timeout: LockTimeout) -> Result<Self, WorkspaceError> {
        Self::acquire(path, purpose, &mut LockWait::new(timeout))
    }

    pub(crate) fn acquire(
        path: &Path,
        purpose: &str,
        waiting: &mut LockWait,
    ) -> Result<Self, WorkspaceError> {
        let place = lock_path(path)?;
        create_private_folder(folder_of(&place))?;
        let mut file = open(&place).map_err(|cause| WorkspaceError::writing(&place, cause))?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => {
                    return Err(WorkspaceError::Failed { act: "lock", path: path.to_path_buf(), cause });
                }
            }
            if !waiting.pause() {
                return Err(WorkspaceError::Locked {
                    path: path.to_path_buf(),
                    holder: read_holder(&mut file),
                });
            }
        }
        let note = read_text(&mut file).and_then(|text| Some(text.split_once('\n')?.1.to_owned()));
        let mut lock = Self { file, note };
        lock.sign(purpose);
        Ok(lock)
    }

    /// Leaves word who holds the lock. A full disk does not matter: the lock itself needs no room.
    fn sign(&mut self, purpose: &str) {
        let purpose = purpose.replace(['\n', '\r'], " ");
        let line = format!("{} {purpose}\n", std::process::id());
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0));
        let _ = self.file.write_all(line.as_bytes());
    }

    /// Leaves a note for who comes next, should we be killed.
    pub(crate) fn leave_note(&mut self, note: &str) {
        let _ = self.file.write_all(note.as_bytes());
    }

    /// The note of the holder before us, if it was killed.
    pub(crate) fn found_note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        // Closing would do, were it not for children that inherited the file a moment ago.
        let _ = self.file.unlock();
    }
}

/// The lock file of `path`: beside the file that a link leads to, so that both names have one lock.
fn lock_path(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let path = follow_link(path)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    Ok(folder_of(&path).join(name))
}

fn open(place: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

/// The holder of the lock of this lock file; `None` if nobody holds it. The file is not changed.
pub(crate) fn holder_of(place: &Path) -> Option<Option<Holder>> {
    let mut file = File::open(place).ok()?;
    // Readers may share a lock among themselves, so that two who only look never see each other.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_holder(&mut file)),
        _ => None,
    }
}

/// The holder that signed the lock file. Unknown where locks also forbid reading, as on Windows.
fn read_holder(file: &mut File) -> Option<Holder> {
    Holder::parse(read_text(file)?.lines().next()?)
}

fn read_text(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(HOLDER_LIMIT).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_second_lock_is_refused_and_told_who_has_it() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("projects.json");
        let held = Lock::beside(&path, "naming\nprojects", LockTimeout::Immediate).expect("locked");
        let error = Lock::beside(&path, "", LockTimeout::Immediate).expect_err("held");
        assert!(matches!(&error, WorkspaceError::Locked { path: told, .. } if *told == path), "{error:?}");
        #[cfg(unix)]
        {
            let WorkspaceError::Locked { holder, .. } = &error else { unreachable!("checked above") };
            let expected = Holder { process: std::process::id(), purpose: "naming projects".into() };
            assert_eq!(holder.as_ref(), Some(&expected));
            assert!(error.to_string().ends_with("(naming projects)"), "{error}");
        }
        drop(held);
        Lock::beside(&path, "", LockTimeout::Immediate).expect("released");
        assert!(!path.exists());
    }

    #[test]
    fn waiting_ends() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("file");
        let _held = Lock::beside(&path, "", LockTimeout::Immediate).expect("locked");
        let started = Instant::now();
        let limit = Duration::from_millis(30);
        Lock::beside(&path, "", LockTimeout::After(limit)).expect_err("held");
        assert!(started.elapsed() >= limit);
    }

    #[test]
    fn one_thread_at_a_time() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("counter");
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _lock = Lock::beside(&path, "counting", LockTimeout::default()).expect("locked");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        let count: u32 =
                            fs::read_to_string(&path).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
                        fs::write(&path, (count + 1).to_string()).expect("written");
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).expect("readable"), "160");
    }

    #[test]
    fn a_lock_survives_the_replacement_of_its_file() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("file");
        let _held = Lock::beside(&path, "", LockTimeout::Immediate).expect("locked");
        crate::write_private_atomically(&path, b"new").expect("written");
        Lock::beside(&path, "", LockTimeout::Immediate).expect_err("still held");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_its_target_have_one_lock() {
        let root = tempfile::tempdir().expect("a folder");
        let (link, target) = (root.path().join("link"), root.path().join("target"));
        std::os::unix::fs::symlink("target", &link).expect("linked");
        let _held = Lock::beside(&link, "", LockTimeout::Immediate).expect("locked");
        Lock::beside(&target, "", LockTimeout::Immediate).expect_err("held");
    }
}
