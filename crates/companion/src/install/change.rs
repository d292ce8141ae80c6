//! One change of a file, to be shown before it is made.

use std::path::PathBuf;

use longhaul_workspace::{Diff, unified_diff};

/// The owner of a file that an installation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    /// The agent or its user: entries are added to it.
    Agent,
    /// Longhaul: the whole file is made and removed.
    Longhaul,
}

/// A file as it is and as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its text; none if it does not exist.
    pub before: Option<String>,
    /// Its text afterwards; none if it is removed.
    pub after: Option<String>,
    /// Its owner.
    pub owner: FileOwner,
}

impl FileChange {
    /// The change as a unified diff.
    pub fn diff(&self) -> Diff {
        let name = self.path.display().to_string();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        unified_diff((&name, &text(&self.before)), (&name, &text(&self.after)))
    }

    pub(super) fn if_any(self) -> Vec<Self> {
        if self.before == self.after { Vec::new() } else { vec![self] }
    }
}
