//! One rule of trust, and the folder it is about.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::paths::{by_words, canonical};

/// The level of trust that a rule gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustLevel {
    /// `TRUST_FOLDER`: this folder and all below it are trusted.
    TrustFolder,
    /// `TRUST_PARENT`: the folder above this one and all below it are trusted.
    TrustParent,
    /// `DO_NOT_TRUST`: this folder and all below it are not trusted.
    DoNotTrust,
}

impl TrustLevel {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::TrustFolder, Self::TrustParent, Self::DoNotTrust];

    /// The word that stands for it in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TrustFolder => "TRUST_FOLDER",
            Self::TrustParent => "TRUST_PARENT",
            Self::DoNotTrust => "DO_NOT_TRUST",
        }
    }

    /// The level that a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl fmt::Display for TrustLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One line of the file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRule {
    /// The path as it is written there.
    pub path: PathBuf,
    /// The level of trust.
    pub level: TrustLevel,
}

impl TrustRule {
    /// The folder that the rule covers with all below it, links followed.
    ///
    /// A path that is not absolute covers nothing: which folder it means would depend on where one stands.
    pub fn covers(&self) -> Option<PathBuf> {
        if !self.path.is_absolute() {
            return None;
        }
        let folder = match self.level {
            TrustLevel::TrustFolder | TrustLevel::DoNotTrust => self.path.clone(),
            TrustLevel::TrustParent => {
                let path = by_words(&self.path);
                path.parent().map(Path::to_path_buf).unwrap_or(path)
            }
        };
        Some(canonical(&folder))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, level: TrustLevel, expected: Option<&str>) {
        let rule = TrustRule { path: path.into(), level };
        assert_eq!(rule.covers().as_deref(), expected.map(Path::new), "{path} {level}");
    }

    #[test]
    fn rules_cover_a_folder_or_the_one_above() {
        check("/no/a", TrustLevel::TrustFolder, Some("/no/a"));
        check("/no/a/", TrustLevel::DoNotTrust, Some("/no/a"));
        check("/no/a/b/", TrustLevel::TrustParent, Some("/no/a"));
        check("/no/a/../b", TrustLevel::TrustParent, Some("/no"));
        check("/", TrustLevel::TrustParent, Some("/"));
        for path in ["", ".", "~/a", "a", "C:\\a"] {
            check(path, TrustLevel::TrustFolder, None);
        }
    }

    #[test]
    fn levels_have_one_word_each() {
        for level in TrustLevel::ALL {
            assert_eq!(TrustLevel::parse(level.as_str()), Some(level));
        }
        assert_eq!(TrustLevel::parse("trust_folder"), None);
    }
}
