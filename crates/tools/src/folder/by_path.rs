//! Folders known by path, for systems that cannot open one file from another: the path is checked after opening and
//! before writing.

use std::ffi::OsStr;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longhaul_workspace::{check_replaceable, keep_permissions, remove_strays, staged_file};

use super::{FolderEntry, FolderEntryKind, Replaces, changed_meanwhile, check_kind, root_of};
use crate::Roots;

/// A workspace folder.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    roots: Roots,
    place: PathBuf,
}

impl OpenFolder {
    /// Opens a folder by its path without links.
    pub(crate) fn open(roots: &Roots, place: &Path) -> io::Result<Self> {
        root_of(roots, place)?;
        let folder = Self { roots: roots.clone(), place: place.to_path_buf() };
        folder.check(place)?;
        match fs::metadata(place)?.is_dir() {
            true => Ok(folder),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a folder below this one by a relative path without links.
    pub(crate) fn open_below(&self, rest: &Path) -> io::Result<Self> {
        Self::open(&self.roots, &self.place.join(rest))
    }

    /// Opens a folder, creating missing ones on the way.
    pub(crate) fn open_or_create(roots: &Roots, place: &Path) -> io::Result<Self> {
        root_of(roots, place)?;
        if let Some(there) = place.ancestors().find(|above| above.symlink_metadata().is_ok()) {
            Self { roots: roots.clone(), place: there.to_path_buf() }.check(there)?;
        }
        fs::create_dir_all(place)?;
        Self::open(roots, place)
    }

    /// Refuses a path that leads out of the workspace.
    fn check(&self, path: &Path) -> io::Result<()> {
        match self.roots.contain(&fs::canonicalize(path)?) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is outside of the workspace")),
        }
    }

    /// All entries, in the order of the system.
    pub(crate) fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let found = fs::read_dir(&self.place)?;
        self.check(&self.place)?;
        found
            .map(|entry| {
                let entry = entry?;
                Ok(FolderEntry { name: entry.file_name(), kind: entry.file_type()?.into() })
            })
            .collect()
    }

    /// The size of an entry in bytes; for a link, of the link itself.
    pub(crate) fn size(&self, name: &OsStr) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.place.join(name))?.len())
    }

    /// The modification time of an entry; for a link, of the link itself.
    pub(crate) fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        fs::symlink_metadata(self.place.join(name))?.modified()
    }

    /// The kind of an entry.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<FolderEntryKind> {
        Ok(fs::symlink_metadata(self.place.join(name))?.file_type().into())
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        check_kind(self.kind(name)?)?;
        self.open_listed_file(name)
    }

    /// Opens an entry that was just listed as a regular file.
    pub(crate) fn open_listed_file(&self, name: &OsStr) -> io::Result<File> {
        let path = self.place.join(name);
        let file = File::open(&path)?;
        check_kind(file.metadata()?.file_type().into())?;
        self.check(&path)?;
        Ok(file)
    }

    /// Writes a file atomically: readers see the old content or all of the new.
    pub(crate) fn write(&self, name: &OsStr, bytes: &[u8], over: Replaces<'_>) -> io::Result<()> {
        self.check(&self.place)?;
        let path = self.place.join(name);
        remove_strays(&self.place);
        let mut staged = staged_file(&self.place)?;
        staged.write_all(bytes)?;
        if let Replaces::Found(existing) = over {
            check_replaceable(existing)?;
            keep_permissions(staged.as_file(), existing)?;
        }
        staged.as_file().sync_all()?;
        self.check(&self.place)?;
        match over {
            Replaces::Nothing => staged.persist_noclobber(path)?,
            Replaces::Found(existing) => {
                if !is_same(existing, &self.open_file(name)?.metadata()?) {
                    return Err(changed_meanwhile());
                }
                staged.persist(path)?
            }
        };
        Ok(())
    }
}

impl OpenFolder {
    /// Removes a file, unless somebody changed it since it was found.
    pub(crate) fn remove(&self, name: &OsStr, found: &Metadata) -> io::Result<()> {
        self.check(&self.place)?;
        if !is_same(found, &self.open_file(name)?.metadata()?) {
            return Err(changed_meanwhile());
        }
        fs::remove_file(self.place.join(name))
    }
}

impl From<FileType> for FolderEntryKind {
    fn from(told: FileType) -> Self {
        match told {
            told if told.is_symlink() => Self::Link,
            told if told.is_dir() => Self::Folder,
            told if told.is_file() => Self::File,
            _ => Self::Other,
        }
    }
}

/// True if both may describe the same file with nothing written to it in between.
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    before.len() == now.len() && before.modified().ok() == now.modified().ok()
}
