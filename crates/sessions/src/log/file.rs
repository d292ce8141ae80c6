//! The file of a log: one writer, whole lines, broken-off writes cut back, and whether it is still the file that was
//! written.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use longhaul_workspace::{
    Lock, LockTimeout, WorkspaceError, create_private_folder, remove_strays, staged_file,
};

use super::LogError;

/// The purpose of the lock, shown to others who want it.
const PURPOSE: &str = "writing the session";

/// So many bytes at the end of a file are compared before more is written behind them.
const TAIL: u64 = 64;

/// When a record counts as safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the system has it: it survives the end of the process, however sudden.
    #[default]
    Written,
    /// When the disk has it: it survives a power failure, too.
    Synced,
}

/// Damage to a log's file by another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// Nothing is at its path any more.
    Gone,
    /// Another file is at its path.
    Replaced,
    /// It is shorter than it was, or its end was written over.
    Truncated,
}

/// A log's file, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    lock: Lock,
    /// The length of the file after the last write, or when it was opened.
    end: u64,
    /// The last bytes before `end`, by which a file is recognised that was written over.
    tail: Vec<u8>,
    /// The bytes behind `end` of a write that broke off and could not be cut off yet.
    torn: u64,
    /// The file is new, and its folder may not be on the disk yet.
    is_new: bool,
    #[cfg(test)]
    pub(super) trial: Trial,
}

impl LogFile {
    /// Makes the file and its folder.
    pub(super) fn create(path: &Path) -> Result<Self, LogError> {
        create_private_folder(folder_of(path))?;
        let lock = Lock::beside(path, PURPOSE, LockTimeout::Immediate)?;
        let file = options().create_new(true).open(path).map_err(|cause| match cause.kind() {
            ErrorKind::AlreadyExists => LogError::AlreadyThere { path: path.to_path_buf() },
            _ => failed("create", path, cause),
        })?;
        Ok(Self { is_new: true, ..Self::on(path, file, lock) })
    }

