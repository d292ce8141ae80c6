//! Knowledge of git about a file: the commit of each line, and older texts. Nothing is written, and no program of the repository runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};
use longhaul_conversation::Timestamp;

use crate::failure::hinted;

/// A worktree of a repository.
pub(super) struct Repository {
    /// Its folder.
    pub(super) root: PathBuf,
}

/// A line as git blames it.
#[derive(Clone, Debug)]
pub(super) struct BlamedLine {
    /// Its number now.
    pub(super) number: usize,
    /// Its number in the commit.
    pub(super) original: usize,
    pub(super) text: String,
    /// The commit; none if the line is not committed.
    pub(super) commit: Option<String>,
    pub(super) committed: Option<Timestamp>,
    /// The file in that commit, below the root.
    pub(super) name: String,
    /// The commit before, and the file in it; none if the file is new.
    pub(super) previous: Option<(String, String)>,
}

/// The file as an older commit had it.
pub(super) struct OlderText {
    pub(super) committed: Timestamp,
    pub(super) text: String,
}

impl Repository {
    pub(super) fn of(file: &Path) -> anyhow::Result<Self> {
        let folder = file.parent().unwrap_or(file);
        let no_repository = || {
            let hint = "blame needs the history of a git repository";
            hinted(anyhow!("{} is not in a git repository", file.display()), hint)
        };
        let root = run(folder, &["rev-parse", "--show-toplevel"]).map_err(|error| {
            match error.downcast_ref::<std::io::Error>() {
                Some(_) => hinted(error, "install git"),
                None => no_repository(),
            }
        })?;
        let root = PathBuf::from(root.trim_end_matches('\n'));
        Ok(Self { root: root.canonicalize().unwrap_or(root) })
    }

    fn name_of<'f>(&self, file: &'f Path) -> anyhow::Result<&'f str> {
        let name = file.strip_prefix(&self.root).ok().and_then(Path::to_str);
        name.with_context(|| format!("{} cannot be named in its repository", file.display()))
    }

    /// The lines of a file, or one of them; none if there is no such line.
    pub(super) fn blame(&self, file: &Path, line: Option<usize>) -> anyhow::Result<Vec<BlamedLine>> {
        let name = self.name_of(file)?;
        if run(&self.root, &["ls-files", "--error-unmatch", "--", name]).is_err() {
            return self.uncommitted(file, name, line);
        }
        let range = line.map(|line| format!("{line},{line}"));
        let mut arguments = vec!["blame", "--line-porcelain"];
        if let Some(range) = &range {
            arguments.extend(["-L", range]);
        }
        arguments.extend(["--", name]);
        match run(&self.root, &arguments) {
            Ok(output) => Ok(parse_blame(&output)),
            Err(error) if error.to_string().contains("has only") => Ok(Vec::new()),
            // Nothing is committed yet.
            Err(error)
                if error.to_string().contains("no such path") || error.to_string().contains("HEAD") =>
            {
                self.uncommitted(file, name, line)
            }
            Err(error) => Err(error),
        }
    }

    /// A file of which nothing is committed.
    fn uncommitted(&self, file: &Path, name: &str, line: Option<usize>) -> anyhow::Result<Vec<BlamedLine>> {
        let text = std::fs::read(file).with_context(|| format!("could not read {}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().zip(1..).filter(|(_, number)| line.is_none_or(|line| line == *number));
        let blamed = |(text, number): (&str, usize)| BlamedLine {
            number,
            original: number,
            text: text.to_owned(),
            commit: None,
            committed: None,
            name: name.to_owned(),
            previous: None,
        };
        Ok(lines.map(blamed).collect())
    }

    /// All names of the file, below the root.
    pub(super) fn names(&self, file: &Path, lines: &[BlamedLine]) -> FileNames {
        let mut names: BTreeSet<String> = lines.iter().map(|line| line.name.clone()).collect();
        names.extend(lines.iter().filter_map(|line| line.previous.as_ref()).map(|(_, name)| name.clone()));
        names.extend(self.name_of(file).ok().map(str::to_owned));
        let mut roots = vec![self.root.clone()];
        // Other worktrees of the repository have the same files.
        let listed = run(&self.root, &["worktree", "list", "--porcelain"]).unwrap_or_default();
        roots.extend(listed.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from));
        FileNames { roots, names }
    }

    /// The file as a commit has it.
    pub(super) fn text(&self, commit: &str, name: &str) -> anyhow::Result<String> {
        run(&self.root, &["cat-file", "blob", &format!("{commit}:{name}")])
    }

    /// The file in the commits to it before the one of a line, the newest first.
    pub(super) fn history(&self, line: &BlamedLine, count: usize) -> anyhow::Result<Vec<OlderText>> {
        let most = format!("-{count}");
        let Some((from, name)) = &line.previous else { return Ok(Vec::new()) };
        let arguments = ["log", "--follow", "--format=%H %ct", "--name-only", &most, from, "--", name];
        let output = run(&self.root, &arguments)?;
        let mut history = Vec::new();
        let mut commit: Option<(&str, i64)> = None;
        for text in output.lines().filter(|text| !text.is_empty()) {
            match commit {
                Some((hash, seconds)) => {
                    // The commit that deleted the file has no text of it.
                    let older = self.text(hash, text).unwrap_or_default();
                    let committed = Timestamp::from_millis(seconds.saturating_mul(1_000));
                    history.push(OlderText { committed, text: older });
                    commit = None;
                }
                None => {
                    commit = text
                        .split_once(' ')
                        .and_then(|(hash, seconds)| Some((hash, seconds.trim().parse().ok()?)));
                }
            }
        }
        Ok(history)
    }
}

