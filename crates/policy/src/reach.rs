//! The reach of a saved approval: where it applies, and the files that keep it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Priority, RuleTier};

/// The priority of a saved approval within its tier: above ordinary rules.
pub(crate) const SAVED_PRIORITY: u16 = 950;

/// The reach of a saved approval, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Until the session ends.
    Session,
    /// In this project, also in later sessions.
    Project,
    /// In every project.
    Everywhere,
}

impl Reach {
    /// Every reach, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Session, Self::Project, Self::Everywhere];

    /// The name in lists and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::Everywhere => "everywhere",
        }
    }

    /// The tier: the user's for every project, the workspace's for one.
    pub(crate) fn tier(self) -> RuleTier {
        match self {
            Self::Session | Self::Project => RuleTier::Workspace,
            Self::Everywhere => RuleTier::User,
        }
    }

    pub(crate) fn priority(self) -> Priority {
        Priority::new(self.tier(), SAVED_PRIORITY)
    }
}

/// `in this project`
impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "in this session",
            Self::Project => "in this project",
            Self::Everywhere => "everywhere",
        })
    }
}

/// The files of saved approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedFiles {
    /// For this project alone, see [`longhaul_workspace::ProjectHome::saved_policy`].
    pub project: Option<PathBuf>,
    /// For every project, see [`longhaul_workspace::Home::saved_policy`].
    pub everywhere: Option<PathBuf>,
}

impl SavedFiles {
    /// The file that keeps choices of this reach, if they can be kept.
    pub fn of(&self, reach: Reach) -> Option<&Path> {
        match reach {
            Reach::Session => None,
            Reach::Project => self.project.as_deref(),
            Reach::Everywhere => self.everywhere.as_deref(),
        }
    }

    /// The files there are, each with its reach.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Reach, &Path)> {
        Reach::ALL.into_iter().filter_map(|reach| Some((reach, self.of(reach)?)))
    }
}
