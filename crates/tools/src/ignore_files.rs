//! Ignore files of the workspace, and the explanation for the model.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_workspace::{GitChain, HiddenBy, IgnoreRules, Ignoring};

use crate::Roots;

/// The ignore files of the workspace. Loaded for one call, so that changes to them take effect at once; results are
/// cached, so that checking every entry of a large tree is cheap.
#[derive(Debug)]
pub struct IgnoreFiles {
    folders: Vec<IgnoreRoot>,
}

/// A workspace folder. It is never ignored itself, nor is anything above it.
#[derive(Debug)]
struct IgnoreRoot {
    folder: PathBuf,
    rules: IgnoreRules,
    known: Mutex<HashMap<PathBuf, FolderState>>,
}

/// The cached state of a folder.
#[derive(Clone, Debug)]
enum FolderState {
    Open(GitChain),
    Hidden(HiddenBy),
}

/// The reason why a path is ignored. Displays as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreReason {
    /// The rule that hides it.
    pub by: HiddenBy,
    /// The ignore file, relative to the workspace if possible.
    file: PathBuf,
}

impl IgnoreFiles {
    /// Loads the ignore files that the settings enable. Git's apply if a workspace folder is inside a repository,
    /// including those of the repository above it.
    pub fn load(roots: &Roots, ignoring: &Ignoring) -> Self {
        let folders = roots.folders().iter().map(|folder| {
            let is_repository = |above: &&Path| above.join(".git").exists();
            let root = folder.ancestors().find(is_repository).unwrap_or(folder);
            let rules = IgnoreRules::load(root, folder, ignoring);
            let chain = folder
                .strip_prefix(root)
                .into_iter()
                .flat_map(Path::components)
                .fold((root.to_path_buf(), GitChain::default()), |(here, chain), part| {
                    (here.join(part), rules.enter(&here, &chain))
                })
                .1;
            let own = FolderState::Open(rules.enter(folder, &chain));
            let known = Mutex::new(HashMap::from([(folder.clone(), own)]));
            IgnoreRoot { folder: folder.clone(), rules, known }
        });
        Self { folders: folders.collect() }
    }

    /// Returns the reason if a path without links is ignored, by itself or through a folder above it.
    pub fn is_ignored(&self, place: &Path, is_dir: bool) -> Option<IgnoreReason> {
        // Workspace folders may be nested; the innermost one decides.
        let inside = |workspace: &&IgnoreRoot| place.starts_with(&workspace.folder);
        let workspace = self
            .folders
            .iter()
            .filter(inside)
            .max_by_key(|workspace| workspace.folder.components().count())?;
        if place == workspace.folder {
            return None;
        }
        let by = match workspace.verdict(place.parent()?) {
            FolderState::Hidden(by) => by,
            FolderState::Open(chain) => workspace.rules.entry_hidden_by(place, is_dir, &chain)?,
        };
        let file = match &by {
            HiddenBy::Line { file, .. } => file.strip_prefix(&self.folders[0].folder).unwrap_or(file),
            HiddenBy::GitFolder => Path::new(""),
        };
        Some(IgnoreReason { file: file.to_path_buf(), by })
    }
}

impl IgnoreRoot {
    fn verdict(&self, folder: &Path) -> FolderState {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        if let Some(known) = known {
            return known;
        }
        let Some(above) = folder.parent() else { return FolderState::Open(GitChain::default()) };
        let verdict = match self.verdict(above) {
            hidden @ FolderState::Hidden(_) => hidden,
            FolderState::Open(chain) => match self.rules.entry_hidden_by(folder, true, &chain) {
                Some(by) => FolderState::Hidden(by),
                None => FolderState::Open(self.rules.enter(folder, &chain)),
            },
        };
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(folder.to_path_buf(), verdict.clone());
        verdict
    }
}

