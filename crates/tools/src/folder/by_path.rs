//! Folders known by their path, where the system cannot open one file from another: each time it is looked where the path
//! leads to, after opening and before writing.

use std::ffi::OsStr;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use longhaul_workspace::{check_replaceable, keep_permissions, remove_strays, staged_file};

use super::{Entry, Kind, Over, changed_meanwhile, check_kind, root_of};
use crate::Roots;

/// A folder of the workspace.
#[derive(Debug)]
pub(crate) struct Folder {
    roots: Roots,
    place: PathBuf,
}

impl Folder {
    /// Opens a folder, by its place without links.
    pub(crate) fn open(roots: &Roots, place: &Path) -> io::Result<Self> {
        root_of(roots, place)?;
        let folder = Self { roots: roots.clone(), place: place.to_path_buf() };
        folder.check(place)?;
        match fs::metadata(place)?.is_dir() {
            true => Ok(folder),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a folder below this one, by the way there without links.
    pub(crate) fn open_below(&self, rest: &Path) -> io::Result<Self> {
        Self::open(&self.roots, &self.place.join(rest))
    }

    /// Opens a folder and makes those on the way that are missing.
    pub(crate) fn open_or_create(roots: &Roots, place: &Path) -> io::Result<Self> {
        root_of(roots, place)?;
        if let Some(there) = place.ancestors().find(|above| above.symlink_metadata().is_ok()) {
            Self { roots: roots.clone(), place: there.to_path_buf() }.check(there)?;
        }
        fs::create_dir_all(place)?;
        Self::open(roots, place)
    }

    /// Refuses what leads out of the workspace.
    fn check(&self, path: &Path) -> io::Result<()> {
        match self.roots.contain(&fs::canonicalize(path)?) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is outside of the workspace")),
        }
    }

    /// Everything in it, in the order in which the system tells.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        let found = fs::read_dir(&self.place)?;
        self.check(&self.place)?;
        found
            .map(|entry| {
                let entry = entry?;
                Ok(Entry { name: entry.file_name(), kind: entry.file_type()?.into() })
            })
            .collect()
    }

    /// The size in bytes of what has this name; of a link, not of what it leads to.
    pub(crate) fn size(&self, name: &OsStr) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.place.join(name))?.len())
    }

    /// When what has this name was last changed; of a link, the link itself.
    pub(crate) fn modified(&self, name: &OsStr) -> io::Result<SystemTime> {
        fs::symlink_metadata(self.place.join(name))?.modified()
    }

    /// What kind of thing has this name.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
        Ok(fs::symlink_metadata(self.place.join(name))?.file_type().into())
    }

    /// Opens a regular file of this folder for reading.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        check_kind(self.kind(name)?)?;
        self.open_listed_file(name)
    }

    /// Opens for reading what was just listed as a regular file.
    pub(crate) fn open_listed_file(&self, name: &OsStr) -> io::Result<File> {
        let path = self.place.join(name);
        let file = File::open(&path)?;
        check_kind(file.metadata()?.file_type().into())?;
        self.check(&path)?;
        Ok(file)
    }

    /// Gives the name a file with these contents: readers find what was there before or all of it.
    pub(crate) fn write(&self, name: &OsStr, bytes: &[u8], over: Over<'_>) -> io::Result<()> {
        self.check(&self.place)?;
        let path = self.place.join(name);
        remove_strays(&self.place);
        let mut staged = staged_file(&self.place)?;
        staged.write_all(bytes)?;
        if let Over::Found(existing) = over {
            check_replaceable(existing)?;
            keep_permissions(staged.as_file(), existing)?;
        }
        staged.as_file().sync_all()?;
        self.check(&self.place)?;
        match over {
            Over::Nothing => staged.persist_noclobber(path)?,
            Over::Found(existing) => {
                if !is_same(existing, &self.open_file(name)?.metadata()?) {
                    return Err(changed_meanwhile());
                }
                staged.persist(path)?
            }
        };
        Ok(())
    }
}

impl From<FileType> for Kind {
    fn from(told: FileType) -> Self {
        match told {
            told if told.is_symlink() => Self::Link,
            told if told.is_dir() => Self::Folder,
            told if told.is_file() => Self::File,
            _ => Self::Other,
        }
    }
}

/// Whether the second may still be the file that the first was of, with nothing written to it.
fn is_same(before: &Metadata, now: &Metadata) -> bool {
    before.len() == now.len() && before.modified().ok() == now.modified().ok()
}