/// The names that a file has or had, and the folders that they may be below.
pub(super) struct FileNames {
    pub(super) roots: Vec<PathBuf>,
    pub(super) names: BTreeSet<String>,
}

impl FileNames {
    /// True for a path that means the file.
    pub(super) fn contains(&self, path: &Path) -> bool {
        match self.roots.iter().find_map(|root| path.strip_prefix(root).ok()) {
            Some(name) => name.to_str().is_some_and(|name| self.names.contains(name)),
            // In a worktree that is gone.
            None => self.names.iter().any(|name| path.ends_with(name)),
        }
    }
}

fn parse_blame(output: &str) -> Vec<BlamedLine> {
    let mut lines = Vec::new();
    let mut line: Option<BlamedLine> = None;
    for text in output.split('\n') {
        if let Some(content) = text.strip_prefix('\t') {
            if let Some(mut line) = line.take() {
                line.text = content.to_owned();
                lines.push(line);
            }
        } else if let Some(line) = &mut line {
            if let Some(name) = text.strip_prefix("filename ") {
                line.name = name.to_owned();
            } else if let Some(previous) = text.strip_prefix("previous ") {
                line.previous = previous.split_once(' ').map(|(commit, name)| (commit.into(), name.into()));
            } else if let Some(seconds) = text.strip_prefix("committer-time ")
                && line.commit.is_some()
            {
                line.committed =
                    seconds.parse::<i64>().ok().map(|at| Timestamp::from_millis(at.saturating_mul(1_000)));
            }
        } else {
            let mut fields = text.split(' ');
            let commit = fields.next().unwrap_or_default();
            let mut number = || fields.next().and_then(|number| number.parse().ok());
            if let (Some(original), Some(number)) = (number(), number()) {
                let is_committed = commit.bytes().any(|byte| byte != b'0');
                line = Some(BlamedLine {
                    number,
                    original,
                    text: String::new(),
                    commit: is_committed.then(|| commit.to_owned()),
                    committed: None,
                    name: String::new(),
                    previous: None,
                });
            }
        }
    }
    lines
}

fn run(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    for setting in [
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "core.quotePath=false",
        "log.showSignature=false",
    ] {
        git.args(["-c", setting]);
    }
    git.args(arguments).current_dir(folder).stdin(Stdio::null());
    git.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").env("GIT_PAGER", "cat");
    let output = git.output().context("could not run git")?;
    if !output.status.success() {
        bail!("git failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
