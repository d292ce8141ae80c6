//! Knows a file again, by whatever name it is reached.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// The identity of a file, apart from its name: links of both kinds and other spellings lead to one identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileIdentity {
    #[cfg(unix)]
    Inode {
        device: u64,
        number: u64,
    },
    Path(PathBuf),
}

impl FileIdentity {
    /// The identity of the file at this path, links followed; one that cannot be examined is only itself.
    pub(crate) fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(found) => Self::from_metadata(path, &found),
            Err(_) => Self::Path(path.to_path_buf()),
        }
    }

    /// The identity of a file that was examined already.
    #[cfg(unix)]
    pub(crate) fn from_metadata(_path: &Path, found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::Inode { device: found.dev(), number: found.ino() }
    }

    /// The identity of a file that was examined already.
    #[cfg(not(unix))]
    pub(crate) fn from_metadata(path: &Path, _found: &Metadata) -> Self {
        Self::Path(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))
    }
}

/// The files whose text is in the context, each with the name under which it came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenFiles(HashMap<FileIdentity, PathBuf>);

impl SeenFiles {
    /// Notes a file; if it is there already, under this name.
    pub(crate) fn claim(&mut self, identity: FileIdentity, path: &Path) -> Result<(), PathBuf> {
        match self.0.entry(identity) {
            std::collections::hash_map::Entry::Occupied(first) => Err(first.get().clone()),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(path.to_path_buf());
                Ok(())
            }
        }
    }

    /// The name under which a file is there.
    pub(crate) fn get(&self, identity: &FileIdentity) -> Option<&Path> {
        self.0.get(identity).map(PathBuf::as_path)
    }

    /// Forgets the files that came in under these names.
    pub(crate) fn forget(&mut self, paths: &[&Path]) {
        self.0.retain(|_, first| !paths.contains(&first.as_path()));
    }
}
