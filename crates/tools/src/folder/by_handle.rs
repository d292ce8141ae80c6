//! Folders held by descriptor, which stay the same folder whatever becomes of their names.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::time::{Duration, SystemTime};

use longhaul_workspace::{STAGED_PREFIX, check_replaceable, is_abandoned, is_staged_name, keep_permissions};
use rustix::fs::{
    self, AtFlags, CWD, Dir, FileType, Mode, OFlags, linkat, mkdirat, openat, renameat, statat, unlinkat,
};

use super::{FolderEntry, FolderEntryKind, Replaces, changed_meanwhile, check_kind, root_of};
use crate::Roots;

/// The open mode for a folder that is only held: on Linux it need not be readable.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HOLD: OFlags = OFlags::RDONLY;

/// The number of attempts to find a free name for a temporary file.
const NAME_TRIES: usize = 16;

/// A workspace folder, held open.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    handle: OwnedFd,
}

impl OpenFolder {
    /// Opens a folder by its path without links.
    pub(crate) fn open(roots: &Roots, place: &Path) -> io::Result<Self> {
        let (root, rest) = root_of(roots, place)?;
        Self::open_root(root)?.open_below(rest)
    }

    /// Opens a folder below this one by a relative path without links.
    pub(crate) fn open_below(&self, rest: &Path) -> io::Result<Self> {
        let mut folder = Self { handle: self.handle.try_clone()? };
        for name in names(rest) {
            folder = folder.enter(name?)?;
        }
        Ok(folder)
    }

    /// Opens a folder, creating missing ones on the way.
    pub(crate) fn open_or_create(roots: &Roots, place: &Path) -> io::Result<Self> {
        let (root, rest) = root_of(roots, place)?;
        let mut folder = Self::open_root(root)?;
        for name in names(rest) {
            let name = name?;
            folder = match folder.enter(name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match mkdirat(&folder.handle, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => folder.sync(),
                        // Another process was faster.
                        Err(rustix::io::Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    folder.enter(name)?
                }
                entered => entered?,
            };
        }
        Ok(folder)
    }

    /// Opens a root. Its path has no links, and none is followed should there be one by now.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open_root(root: &Path) -> io::Result<Self> {
        let handle = openat(CWD, "/", HOLD | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let below = root.strip_prefix("/").unwrap_or(root);
        names(below).try_fold(Self { handle }, |folder, name| folder.enter(name?))
    }

    /// Opens a root. The folders above it need not be readable, and on this system only readable ones can be held.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn open_root(root: &Path) -> io::Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { handle: openat(CWD, root, flags, Mode::empty())? })
    }

    fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { handle: openat(&self.handle, name, flags, Mode::empty())? })
    }

    /// Reopens the folder for reading or syncing.
    fn open_readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.handle, ".", flags, Mode::empty())?)
    }

    /// All entries, in the order of the system.
    pub(crate) fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for found in Dir::new(self.open_readable()?)? {
            let found = found?;
            let name = OsString::from_vec(found.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match found.file_type() {
                // Some file systems do not report it. An entry that is gone by now is left out.
                FileType::Unknown => match self.kind(&name) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    kind => kind?,
                },
                told => told.into(),
            };
            entries.push(FolderEntry { name, kind });
        }
        Ok(entries)
    }

    /// The size of an entry in bytes; for a link, of the link itself.
    pub(crate) fn size(&self, name: &OsStr) -> io::Result<u64> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(u64::try_from(found.st_size).unwrap_or(0))
    }

    /// The modification time of an entry; for a link, of the link itself.
    pub(crate) fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
        let nanoseconds = u32::try_from(found.st_mtime_nsec).unwrap_or(0);
        Ok(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds))
    }

    /// The kind of an entry.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<FolderEntryKind> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode).into())
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        check_kind(self.kind(name)?)?;
        self.open_listed_file(name)
    }

    /// Opens an entry that was just listed as a regular file. If it is something else by now, the open fails without
    /// blocking or following a link.
    pub(crate) fn open_listed_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = openat(&self.handle, name, flags, Mode::empty())?;
        check_kind(FileType::from_raw_mode(fs::fstat(&handle)?.st_mode).into())?;
        Ok(File::from(handle))
    }

    /// Writes a file atomically: readers see the old content or all of the new. A new file gets the default mode of
    /// this process; a replaced one keeps mode, owner and group.
    pub(crate) fn write(&self, name: &OsStr, bytes: &[u8], over: Replaces<'_>) -> io::Result<()> {
        self.remove_strays();
        let staged = match over {
            Replaces::Nothing => self.stage(bytes, None)?,
            Replaces::Found(existing) => {
                check_replaceable(existing)?;
                self.stage(bytes, Some(existing))?
            }
        };
        match over {
            Replaces::Nothing => staged.take_free(name)?,
            Replaces::Found(existing) => {
                let now = self.open_file(name)?.metadata()?;
                if !is_same(existing, &now) {
                    return Err(changed_meanwhile());
                }
                staged.take(name)?;
            }
        }
        self.sync();
        Ok(())
    }

    /// Removes a file, unless somebody changed it since it was found.
    pub(crate) fn remove(&self, name: &OsStr, found: &Metadata) -> io::Result<()> {
        if !is_same(found, &self.open_file(name)?.metadata()?) {
            return Err(changed_meanwhile());
        }
        unlinkat(&self.handle, name, AtFlags::empty())?;
        self.sync();
        Ok(())
    }

    /// Writes the bytes durably to a temporary file.
    fn stage(&self, bytes: &[u8], existing: Option<&Metadata>) -> io::Result<StagedFile<'_>> {
        // The replacement of a private file is private from its first byte.
        let mode = if existing.is_some() { 0o600 } else { 0o666 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        let mut staged = loop {
            let name = format!("{STAGED_PREFIX}{:016x}", RandomState::new().hash_one(tries));
            tries += 1;
            let handle = match openat(&self.handle, &name, flags, Mode::from_raw_mode(mode)) {
                Err(rustix::io::Errno::EXIST) if tries < NAME_TRIES => continue,
                opened => opened?,
            };
            let staged = StagedFile { folder: self, file: File::from(handle), name: Some(name) };
            // A cleanup may have taken it for a leftover before it was locked. Not every file system has locks.
            let _ = staged.file.lock();
            if self.kind(OsStr::new(staged.staged_name())).is_ok() || tries >= NAME_TRIES {
                break staged;
            }
        };
        staged.file.write_all(bytes)?;
        if let Some(existing) = existing {
            keep_permissions(&staged.file, existing)?;
        }
        staged.file.sync_all()?;
        Ok(staged)
    }

    /// Removes temporary files left in this folder by killed processes.
    fn remove_strays(&self) {
        for FolderEntry { name, kind } in self.entries().unwrap_or_default() {
            if kind != FolderEntryKind::File || !is_staged_name(&name) {
                continue;
            }
            let Ok(file) = self.open_file(&name) else { continue };
            if file.metadata().is_ok_and(|found| is_abandoned(&file, &found)) {
                // A file that cannot be removed stays for the next time.
                let _ = unlinkat(&self.handle, &name, AtFlags::empty());
            }
        }
    }

    /// Syncs the folder, without which a new name does not survive a power failure. Not every file system can, and not
    /// every writable folder is readable; errors are ignored, as the file itself is written.
    fn sync(&self) {
        let _ = self.open_readable().and_then(|folder| File::from(folder).sync_all());
    }
}

/// A temporary file, locked until it gets its name. Removed on drop.
struct StagedFile<'a> {
    folder: &'a OpenFolder,
    file: File,
    name: Option<String>,
}

impl StagedFile<'_> {
    fn staged_name(&self) -> &str {
        self.name.as_deref().expect("it is taken only at the very end")
    }

    /// Takes the name, replacing the file that has it.
    fn take(mut self, name: &OsStr) -> io::Result<()> {
        renameat(&self.folder.handle, self.staged_name(), &self.folder.handle, name)?;
        self.name = None;
        Ok(())
    }

    /// Takes the name if it is free.
    fn take_free(self, name: &OsStr) -> io::Result<()> {
        let folder = &self.folder.handle;
        match linkat(folder, self.staged_name(), folder, name, AtFlags::empty()).map_err(io::Error::from) {
            // A file system without hard links.
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
                match self.folder.kind(name) {
                    Err(error) if error.kind() == ErrorKind::NotFound => self.take(name),
                    _ => Err(ErrorKind::AlreadyExists.into()),
                }
            }
            linked => linked,
        }
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // A leftover does no harm.
            let _ = unlinkat(&self.folder.handle, name, AtFlags::empty());
        }
    }
}

impl From<FileType> for FolderEntryKind {
    fn from(told: FileType) -> Self {
        match told {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// True if both describe the same file with nothing written to it in between.
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    let traits =
        |found: &Metadata| (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec());
    traits(before) == traits(now)
}

/// The components of a path without links, which are all plain names.
fn names(rest: &Path) -> impl Iterator<Item = io::Result<&OsStr>> {
    rest.components().map(|component| match component {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not written in full")),
    })
}
