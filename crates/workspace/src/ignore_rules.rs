//! Ignore rules, as Git understands them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

/// Which ignore files count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignoring {
    /// True if `.gitignore` and `.git/info/exclude` count.
    pub git: bool,
    /// True if `.geminiignore` counts.
    pub gemini: bool,
    /// More files of the same kind, the strongest first; relative to the project's root.
    pub custom: Vec<PathBuf>,
}

impl Default for Ignoring {
    /// `.geminiignore` alone.
    fn default() -> Self {
        Self { git: false, gemini: true, custom: Vec::new() }
    }
}

/// The rule that hides a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HiddenBy {
    /// A line of an ignore file.
    Line {
        /// The ignore file.
        file: PathBuf,
        /// The line.
        pattern: String,
    },
    /// It is Git's own folder.
    GitFolder,
}

/// The ignore files of a project: those the user named, then `.geminiignore`, then Git's. The first that says anything
/// about a path decides, so that a stronger file can take back what a weaker one hides.
#[derive(Debug)]
pub struct IgnoreRules {
    root: PathBuf,
    /// The strongest first.
    stated: Vec<Gitignore>,
    /// Git's rules above the root's own `.gitignore`, if Git counts.
    git: Option<Gitignore>,
    /// Problems of single lines.
    pub problems: Vec<String>,
}

/// The `.gitignore` files that hold in a folder, the nearest first.
#[derive(Clone, Debug, Default)]
pub struct GitChain(Option<Arc<ChainLink>>);

#[derive(Debug)]
struct ChainLink {
    rules: Gitignore,
    above: GitChain,
}

impl IgnoreRules {
    /// Loads the files that hold below `root`, for work in `folder`, which is in it.
    pub fn load(root: &Path, folder: &Path, ignoring: &Ignoring) -> Self {
        let mut problems = Vec::new();
        let mut load = |base: &Path, file: &Path| {
            let mut builder = GitignoreBuilder::new(base);
            if file.is_file() {
                problems.extend(builder.add(file).map(|error| error.to_string()));
            }
            builder.build().unwrap_or_else(|error| {
                problems.push(error.to_string());
                Gitignore::empty()
            })
        };
        let mut stated: Vec<Gitignore> =
            ignoring.custom.iter().map(|file| load(root, &root.join(file))).collect();
        if ignoring.gemini {
            if folder != root {
                stated.push(load(folder, &folder.join(".geminiignore")));
            }
            stated.push(load(root, &root.join(".geminiignore")));
        }
        stated.retain(|rules| !rules.is_empty());
        // Outside of a repository, files of Git mean nothing.
        let git = (ignoring.git && root.join(".git").exists())
            .then(|| load(root, &root.join(".git").join("info").join("exclude")));
        Self { root: root.to_path_buf(), stated, git, problems }
    }

    /// The rule that hides the path, or a folder above it.
    pub fn hidden_by(&self, path: &Path, is_folder: bool) -> Option<HiddenBy> {
        let inside = path.strip_prefix(&self.root).ok()?;
        let mut here = self.root.clone();
        let mut chain = GitChain::default();
        let mut parts = inside.components().peekable();
        while let Some(part) = parts.next() {
            chain = self.enter(&here, &chain);
            here.push(part);
            let hidden = self.entry_hidden_by(&here, is_folder || parts.peek().is_some(), &chain);
            if hidden.is_some() {
                return hidden;
            }
        }
        None
    }

    /// The rule that hides an entry of a folder that is not hidden; `chain` is that of the folder.
    pub fn entry_hidden_by(&self, path: &Path, is_folder: bool, chain: &GitChain) -> Option<HiddenBy> {
        for rules in &self.stated {
            // A file may hold for another folder than the one that the path is in.
            if !path.starts_with(rules.path()) {
                continue;
            }
            match rules.matched(path, is_folder) {
                Match::None => {}
                Match::Ignore(line) => return Some(line.into()),
                Match::Whitelist(_) => return None,
            }
        }
        let exclude = self.git.as_ref()?;
        if path.file_name().is_some_and(|name| name == ".git") {
            return Some(HiddenBy::GitFolder);
        }
        let mut link = &chain.0;
        while let Some(here) = link {
            match here.rules.matched(path, is_folder) {
                Match::None => link = &here.above.0,
                Match::Ignore(line) => return Some(line.into()),
                Match::Whitelist(_) => return None,
            }
        }
        match exclude.matched(path, is_folder) {
            Match::Ignore(line) => Some(line.into()),
            Match::None | Match::Whitelist(_) => None,
        }
    }

