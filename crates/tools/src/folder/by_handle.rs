//! Folders held by a descriptor: whatever becomes of the name, this is the folder.

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

use super::{Entry, Kind, Over, changed_meanwhile, check_kind, root_of};
use crate::Roots;

/// Where the system can hold a folder without reading it, one that may only be passed through is no obstacle.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HOLD: OFlags = OFlags::RDONLY;

/// How often a new name is tried for a file that is being written.
const NAME_TRIES: usize = 16;

/// A folder of the workspace, held open.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
}

impl Folder {
    /// Opens a folder, by its place without links.
    pub(crate) fn open(roots: &Roots, place: &Path) -> io::Result<Self> {
        let (root, rest) = root_of(roots, place)?;
        Self::open_root(root)?.open_below(rest)
    }

    /// Opens a folder below this one, by the way there without links.
    pub(crate) fn open_below(&self, rest: &Path) -> io::Result<Self> {
        let mut folder = Self { handle: self.handle.try_clone()? };
        for name in names(rest) {
            folder = folder.enter(name?)?;
        }
        Ok(folder)
    }

    /// Opens a folder and makes those on the way that are missing.
    pub(crate) fn open_or_create(roots: &Roots, place: &Path) -> io::Result<Self> {
        let (root, rest) = root_of(roots, place)?;
        let mut folder = Self::open_root(root)?;
        for name in names(rest) {
            let name = name?;
            folder = match folder.enter(name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match mkdirat(&folder.handle, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => folder.sync(),
                        // Someone else was quicker.
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

    /// A root has no links in its path, and none is followed should one be there now.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn open_root(root: &Path) -> io::Result<Self> {
        let handle = openat(CWD, "/", HOLD | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let below = root.strip_prefix("/").unwrap_or(root);
        names(below).try_fold(Self { handle }, |folder, name| folder.enter(name?))
    }

    /// The folders above a root need not be readable, and here only what is readable can be held.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn open_root(root: &Path) -> io::Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { handle: openat(CWD, root, flags, Mode::empty())? })
    }

    fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { handle: openat(&self.handle, name, flags, Mode::empty())? })
    }

    /// The same folder, to be read or synced and not only held.
    fn open_readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.handle, ".", flags, Mode::empty())?)
    }

    /// Everything in it, in the order in which the system tells.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in Dir::new(self.open_readable()?)? {
            let found = found?;
            let name = OsString::from_vec(found.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match found.file_type() {
                // Some file systems do not tell. What is gone by now is left out.
                FileType::Unknown => match self.kind(&name) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    kind => kind?,
                },
                told => told.into(),
            };
            entries.push(Entry { name, kind });
        }
        Ok(entries)
    }

    /// The size in bytes of what has this name; of a link, not of what it leads to.
    pub(crate) fn size(&self, name: &OsStr) -> io::Result<u64> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(u64::try_from(found.st_size).unwrap_or(0))
    }

    /// When what has this name was last changed; of a link, the link itself.
    pub(crate) fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
        let nanoseconds = u32::try_from(found.st_mtime_nsec).unwrap_or(0);
        Ok(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds))
    }

    /// What kind of thing has this name.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode).into())
    }

    /// Opens a regular file of this folder for reading.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        check_kind(self.kind(name)?)?;
        self.open_listed_file(name)
    }

    /// Opens for reading what was just listed as a regular file. Should it be something else by now, opening does not wait,
    /// follows no link, and is refused.
    pub(crate) fn open_listed_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = openat(&self.handle, name, flags, Mode::empty())?;
        check_kind(FileType::from_raw_mode(fs::fstat(&handle)?.st_mode).into())?;
        Ok(File::from(handle))
    }

    /// Gives the name a file with these contents: readers find what was there before or all of it. A new file has the mode
    /// that files of this process get; one that is replaced leaves its mode, owner and group to the next.
    pub(crate) fn write(&self, name: &OsStr, bytes: &[u8], over: Over<'_>) -> io::Result<()> {
        self.remove_strays();
        let staged = match over {
            Over::Nothing => self.stage(bytes, None)?,
            Over::Found(existing) => {
                check_replaceable(existing)?;
                self.stage(bytes, Some(existing))?
            }
        };
        match over {
            Over::Nothing => staged.take_free(name)?,
            Over::Found(existing) => {
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

    /// Writes the bytes safely to the disk, though not yet under their name.
    fn stage(&self, bytes: &[u8], existing: Option<&Metadata>) -> io::Result<Staged<'_>> {
        // What replaces a private file is private from its first byte.
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
            let staged = Staged { folder: self, file: File::from(handle), name: Some(name) };
            // Who cleans up may have taken it for a left-over before it was locked. Not every file system has locks.
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

    /// Removes what processes left in this folder that were killed while they wrote there.
    fn remove_strays(&self) {
        for Entry { name, kind } in self.entries().unwrap_or_default() {
            if kind != Kind::File || !is_staged_name(&name) {
                continue;
            }
            let Ok(file) = self.open_file(&name) else { continue };
            if file.metadata().is_ok_and(|found| is_abandoned(&file, &found)) {
                // What cannot be removed stays for the next time.
                let _ = unlinkat(&self.handle, &name, AtFlags::empty());
            }
        }
    }

    /// A new name survives a power failure only when its folder is on the disk, too. Not every file system can do it, nor is
    /// every folder readable that can be written; what is written is there all the same.
    fn sync(&self) {
        let _ = self.open_readable().and_then(|folder| File::from(folder).sync_all());
    }
}

/// A file that is written but has not got its name, locked until it has. Dropped before, it is gone.
struct Staged<'a> {
    folder: &'a Folder,
    file: File,
    name: Option<String>,
}

impl Staged<'_> {
    fn staged_name(&self) -> &str {
        self.name.as_deref().expect("it is taken only at the very end")
    }

    /// Takes the place of what has the name.
    fn take(mut self, name: &OsStr) -> io::Result<()> {
        renameat(&self.folder.handle, self.staged_name(), &self.folder.handle, name)?;
        self.name = None;
        Ok(())
    }

    /// Takes the name unless something has it.
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

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // There is nobody to tell, and a left-over does no harm.
            let _ = unlinkat(&self.folder.handle, name, AtFlags::empty());
        }
    }
}

impl From<FileType> for Kind {
    fn from(told: FileType) -> Self {
        match told {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Whether the second is still the file that the first was of, with nothing written to it.
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    let traits =
        |found: &Metadata| (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec());
    traits(before) == traits(now)
}

/// The names on the way; a place without links has nothing else in it.
fn names(rest: &Path) -> impl Iterator<Item = io::Result<&OsStr>> {
    rest.components().map(|component| match component {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not written in full")),
    })
}
