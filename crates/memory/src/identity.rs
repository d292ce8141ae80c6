//! Knows a file again, by whatever name it is reached.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
pub(crate) struct SeenFiles {
    files: HashMap<FileIdentity, PathBuf>,
    /// What files say, by the folder that they say it of.
    texts: HashMap<PathBuf, Vec<(PathBuf, Arc<str>)>>,
    /// Files whose text is there and whose imports are not: they were met as deep as imports go.
    without_imports: HashSet<FileIdentity>,
}

impl SeenFiles {
    /// Notes a file; if it is there already, under this name.
    pub(crate) fn claim(&mut self, identity: FileIdentity, path: &Path) -> Result<(), PathBuf> {
        match self.files.entry(identity) {
            Entry::Occupied(first) => Err(first.get().clone()),
            Entry::Vacant(place) => {
                self.without_imports.remove(place.key());
                place.insert(path.to_path_buf());
                Ok(())
            }
        }
    }

    /// Notes what a file says of a folder; if another one says all of it, its name.
    pub(crate) fn claim_text(&mut self, folder: &Path, text: &str, path: &Path) -> Result<(), PathBuf> {
        let plain = text.trim().replace("\r\n", "\n");
        let known = self.texts.entry(folder.to_path_buf()).or_default();
        if let Some((first, _)) = known.iter().find(|(first, text)| first != path && has_lines(text, &plain))
        {
            return Err(first.clone());
        }
        known.push((path.to_path_buf(), plain.into()));
        Ok(())
    }

    /// The name under which a file is there.
    pub(crate) fn get(&self, identity: &FileIdentity) -> Option<&Path> {
        self.files.get(identity).map(PathBuf::as_path)
    }

    /// Notes that a file's imports were not followed.
    pub(crate) fn leave_imports(&mut self, identity: FileIdentity) {
        self.without_imports.insert(identity);
    }

    /// True once if a file's text is there and its imports are not.
    pub(crate) fn take_imports(&mut self, identity: &FileIdentity) -> bool {
        self.without_imports.remove(identity)
    }

    /// Forgets the files that came in under these names.
    pub(crate) fn forget(&mut self, paths: &[&Path]) {
        self.files.retain(|_, first| !paths.contains(&first.as_path()));
        for known in self.texts.values_mut() {
            known.retain(|(first, _)| !paths.contains(&first.as_path()));
        }
    }
}

/// True if these lines stand together in a text.
fn has_lines(text: &str, lines: &str) -> bool {
    text.match_indices(lines).any(|(start, _)| {
        let (before, behind) = (&text[..start], &text[start + lines.len()..]);
        (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_there_if_all_of_its_lines_are() {
        let mut seen = SeenFiles::default();
        let mut claim = |folder: &str, text: &str, path: &str| {
            seen.claim_text(Path::new(folder), text, Path::new(path))
                .map_err(|first| first.display().to_string())
        };
        assert_eq!(claim("/w", "Use tabs.\nBe brief.\n\n- A fact\n", "/w/a"), Ok(()));
        assert_eq!(claim("/w", "Use tabs.\r\nBe brief.", "/w/b"), Err("/w/a".into()));
        assert_eq!(claim("/w", "- A fact", "/w/b"), Err("/w/a".into()));
        // Half a line may mean something else, and so may another folder.
        assert_eq!(claim("/w", "tabs.\nBe brief.", "/w/b"), Ok(()));
        assert_eq!(claim("/w/x", "- A fact", "/w/x/b"), Ok(()));
        // A file that is read again is no other one.
        assert_eq!(claim("/w/x", "- A fact", "/w/x/b"), Ok(()));
    }
}
