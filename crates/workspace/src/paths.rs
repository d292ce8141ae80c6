//! Compares paths by where they lead, whether or not anything is there.

use std::path::{Component, Path, PathBuf};

/// The path with every link followed, as far as it exists, and the rest resolved by its words.
///
/// On Windows letters are made small, as names there differ in no other way.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    let words = by_words(path);
    let found = words.ancestors().find_map(|existing| {
        let rest = words.strip_prefix(existing).ok()?;
        Some(resolve(existing)?.join(rest))
    });
    // Joining nothing leaves a separator at the end, which collecting the components takes away.
    fold_case(found.unwrap_or(words).components().collect())
}

/// True if both lead to one place.
pub(crate) fn is_same_folder(one: &Path, other: &Path) -> bool {
    canonical(one) == canonical(other)
}

/// The path without `.`, and without `..` as far as that is a matter of words.
///
/// Links of a path that exists are followed before `..` is.
pub(crate) fn by_words(path: &Path) -> PathBuf {
    if let Some(resolved) = resolve_parents(path) {
        return resolved;
    }
    let mut words = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // Above the root is the root, and what a relative path begins with stays.
            Component::ParentDir if words.file_name().is_some() => {
                words.pop();
            }
            Component::ParentDir if words.has_root() => {}
            other => words.push(other),
        }
    }
    words
}

/// A path with `..` in it that exists is where the system says, not where its words say.
fn resolve_parents(path: &Path) -> Option<PathBuf> {
    path.components().any(|component| component == Component::ParentDir).then(|| resolve(path)).flatten()
}

#[cfg(not(windows))]
fn resolve(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The path with its links followed. The system's answer begins with `\\?\`, which no other program writes into a file that we share with it.
#[cfg(windows)]
fn resolve(path: &Path) -> Option<PathBuf> {
    let resolved = path.canonicalize().ok()?;
    let text = resolved.to_str()?;
    let plain = match text.strip_prefix(r"\\?\UNC\") {
        Some(share) => PathBuf::from(format!(r"\\{share}")),
        None => PathBuf::from(text.strip_prefix(r"\\?\").unwrap_or(text)),
    };
    Some(plain)
}

#[cfg(not(windows))]
fn fold_case(path: PathBuf) -> PathBuf {
    path
}

#[cfg(windows)]
fn fold_case(path: PathBuf) -> PathBuf {
    path.to_str().map(|text| text.to_lowercase().into()).unwrap_or(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[track_caller]
    fn check_words(path: &str, expected: &str) {
        assert_eq!(canonical(Path::new(path)), Path::new(expected), "{path}");
        assert_eq!(canonical(Path::new(path)).as_os_str(), expected, "{path}");
    }

    #[test]
    fn paths_that_do_not_exist_are_resolved_by_their_words() {
        check_words("/no/such//place/", "/no/such/place");
        check_words("/no/./such/../place", "/no/place");
        check_words("/../no", "/no");
        check_words("/", "/");
        check_words("/..", "/");
    }

    #[test]
    fn links_are_followed_as_far_as_anything_exists() {
        let root = tempfile::tempdir().expect("a folder");
        let real = root.path().canonicalize().expect("there");
        fs::create_dir_all(real.join("a/b")).expect("made");
        symlink("a/b", real.join("link")).expect("linked");
        assert_eq!(canonical(&real.join("link")), real.join("a/b"));
        assert_eq!(canonical(&real.join("link/new/deep")), real.join("a/b/new/deep"));
        // The parent of what the link leads to, not of the link.
        assert_eq!(canonical(&real.join("link/..")), real.join("a"));
        symlink("loop", real.join("loop")).expect("linked");
        assert_eq!(canonical(&real.join("loop/x")), real.join("loop/x"));
    }
}
