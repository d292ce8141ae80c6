//! The file of a log: one writer, whole lines in single writes, and what to do when the disk refuses.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use longhaul_workspace::{Lock, Patience, WorkspaceError, create_private_folder};

use super::LogError;

/// What others are told who want the lock.
const PURPOSE: &str = "writing the session";

/// When a record counts as safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the system has it: it survives the end of the process, however sudden.
    #[default]
    Written,
    /// When the disk has it: it survives a power failure, too.
    Synced,
}

/// Whether a log still records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogHealth {
    /// It does.
    Recording,
    /// It does not: the disk is full, or may not be written. The session goes on in memory.
    Off {
        /// What prevents it, in words for people.
        reason: String,
    },
}

/// A log's file, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    lock: Lock,
    /// The last write broke off within a line, and what was written of it could not be cut off.
    is_torn: bool,
    /// The file is new, and its folder may not be on the disk yet.
    is_new: bool,
}

impl LogFile {
    /// Makes the file and its folder.
    pub(super) fn create(path: &Path) -> Result<Self, LogError> {
        create_private_folder(folder_of(path))?;
        let lock = Lock::beside(path, PURPOSE, Patience::None)?;
        let file = options().create_new(true).open(path).map_err(|cause| match cause.kind() {
            ErrorKind::AlreadyExists => LogError::AlreadyThere { path: path.to_path_buf() },
            _ => failed("create", path, cause),
        })?;
        Ok(Self { path: path.to_path_buf(), file, lock, is_torn: false, is_new: true })
    }

    /// Locks a path and opens the file there.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        // Locking would make the folder.
        fs::metadata(path).map_err(|cause| failed("open", path, cause))?;
        let lock = Lock::beside(path, PURPOSE, Patience::None)?;
        let file = options().open(path).map_err(|cause| failed("open", path, cause))?;
        Ok(Self { path: path.to_path_buf(), file, lock, is_torn: false, is_new: false })
    }

    /// The file, to be read from its beginning.
    pub(super) fn reader(&mut self) -> Result<&File, LogError> {
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| failed("read", &self.path, cause))?;
        Ok(&self.file)
    }

    /// Cuts the file off behind so many bytes.
    pub(super) fn cut(&mut self, length: u64) -> Result<(), LogError> {
        self.file.set_len(length).map_err(|cause| failed("shorten", &self.path, cause))
    }

    /// Puts the file aside under another name, which is returned, and starts a new one in its place.
    pub(super) fn start_over(&mut self, suffix: &str) -> Result<PathBuf, LogError> {
        let mut name = self.path.as_os_str().to_os_string();
        name.push(suffix);
        let mut aside = PathBuf::from(&name);
        // Never over something that was put aside before.
        for number in 2.. {
            if aside.symlink_metadata().is_err() {
                break;
            }
            let mut numbered = name.clone();
            numbered.push(format!("-{number}"));
            aside = PathBuf::from(numbered);
        }
        fs::rename(&self.path, &aside).map_err(|cause| failed("rename", &self.path, cause))?;
        let file = options().create_new(true).open(&self.path);
        self.file = file.map_err(|cause| failed("create", &self.path, cause))?;
        self.is_new = true;
        Ok(aside)
    }

    /// Writes whole lines behind the last one, in one go. If that fails, none of them are there.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), LogError> {
        let length = self.find()?.len();
        let lines: &[u8] = if self.is_torn { &[b"\n", lines].concat() } else { lines };
        match write_whole(&mut self.file, lines) {
            Ok(()) => {
                self.is_torn = false;
                Ok(())
            }
            Err((written, cause)) => {
                self.take_back(length, written);
                Err(failed("write", &self.path, cause))
            }
        }
    }

    /// Waits until the disk has everything, the name of a new file included.
    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|cause| failed("sync", &self.path, cause))?;
        if std::mem::take(&mut self.is_new) && cfg!(unix) {
            // Some file systems cannot do it, and the record itself is safe.
            let _ = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// Cuts off what was written of a line, unless another program wrote behind it.
    fn take_back(&mut self, length: u64, written: usize) {
        let is_last = self.file.metadata().is_ok_and(|now| now.len() == length + written as u64);
        if written > 0 && !(is_last && self.file.set_len(length).is_ok()) {
            self.is_torn = true;
        }
    }

    /// Makes sure that what is written ends up under the log's name: a file that vanished is made again, with all that
    /// was in it, and one that was replaced is taken for the log from now on.
    fn find(&mut self) -> Result<Metadata, LogError> {
        let reading = |cause| failed("read", &self.path, cause);
        match fs::metadata(&self.path) {
            Ok(there) if is_same(&there, &self.file) => Ok(there),
            Ok(_) => {
                self.file = options().open(&self.path).map_err(reading)?;
                self.file.metadata().map_err(reading)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.restore()?;
                self.file.metadata().map_err(|cause| failed("read", &self.path, cause))
            }
            Err(error) => Err(reading(error)),
        }
    }

    fn restore(&mut self) -> Result<(), LogError> {
        match Lock::beside(&self.path, PURPOSE, Patience::None) {
            Ok(lock) => self.lock = lock,
            // Our own lock may still be there.
            Err(WorkspaceError::Locked { holder: Some(holder), .. })
                if holder.process == std::process::id() => {}
            Err(error) => return Err(error.into()),
        }
        let mut content = Vec::new();
        self.reader()?.read_to_end(&mut content).map_err(|cause| failed("read", &self.path, cause))?;
        let writing = |cause| failed("restore", &self.path, cause);
        let mut file = options().create_new(true).open(&self.path).map_err(writing)?;
        file.write_all(&content).map_err(writing)?;
        self.file = file;
        self.is_new = true;
        Ok(())
    }
}

/// Whether the disk, or the share of it that the user may have, is full.
pub(super) fn is_full(error: &LogError) -> bool {
    match error {
        LogError::Io { cause, .. } => {
            matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        }
        LogError::Workspace(WorkspaceError::DiskFull { .. }) => true,
        _ => false,
    }
}

pub(super) fn failed(act: &'static str, path: &Path, cause: io::Error) -> LogError {
    LogError::Io { act, path: path.to_path_buf(), cause }
}

/// Writes all bytes, or tells how many were written before it failed.
fn write_whole(file: &mut File, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return Err((written, ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn is_same(there: &Metadata, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_same(_there: &Metadata, _file: &File) -> bool {
    // A file that is open can be neither deleted nor replaced.
    true
}

#[cfg(test)]
impl LogFile {
    /// A log on a disk without any room.
    #[cfg(target_os = "linux")]
    pub(super) fn fill_disk(&mut self) {
        self.path = PathBuf::from("/dev/full");
        self.file = OpenOptions::new().append(true).open("/dev/full").expect("a full device");
    }
}
