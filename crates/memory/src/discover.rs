//! Finds memory files from a folder upwards.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::settings::ContextNames;

/// The folder in which a memory file may be instead of beside it.
pub(crate) const FOLDER: &str = ".gemini";

/// The nearest folder from `start` upwards that holds one of these markers, be it a file or a folder.
///
/// Markers that are no plain relative paths mark nothing.
pub(crate) fn find_root<'a>(start: &'a Path, markers: &[String]) -> Option<&'a Path> {
    let is_inside = |marker: &&String| {
        let parts: Vec<Component<'_>> = Path::new(marker.as_str()).components().collect();
        !parts.is_empty() && parts.iter().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let markers: Vec<&String> = markers.iter().filter(is_inside).collect();
    start.ancestors().find(|folder| markers.iter().any(|marker| folder.join(marker).exists()))
}

/// The folder above which nothing counts: the nearest one with a marker, else `start` itself.
pub(crate) fn ceiling<'a>(start: &'a Path, markers: &[String]) -> &'a Path {
    find_root(start, markers).unwrap_or(start)
}

/// The memory files from `ceiling` down to `start`, which is in it: in each folder those beside its files in the order of
/// their names, then those in its `.gemini`. Nothing in or above `home` counts, nor a `.gemini` that is the home.
pub(crate) fn upward(
    start: &Path,
    ceiling: &Path,
    names: &ContextNames,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let is_home = |folder: &Path| home.is_some_and(|home| home == folder);
    let mut levels = Vec::new();
    for folder in start.ancestors().take_while(|folder| !is_home(folder)) {
        levels.push(folder);
        if folder == ceiling {
            break;
        }
    }
    let mut found = Vec::new();
    for folder in levels.into_iter().rev() {
        let inner = folder.join(FOLDER);
        let inner = (!is_home(&inner)).then_some(inner);
        for place in [Some(folder), inner.as_deref()].into_iter().flatten() {
            found.extend(names.iter().map(|name| place.join(name)).filter(|file| file.is_file()));
        }
    }
    found
}

/// The folder that a memory file is about: the one that it is in, or above that if it is in a `.gemini`.
pub(crate) fn owner(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    let is_inner = folder.file_name() == Some(OsStr::new(FOLDER));
    if is_inner { folder.parent().unwrap_or(folder) } else { folder }
}

/// Sorts files so that those of outer folders come before those of inner ones, and those of one folder in the order of
/// their names, with those in its `.gemini` last.
pub(crate) fn sort_outer_first(files: &mut Vec<PathBuf>, names: &ContextNames) {
    files.sort_by_cached_key(|file| {
        let folder = owner(file);
        let is_inner = file.parent() != Some(folder);
        let name = file.file_name().and_then(|name| names.position(name));
        (folder.components().count(), folder.to_path_buf(), is_inner, name, file.clone())
    });
    files.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    fn tree(files: &[&str]) -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
            fs::write(path, "text").expect("written");
        }
        root
    }

    #[track_caller]
    fn check_root(files: &[&str], start: &str, markers: &[&str], expected: Option<&str>) {
        let root = tree(files);
        let start = root.path().join(start);
        let markers: Vec<String> = markers.iter().map(ToString::to_string).collect();
        // The folder of temporary files is in no repository.
        let expected = expected.map(|folder| root.path().join(folder).components().collect::<PathBuf>());
        assert_eq!(find_root(&start, &markers).map(Path::to_path_buf), expected);
    }

    #[test]
    fn the_nearest_marker_makes_the_root() {
        check_root(&["a/.git/HEAD", "a/b/c/x"], "a/b/c", &[".git"], Some("a"));
        // In worktrees and submodules it is a file.
        check_root(&["a/.git/HEAD", "a/b/.git"], "a/b/c", &[".git"], Some("a/b"));
        check_root(&["a/x"], "a", &[".git"], None);
        check_root(&["a/go.mod", "a/b/Cargo.toml"], "a/b", &["go.mod"], Some("a"));
        check_root(&["a/go.mod", "a/b/Cargo.toml"], "a/b", &["go.mod", "Cargo.toml"], Some("a/b"));
        check_root(&["a/.hg/store"], "a/missing", &[".hg/store"], Some("a"));
        check_root(&["a/.git/HEAD"], "a", &[], None);
    }

    #[test]
    fn markers_that_lead_elsewhere_mark_nothing() {
        check_root(&["a/x", "b/.git/HEAD"], "a", &["../b", "/", "", "x/../../b"], None);
    }

    #[track_caller]
    fn check_upward(files: &[&str], start: &str, ceiling: &str, home: &str, expected: &[&str]) {
        let root = tree(files);
        let (names, _) = ContextNames::with(["AGENTS.md"]);
        let home = root.path().join(home);
        let found = upward(&root.path().join(start), &root.path().join(ceiling), &names, Some(&home));
        let found: Vec<_> =
            found.iter().map(|file| file.strip_prefix(root.path()).expect("inside")).collect();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn outer_folders_come_first_and_names_stay_together() {
        let files = [
            "w/GEMINI.md",
            "w/AGENTS.md",
            "w/.gemini/GEMINI.md",
            "w/App/GEMINI.md",
            "w/App/x/AGENTS.md",
            "GEMINI.md",
        ];
        let all =
            ["w/AGENTS.md", "w/GEMINI.md", "w/.gemini/GEMINI.md", "w/App/GEMINI.md", "w/App/x/AGENTS.md"];
        check_upward(&files, "w/App/x", "w", "home", &all);
        check_upward(&files, "w", "w", "home", &all[..3]);
        // What does not exist has no files, and those above it count.
        check_upward(&files, "w/App/new/deep", "w", "home", &all[..4]);
    }

    #[test]
    fn the_home_is_no_project() {
        let files = ["u/.gemini/GEMINI.md", "u/GEMINI.md", "u/.gemini/x/GEMINI.md"];
        check_upward(&files, "u", "u", "u/.gemini", &["u/GEMINI.md"]);
        check_upward(&files, "u/.gemini/x", "u", "u/.gemini", &["u/.gemini/x/GEMINI.md"]);
        check_upward(&files, "u/.gemini", "u", "u/.gemini", &[]);
    }

    #[test]
    fn a_folder_with_the_name_of_a_file_is_none() {
        check_upward(&["w/GEMINI.md/x", "w/AGENTS.md"], "w", "w", "home", &["w/AGENTS.md"]);
    }

    #[test]
    fn sorting_goes_by_depth_before_letters() {
        let (names, _) = ContextNames::with(["AGENTS.md"]);
        let mut files: Vec<PathBuf> = [
            "/w/App/GEMINI.md",
            "/w/.gemini/AGENTS.md",
            "/w/GEMINI.md",
            "/w/AGENTS.md",
            "/w/GEMINI.md",
            "/w/A/b/GEMINI.md",
        ]
        .map(PathBuf::from)
        .to_vec();
        sort_outer_first(&mut files, &names);
        let expected =
            ["/w/AGENTS.md", "/w/GEMINI.md", "/w/.gemini/AGENTS.md", "/w/App/GEMINI.md", "/w/A/b/GEMINI.md"];
        assert_eq!(files, expected.map(PathBuf::from));
    }
}
