//! Bounds: the folders that memory files are read from, wherever their links lead.

use std::path::{Path, PathBuf};

use crate::discover::ceiling;
use crate::loaded::SkipReason;
use crate::places::Places;
use crate::read::{ReadFile, read_real_file, reason};

/// The folders that a memory file must lie in, links followed. A link that leads out of all of them is not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds(Vec<PathBuf>);

impl Bounds {
    /// These folders; one that does not exist holds nothing.
    pub(crate) fn of<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        Self(folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).collect())
    }

    /// Global memory is the user's own, who may keep it elsewhere in the user's folder and link to it.
    pub(crate) fn of_global(places: &Places) -> Self {
        Self::of(places.home.as_deref().into_iter().chain(places.user_home.as_deref()))
    }

    /// Project memory: the roots of all trusted folders that are worked in.
    pub(crate) fn of_projects(places: &Places, markers: &[String]) -> Self {
        let trusted = places.folders.iter().filter(|folder| folder.is_trusted);
        Self::of(trusted.map(|folder| ceiling(&folder.path, markers)))
    }

    /// Reads a file that lies inside.
    pub(crate) fn read(&self, path: &Path) -> Result<ReadFile, SkipReason> {
        let unreadable = |error| SkipReason::Unreadable { reason: reason(&error) };
        let real = path.canonicalize().map_err(unreadable)?;
        if !self.contain(&real) {
            return Err(SkipReason::Outside { target: real });
        }
        // Should something on the way become a link now, it is an error.
        read_real_file(path, &real).map_err(unreadable)
    }

    fn contain(&self, real: &Path) -> bool {
        self.0.iter().any(|root| real.starts_with(root))
    }
}