    /// The rules of Git that hold in `folder`, where `above` hold in the one above it.
    pub fn enter(&self, folder: &Path, above: &GitChain) -> GitChain {
        let file = folder.join(".gitignore");
        // As with Git, a link does not count: what it leads to need not be of the project.
        let is_there = || file.symlink_metadata().is_ok_and(|found| found.is_file());
        if self.git.is_none() || !is_there() {
            return above.clone();
        }
        let mut builder = GitignoreBuilder::new(folder);
        builder.add(&file);
        match builder.build() {
            Ok(rules) if !rules.is_empty() => {
                GitChain(Some(Arc::new(ChainLink { rules, above: above.clone() })))
            }
            _ => above.clone(),
        }
    }

    /// True if nothing is ever hidden.
    pub fn hides_nothing(&self) -> bool {
        self.stated.is_empty() && self.git.is_none()
    }
}

impl From<&Glob> for HiddenBy {
    fn from(line: &Glob) -> Self {
        Self::Line {
            file: line.from().map(Path::to_path_buf).unwrap_or_default(),
            pattern: line.original().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Checks what is hidden in a folder of these files; a name that ends in `/` is a folder.
    #[track_caller]
    fn check(files: &[(&str, &str)], ignoring: &Ignoring, hidden: &[&str], shown: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let rules = IgnoreRules::load(folder.path(), folder.path(), ignoring);
        for (names, expected) in [(hidden, true), (shown, false)] {
            for name in names {
                let path = folder.path().join(name.trim_end_matches('/'));
                assert_eq!(rules.hidden_by(&path, name.ends_with('/')).is_some(), expected, "{name}");
            }
        }
    }

    fn git() -> Ignoring {
        Ignoring { git: true, ..Ignoring::default() }
    }

    #[test]
    fn folder_patterns_hide_folders_and_what_is_in_them() {
        let files = [(".geminiignore", "vendor/\n/top.md\nlogs\n")];
        let hidden = ["vendor/", "vendor/GEMINI.md", "a/vendor/x/GEMINI.md", "top.md", "logs", "a/logs/x"];
        check(&files, &Ignoring::default(), &hidden, &["vendor", "a/top.md", "vendored/GEMINI.md", "."]);
        let off = Ignoring { gemini: false, ..Ignoring::default() };
        check(&files, &off, &[], &hidden);
    }

    #[test]
    fn files_of_git_count_only_in_a_repository_and_when_asked() {
        let files = [
            (".gitignore", "build/\n"),
            (".git/info/exclude", "mine.md\n"),
            ("a/.gitignore", "/c\nd/e\n!build/\n"),
        ];
        let hidden = ["build/", "build/GEMINI.md", "mine.md", "a/c", "a/d/e", ".git/", ".git/x"];
        check(&files, &git(), &hidden, &["c", "a/x/c", "d/e", "a/build/x"]);
        check(&files, &Ignoring::default(), &[], &hidden);
        check(&[(".gitignore", "build/\n")], &git(), &[], &["build/x"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_no_file_of_git() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join(".git")).expect("made");
        fs::write(folder.path().join("other"), "x\n").expect("written");
        std::os::unix::fs::symlink("other", folder.path().join(".gitignore")).expect("linked");
        let rules = IgnoreRules::load(folder.path(), folder.path(), &git());
        assert_eq!(rules.hidden_by(&folder.path().join("x"), false), None);
    }

    #[test]
    fn stronger_files_take_back_what_weaker_ones_hide() {
        let files = [
            (".git/HEAD", ""),
            (".gitignore", "*.md\n"),
            (".geminiignore", "!GEMINI.md\nx.txt\n"),
            ("mine", "!x.txt\n"),
        ];
        check(&files, &git(), &["a.md", "x.txt"], &["GEMINI.md", "a/GEMINI.md"]);
        let custom = Ignoring { custom: vec!["mine".into(), "none".into()], ..git() };
        check(&files, &custom, &["a.md"], &["x.txt", "GEMINI.md"]);
        // Nothing in a hidden folder can be taken back.
        let below = [(".geminiignore", "a/\n!a/GEMINI.md\n")];
        check(&below, &Ignoring::default(), &["a/GEMINI.md"], &[]);
    }

    #[test]
    fn paths_outside_and_the_root_itself_are_never_hidden() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(".geminiignore"), "*\n[z-a]\n").expect("written");
        let rules = IgnoreRules::load(folder.path(), folder.path(), &Ignoring::default());
        assert_eq!(rules.hidden_by(folder.path(), true), None);
        assert_eq!(rules.hidden_by(Path::new("/elsewhere"), false), None);
        let line = HiddenBy::Line { file: folder.path().join(".geminiignore"), pattern: "*".into() };
        assert_eq!(rules.hidden_by(&folder.path().join("x"), false), Some(line));
        assert_eq!(rules.problems.len(), 1, "{:?}", rules.problems);
    }
}