    /// Locks a path and opens the file there.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        // Locking would make the folder.
        fs::metadata(path).map_err(|cause| failed("open", path, cause))?;
        let lock = Lock::beside(path, PURPOSE, LockTimeout::Immediate)?;
        let file = options().open(path).map_err(|cause| failed("open", path, cause))?;
        let mut opened = Self::on(path, file, lock);
        opened.note_end()?;
        Ok(opened)
    }

    fn on(path: &Path, file: File, lock: Lock) -> Self {
        Self {
            path: path.to_path_buf(),
            file,
            lock,
            end: 0,
            tail: Vec::new(),
            torn: 0,
            is_new: false,
            #[cfg(test)]
            trial: Trial::default(),
        }
    }

    /// The file, to be read from its beginning.
    pub(super) fn reader(&mut self) -> Result<&File, LogError> {
        self.file.seek(SeekFrom::Start(0)).map_err(|cause| failed("read", &self.path, cause))?;
        Ok(&self.file)
    }

    /// The length of the file when it was opened or last written.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Cuts the file off behind so many bytes.
    pub(super) fn cut(&mut self, length: u64) -> Result<(), LogError> {
        self.file.set_len(length).map_err(|cause| failed("shorten", &self.path, cause))?;
        self.note_end()
    }

    /// Puts the file aside under another name, which is returned, and starts a new one in its place.
    pub(super) fn start_over(&mut self, suffix: &str) -> Result<PathBuf, LogError> {
        let aside = free_name(&self.path, suffix);
        fs::rename(&self.path, &aside).map_err(|cause| failed("rename", &self.path, cause))?;
        let file = options().create_new(true).open(&self.path);
        self.file = file.map_err(|cause| failed("create", &self.path, cause))?;
        self.is_new = true;
        self.note_end()?;
        Ok(aside)
    }

    /// Writes whole lines behind the last one. If that fails, none of them are there, and the same lines can be written
    /// again.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), LogError> {
        let length = self.mend()?;
        match self.write_whole(lines) {
            Ok(()) => self.note_written(length, lines),
            Err((written, cause)) => {
                self.torn = written as u64;
                self.end = length;
                // What cannot be cut off now is cut off before the next write.
                let _ = self.mend();
                return Err(failed("write", &self.path, cause));
            }
        }
        Ok(())
    }

    /// Waits until the disk has everything, the name of a new file included.
    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        self.file.sync_data().map_err(|cause| failed("sync", &self.path, cause))?;
        #[cfg(test)]
        {
            self.trial.syncs += 1;
        }
        if std::mem::take(&mut self.is_new) {
            sync_folder(&self.path);
        }
        Ok(())
    }

    /// The damage to the file since it was last written; none where all of it is still there, perhaps with what
    /// another program wrote behind it.
    pub(super) fn examine(&mut self) -> Result<Option<Damage>, LogError> {
        match fs::metadata(&self.path) {
            Ok(there) if is_same(&there, &self.file) => {
                Ok(if self.is_whole()? { None } else { Some(Damage::Truncated) })
            }
            Ok(_) => Ok(Some(Damage::Replaced)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Some(Damage::Gone))
            }
            Err(error) => Err(failed("read", &self.path, error)),
        }
    }

    /// All that was written, where the file that is held still has it; it may be under another name or under none.
    pub(super) fn held(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        if !self.is_whole()? {
            return Ok(None);
        }
        let mut content = Vec::new();
        let torn = self.torn;
        let reader = self.reader()?;
        let read = io::Read::read_to_end(&mut &*reader, &mut content);
        read.map_err(|cause| failed("read", &self.path, cause))?;
        if torn > 0 {
            content.truncate(usize::try_from(self.end).unwrap_or(usize::MAX));
        }
        Ok(Some(content))
    }

    /// Gives the path a new file with these contents, which is the log from now on. What was there before is kept under
    /// another name, which is returned, unless it is empty.
    pub(super) fn restore(&mut self, content: &[u8], damage: Damage) -> Result<Option<PathBuf>, LogError> {
        create_private_folder(folder_of(&self.path))?;
        match Lock::beside(&self.path, PURPOSE, LockTimeout::Immediate) {
            Ok(lock) => self.lock = lock,
            // Our own lock may still be there.
            Err(WorkspaceError::Locked { holder: Some(holder), .. })
                if holder.process == std::process::id() => {}
            Err(error) => return Err(error.into()),
        }
        let writing = |cause| failed("restore", &self.path, cause);
        let folder = folder_of(&self.path);
        remove_strays(folder);
        let staged = staged_file(folder).map_err(writing)?;
        let mut file = options().open(staged.path()).map_err(writing)?;
        file.write_all(content).and_then(|()| file.sync_data()).map_err(writing)?;
        let aside = match damage {
            Damage::Gone => None,
            Damage::Replaced => Some(".replaced"),
            Damage::Truncated => Some(".truncated"),
        };
        let has_bytes = fs::metadata(&self.path).is_ok_and(|there| there.len() > 0);
        let aside = aside.filter(|_| has_bytes).map(|suffix| free_name(&self.path, suffix));
        if let Some(aside) = &aside {
            // By a second name first: whenever this is cut off, the path leads to the old file or to the new one.
            fs::hard_link(&self.path, aside).or_else(|_| fs::rename(&self.path, aside)).map_err(writing)?;
        }
        staged.persist(&self.path).map_err(|error| writing(error.error))?;
        sync_folder(&self.path);
        self.file = file;
        self.torn = 0;
        self.note_end()?;
        Ok(aside)
    }

    /// Cuts off what a broken-off write left; tells where the next one begins.
    fn mend(&mut self) -> Result<u64, LogError> {
        let reading = |cause| failed("read", &self.path, cause);
        let length = self.file.metadata().map_err(reading)?.len();
        if self.torn == 0 {
            return Ok(length);
        }
        if length == self.end + self.torn {
            self.file.set_len(self.end).map_err(|cause| failed("shorten", &self.path, cause))?;
            #[cfg(test)]
            self.trial.free(self.torn);
            self.torn = 0;
            return Ok(self.end);
        }
        // Another program wrote behind it: the broken line is closed, and readers pass over it.
        self.write_whole(b"\n").map_err(|(_, cause)| failed("write", &self.path, cause))?;
        self.torn = 0;
        Ok(length + 1)
    }

    /// True if the file that is held has all that was written, in its place.
    fn is_whole(&mut self) -> Result<bool, LogError> {
        let reading = |cause| failed("read", &self.path, cause);
        if self.file.metadata().map_err(reading)?.len() < self.end {
            return Ok(false);
        }
        let mut tail = vec![0; self.tail.len()];
        let start = SeekFrom::Start(self.end - self.tail.len() as u64);
        self.file.seek(start).and_then(|_| self.file.read_exact(&mut tail)).map_err(reading)?;
        Ok(tail == self.tail)
    }

    fn note_end(&mut self) -> Result<(), LogError> {
        let reading = |cause| failed("read", &self.path, cause);
        self.end = self.file.metadata().map_err(reading)?.len();
        let kept = self.end.min(TAIL);
        self.tail = vec![0; usize::try_from(kept).expect("a tail is short")];
        let start = SeekFrom::Start(self.end - kept);
        self.file.seek(start).and_then(|_| self.file.read_exact(&mut self.tail)).map_err(reading)?;
        Ok(())
    }

    fn note_written(&mut self, length: u64, lines: &[u8]) {
        self.end = length + lines.len() as u64;
        let kept = lines.len().min(usize::try_from(TAIL).expect("a tail is short"));
        self.tail = lines[lines.len() - kept..].to_vec();
    }

    /// Writes all bytes, or tells how many were written before it failed.
    fn write_whole(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < bytes.len() {
            match self.write_some(&bytes[written..]) {
                Ok(0) => return Err((written, ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(test)]
        let bytes = self.trial.take(bytes)?;
        self.file.write(bytes)
    }
}

pub(super) fn failed(act: &'static str, path: &Path, cause: io::Error) -> LogError {
    LogError::Io { act, path: path.to_path_buf(), cause }
}

/// A name beside a path that nothing has.
fn free_name(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    let numbered = (2..).map(|number| {
        let mut numbered = name.clone();
        numbered.push(format!("-{number}"));
        PathBuf::from(numbered)
    });
    let mut names = std::iter::once(PathBuf::from(&name)).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).expect("numbers do not end")
}

/// Some file systems cannot do it, and the record itself is safe.
fn sync_folder(path: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    }
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
    /// Breaks off within a line, and cannot cut it off.
    pub(super) fn tear(&mut self, line: &[u8]) -> (usize, io::Error) {
        let (written, error) = self.write_whole(line).expect_err("there is not that much room");
        self.torn = written as u64;
        (written, error)
    }
}

/// A disk of so much room, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// The bytes that can still be written, where that is limited.
    pub(super) room: Option<u64>,
    /// The number of syncs.
    pub(super) syncs: u32,
}

#[cfg(test)]
impl Trial {
    /// The bytes that there is room for.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        let Some(room) = &mut self.room else { return Ok(bytes) };
        let count = u64::try_from(bytes.len()).expect("a length").min(*room);
        if count == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        *room -= count;
        Ok(&bytes[..usize::try_from(count).expect("a length")])
    }

    fn free(&mut self, bytes: u64) {
        self.room = self.room.map(|room| room + bytes);
    }
}
