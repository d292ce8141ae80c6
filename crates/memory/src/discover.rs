//! Finds memory files from a folder upwards.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::rules::{CLAUDE_FOLDER, find_rules, ruled_folder};
use crate::settings::{CLAUDE_NAME, ContextNames, DEFAULT_NAMES};

/// The folder in which a memory file may be instead of beside it.
pub(crate) const FOLDER: &str = ".gemini";

/// Names of memory files that other agents read beside those that are ours.
const OTHER_NAMES: [&str; 3] = ["AGENTS.override.md", "CLAUDE.local.md", "QWEN.md"];

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
/// their names, then those in its `.gemini`, then what Claude Code keeps in `.claude`. Nothing in or above `home` counts,
/// nor a `.gemini` that is the home.
pub(crate) fn upward(
    start: &Path,
    ceiling: &Path,
    names: &ContextNames,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let folders = folders_upward(start, ceiling, home).into_iter().rev();
    folders.flat_map(|folder| files_of(folder, names, home)).collect()
}

/// The folders from `start` up to `ceiling`, none of them in or above `home`.
pub(crate) fn folders_upward<'a>(start: &'a Path, ceiling: &Path, home: Option<&Path>) -> Vec<&'a Path> {
    let mut folders = Vec::new();
    for folder in start.ancestors().take_while(|folder| home != Some(*folder)) {
        folders.push(folder);
        if folder == ceiling {
            break;
        }
    }
    folders
}

/// The memory files of one folder.
fn files_of(folder: &Path, names: &ContextNames, home: Option<&Path>) -> Vec<PathBuf> {
    let inner = folder.join(FOLDER);
    let inner = (home != Some(&inner)).then_some(inner);
    let mut found = Vec::new();
    for place in [Some(folder), inner.as_deref()].into_iter().flatten() {
        found.extend(names.iter().map(|name| place.join(name)).filter(|file| file.is_file()));
    }
    if names.has_claude() {
        let own = folder.join(CLAUDE_FOLDER).join(CLAUDE_NAME);
        found.extend(Some(own).filter(|file| file.is_file()));
        found.extend(find_rules(folder));
    }
    found
}

/// The files of a folder that look like memory files and are not called like one.
pub(crate) fn other_files_of(folder: &Path, names: &ContextNames, home: Option<&Path>) -> Vec<PathBuf> {
    let inner = Some(folder.join(FOLDER)).filter(|inner| home != Some(inner));
    let places = [Some(folder.to_path_buf()), inner, Some(folder.join(CLAUDE_FOLDER))];
    let mut found: Vec<PathBuf> =
        places.into_iter().flatten().flat_map(|place| other_names_in(&place, names)).collect();
    if !names.has_claude() {
        found.extend(find_rules(folder));
    }
    found
}

/// The files in a folder that have names of memory files which do not count, by their names.
pub(crate) fn other_names_in(folder: &Path, names: &ContextNames) -> Vec<PathBuf> {
    let is_other = |name: &OsStr| {
        let mut known = DEFAULT_NAMES.iter().chain(&OTHER_NAMES);
        names.position(name).is_none() && known.any(|known| name.eq_ignore_ascii_case(known))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let others = entries.filter(|entry| is_other(&entry.file_name())).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = others.filter(|path| path.is_file()).collect();
    found.sort();
    found
}

/// The folder that a memory file is about: the one that it is in, or above that if it is in a `.gemini` or `.claude`.
pub(crate) fn owner(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    let is_inner = [FOLDER, CLAUDE_FOLDER].iter().any(|inner| folder.file_name() == Some(OsStr::new(inner)));
    match ruled_folder(file) {
        Some(ruled) => ruled,
        None if is_inner => folder.parent().unwrap_or(folder),
        None => folder,
    }
}

/// Sorts files so that those of outer folders come before those of inner ones, and those of one folder in the order of
/// their names, with those in its `.gemini` and then in its `.claude` last.
pub(crate) fn sort_outer_first(files: &mut Vec<PathBuf>, names: &ContextNames) {
    files.sort_by_cached_key(|file| {
        let folder = owner(file);
        let place = match file.parent() {
            Some(own) if own == folder => 0,
            Some(own) if own.ends_with(FOLDER) => 1,
            _ if ruled_folder(file).is_none() => 2,
            _ => 3,
        };
        let name = file.file_name().and_then(|name| names.position(name)).filter(|_| place < 3);
        (folder.components().count(), folder.to_path_buf(), place, name, file.clone())
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
        let (names, _) = ContextNames::of(["AGENTS.md", "GEMINI.md", "CLAUDE.md"]);
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
    fn what_claude_code_keeps_comes_last_in_its_folder() {
        let files = [
            "w/.claude/rules/b/x.md",
            "w/.claude/rules/a.md",
            "w/.claude/rules/notes.txt",
            "w/.claude/CLAUDE.md",
            "w/.claude/AGENTS.md",
            "w/CLAUDE.md",
            "w/GEMINI.md",
            "w/sub/.claude/rules/c.md",
        ];
        let found = [
            "w/GEMINI.md",
            "w/CLAUDE.md",
            "w/.claude/CLAUDE.md",
            "w/.claude/rules/a.md",
            "w/.claude/rules/b/x.md",
            "w/sub/.claude/rules/c.md",
        ];
        check_upward(&files, "w/sub", "w", "home", &found);
        let mut sorted: Vec<PathBuf> = found.iter().rev().map(PathBuf::from).collect();
        let (names, _) = ContextNames::of(["AGENTS.md", "GEMINI.md", "CLAUDE.md"]);
        sort_outer_first(&mut sorted, &names);
        assert_eq!(sorted, found.map(PathBuf::from));
    }

    #[track_caller]
    fn check_other(files: &[&str], names: &[&str], expected: &[&str]) {
        let root = tree(files);
        let (names, _) = ContextNames::of(names.iter().copied());
        let found = other_files_of(root.path(), &names, None);
        let found: Vec<_> =
            found.iter().map(|file| file.strip_prefix(root.path()).expect("inside")).collect();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn files_with_other_names_are_found() {
        let files = ["GEMINI.md", "AGENTS.md", "CLAUDE.md", "README.md", "a/GEMINI.md"];
        check_other(&files, &[], &[]);
        check_other(&files, &["AGENTS.md"], &["CLAUDE.md", "GEMINI.md"]);
        let files = ["agents.md", "CLAUDE.local.md", ".gemini/claude.md", ".claude/CLAUDE.md"];
        check_other(&files, &[], &["CLAUDE.local.md", "agents.md", ".gemini/claude.md"]);
        check_other(&[".claude/rules/a.md", ".claude/CLAUDE.md"], &[], &[]);
        check_other(
            &[".claude/rules/a.md", ".claude/CLAUDE.md"],
            &["AGENTS.md"],
            &[".claude/CLAUDE.md", ".claude/rules/a.md"],
        );
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
        let (names, _) = ContextNames::of(["AGENTS.md", "GEMINI.md", "CLAUDE.md"]);
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