impl fmt::Display for IgnoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HiddenBy::Line { pattern, .. } = &self.by else {
            return f.write_str(
                "it is in Git's own folder; context.fileFiltering.respectGitIgnore, set to false, would show it",
            );
        };
        let remedy = match self.file.file_name().and_then(|name| name.to_str()) {
            Some(".geminiignore") => "set context.fileFiltering.respectGeminiIgnore to false",
            Some(".gitignore" | "exclude") => "set context.fileFiltering.respectGitIgnore to false",
            _ => "take the file out of context.fileFiltering.customIgnoreFilePaths",
        };
        let file = self.file.display();
        write!(f, "the line {pattern:?} in {file} hides it; the user can change that line, or {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ALL: Ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };

    /// A workspace `work` in a folder with these files.
    fn world(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots::new(&folder.path().join("work"), &[]).unwrap();
        (folder, roots)
    }

    /// Checks which names below `work` are ignored; a name that ends in `/` is a folder.
    #[track_caller]
    fn check(files: &[(&str, &str)], ignoring: &Ignoring, hidden: &[&str], shown: &[&str]) {
        let (_folder, roots) = world(files);
        let ignore_files = IgnoreFiles::load(&roots, ignoring);
        for (names, expected) in [(hidden, true), (shown, false)] {
            for name in names {
                let place = roots.first().join(name.trim_end_matches('/'));
                // The second time comes from the cache.
                for _ in 0..2 {
                    let is_hidden = ignore_files.is_ignored(&place, name.ends_with('/')).is_some();
                    assert_eq!(is_hidden, expected, "{name}");
                }
            }
        }
    }

    #[test]
    fn what_is_hidden_is_hidden_at_any_depth() {
        let files = [
            ("work/.git/HEAD", ""),
            ("work/.gitignore", "target/\n*.log\n"),
            ("work/a/.gitignore", "!keep.log\n/own\n"),
            ("work/.geminiignore", "secret\n"),
        ];
        let hidden =
            ["target/", "target/x/y", "b/z.log", "a/own", "secret", "a/b/secret/c", ".git/", ".git/HEAD"];
        check(&files, &ALL, &hidden, &["target", "a/keep.log", "own", "src/lib.rs", ""]);
        let nothing = Ignoring { git: false, gemini: false, custom: Vec::new() };
        check(&files, &nothing, &[], &hidden);
        let custom = Ignoring { custom: vec!["a/.gitignore".into()], ..nothing };
        check(&files, &custom, &["own"], &["keep.log", "secret"]);
    }

    #[test]
    fn files_of_git_count_only_in_a_repository() {
        check(&[("work/.gitignore", "x\n")], &ALL, &[], &["x"]);
        check(&[(".git/HEAD", ""), ("work/.gitignore", "x\n")], &ALL, &["x"], &["y"]);
    }

    #[test]
    fn a_repository_above_counts_though_it_hides_the_workspace_itself() {
        let files = [(".git/HEAD", ""), (".gitignore", "work/\n*.log\n")];
        check(&files, &ALL, &["a.log", "b/a.log"], &["src/lib.rs", ""]);
    }

    #[track_caller]
    fn check_sentence(files: &[(&str, &str)], ignoring: &Ignoring, name: &str, expected: &str) {
        let (_folder, roots) = world(files);
        let reason = IgnoreFiles::load(&roots, ignoring).is_ignored(&roots.first().join(name), false);
        assert_eq!(reason.unwrap().to_string(), expected);
    }

    #[test]
    fn the_sentence_says_which_line_and_what_to_do() {
        let files = [
            ("work/.git/HEAD", ""),
            ("work/a/.gitignore", "*.log\n"),
            ("work/.geminiignore", "secret/\n"),
            ("work/mine", "x\n"),
        ];
        check_sentence(
            &files,
            &ALL,
            "a/b.log",
            "the line \"*.log\" in a/.gitignore hides it; the user can change that line, or set \
             context.fileFiltering.respectGitIgnore to false",
        );
        check_sentence(
            &files,
            &ALL,
            "secret/b",
            "the line \"secret/\" in .geminiignore hides it; the user can change that line, or set \
             context.fileFiltering.respectGeminiIgnore to false",
        );
        check_sentence(
            &files,
            &Ignoring { custom: vec!["mine".into()], ..ALL },
            "x",
            "the line \"x\" in mine hides it; the user can change that line, or take the file out of \
             context.fileFiltering.customIgnoreFilePaths",
        );
        check_sentence(
            &files,
            &ALL,
            ".git/HEAD",
            "it is in Git's own folder; context.fileFiltering.respectGitIgnore, set to false, would show it",
        );
    }

    #[test]
    fn places_outside_are_nobody_s() {
        let (folder, roots) = world(&[("work/.geminiignore", "*\n")]);
        assert_eq!(IgnoreFiles::load(&roots, &ALL).is_ignored(&folder.path().join("x"), false), None);
    }
}
