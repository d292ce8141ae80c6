//! The tiers of memory.

use std::fmt;

/// The tier of memory, the weakest first: where two contradict each other, the later one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryTier {
    /// The user's own, for every project.
    Global,
    /// Memory of an installed extension.
    Extension,
    /// The user's own, for this project.
    Private,
    /// The project's, in its folder and above it.
    Project,
    /// The project's, in a folder below the one that is worked in.
    SubDirectory,
}

impl MemoryTier {
    /// Every tier, the weakest first.
    pub const ALL: [Self; 5] =
        [Self::Global, Self::Extension, Self::Private, Self::Project, Self::SubDirectory];

    /// A stable name in lower case with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Extension => "extension",
            Self::Private => "private",
            Self::Project => "project",
            Self::SubDirectory => "sub-directory",
        }
    }
}

impl fmt::Display for MemoryTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
