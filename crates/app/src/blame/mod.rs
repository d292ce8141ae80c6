//! Tells which session, and which request in it, wrote the lines of a file.
//!
//! git says which commit brought a line; the edits that sessions made to the file between that commit and the one before are
//! replayed on the older text. A line that comes out of the replay where the commit has it was written by that edit. What a
//! person typed, a command wrote or a formatter changed does not come out, and stays unknown.

mod edits;
mod git;
mod replay;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_conversation::{Ordinal, Timestamp};
use longhaul_stores::{Agent, Head};
use longhaul_workspace::main_worktree;

use crate::failure::hinted;
use crate::found::{self, Reach};
use crate::project::Project;
use crate::{archive, environment};

use edits::{FileEdit, SessionSource, edits_of};
use git::{BlamedLine, Repository};
use replay::{AttributedText, attribute};

/// The commits to the file before the one that brought a line, from which edits are replayed: what was edited before a commit
/// may have been left out of it.
const COMMITS_BACK: usize = 3;

/// The request that a line was written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBy {
    /// The agent.
    pub agent: Agent,
    /// The session.
    pub session: String,
    /// The number of the user's message.
    pub number: Option<Ordinal>,
    /// The user's message.
    pub request: String,
    /// The time of the edit.
    pub at: Timestamp,
    /// The command that continues the session; none if its agent no longer has it.
    pub resume: Option<String>,
}

/// A line of a file.
#[derive(Clone, Debug)]
pub struct Blame {
    /// Its number, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The commit; none if it is not committed yet.
    pub commit: Option<String>,
    /// The time of the commit.
    pub committed: Option<Timestamp>,
    /// The writer; none if unknown.
    pub by: Option<std::rc::Rc<WrittenBy>>,
}

/// Sessions that could not be read.
pub type Unread = Vec<(PathBuf, anyhow::Error)>;

/// The lines of a file, and what could not be read.
#[derive(Debug, Default)]
pub struct BlameReport {
    /// The lines that were asked for.
    pub lines: Vec<Blame>,
    /// The sessions that edited the file.
    pub sessions: usize,
    /// The sessions that could not be read.
    pub unread: Unread,
}

/// Tells who wrote a file, or one line of it.
///
/// # Errors
/// The file is not in a git repository, git fails, or there is no such line.
pub fn blame(file: &Path, line: Option<usize>) -> anyhow::Result<BlameReport> {
    let file = file.canonicalize().with_context(|| format!("could not open {}", file.display()))?;
    let repository = Repository::of(&file)?;
    let lines = repository.blame(&file, line)?;
    if lines.is_empty()
        && let Some(line) = line
    {
        return Err(hinted(anyhow!("{} has no line {line}", file.display()), "count its lines with `wc -l`"));
    }
    let (sources, mut unread) = sources(&repository)?;
    let names = repository.names(&file, &lines);
    let mut edits: Vec<FileEdit> = Vec::new();
    let mut sessions = 0;
    for source in &sources {
        match edits_of(source, &names) {
            Ok(found) => {
                sessions += usize::from(!found.is_empty());
                edits.extend(found);
            }
            Err(error) => unread.push((source.path.clone(), error)),
        }
    }
    // A copy and its origin, or a session and one that continues it, hold the same edits.
    edits.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    edits.dedup_by(|a, b| a.at == b.at && a.id == b.id);
    let mut known: HashMap<(Option<String>, String), AttributedText> = HashMap::new();
    let mut report = Vec::new();
    for line in lines {
        let key = (line.commit.clone(), line.name.clone());
        if !known.contains_key(&key) {
            let text = attribute_commit(&repository, &file, &line, &edits)?;
            known.insert(key.clone(), text);
        }
        let by = known[&key].author(line.original, &line.text).map(|edit| edits[edit].by.clone());
        report.push(Blame {
            line: line.number,
            text: line.text,
            commit: line.commit,
            committed: line.committed,
            by,
        });
    }
    Ok(BlameReport { lines: report, sessions, unread })
}

/// Attributes the lines that a commit brought, or those that are not committed.
fn attribute_commit(
    repository: &Repository,
    file: &Path,
    line: &BlamedLine,
    edits: &[FileEdit],
) -> anyhow::Result<AttributedText> {
    let after = match &line.commit {
        Some(commit) => repository.text(commit, &line.name)?,
        None => std::fs::read(file).map(|text| String::from_utf8_lossy(&text).into_owned())?,
    };
    let history = repository.history(line, COMMITS_BACK)?;
    // git keeps whole seconds.
    let until = line.committed.map_or(i64::MAX, |at| at.as_millis().saturating_add(999));
    let before = history.first().map(|base| base.text.as_str()).unwrap_or_default();
    let mut best = AttributedText::default();
    // From the commit before, then from older ones, for what was edited earlier and committed later.
    let bases = history.iter().map(|base| (base.text.as_str(), base.committed.as_millis()));
    let from_nothing = std::iter::once(("", i64::MIN)).filter(|_| history.len() < COMMITS_BACK);
    for (text, since) in bases.chain(from_nothing) {
        let is_between = |(_, edit): &(usize, &FileEdit)| {
            let at = edit.at.as_millis();
            since < at && at <= until
        };
        let between: Vec<(usize, &FileEdit)> = edits.iter().enumerate().filter(is_between).collect();
        let found = attribute(text, before, &after, &between);
        best.fill(found);
        if best.is_complete(before, &after) {
            break;
        }
    }
    Ok(best)
}

/// The sessions that may have edited files of a repository: its own of all agents, and those that only the archive still has.
fn sources(repository: &Repository) -> anyhow::Result<(Vec<SessionSource>, Unread)> {
    let here = main_worktree(&repository.root);
    let mut sources = Vec::new();
    // Our own sessions say no folder: they lie in that of their project.
    if main_worktree(&environment::current_folder()) == here
        && let Some(project) = Project::find()?
    {
        let listing = project.store().list().context("could not list the sessions")?;
        for session in listing.sessions {
            let (agent, id) = (Agent::Longhaul, session.id().to_string());
            let resume = found::resume_command(agent, &id, &session.path);
            let directory = Some(project.folder.clone());
            sources.push(SessionSource { agent, id, path: session.path, directory, resume: Some(resume) });
        }
    }
    let found = found::find(Reach::Everything);
    let mut repositories: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut repository_of = |folder: &Path| {
        repositories.entry(folder.to_path_buf()).or_insert_with(|| main_worktree(folder)).clone()
    };
    for session in found.sessions.into_iter().filter(|session| session.is_about(&here, &mut repository_of)) {
        let Head { id, directory, .. } = session.head;
        let resume = found::resume_command(session.agent, &id, &session.path);
        for path in std::iter::once(session.path).chain(session.children) {
            if sources.iter().any(|known: &SessionSource| known.path == path) {
                continue;
            }
            sources.push(SessionSource {
                agent: session.agent,
                id: id.clone(),
                path,
                directory: directory.as_deref().map(PathBuf::from),
                resume: Some(resume.clone()),
            });
        }
    }
    let mut unread = Unread::new();
    for notice in found.notices {
        unread.push((notice.path, notice.error.into()));
    }
    let Some(archive) = archive::find()? else { return Ok((sources, unread)) };
    let projects = archive.projects().context("could not read the archive")?;
    for session in archive.sessions().into_iter().filter(|session| session.is_deleted()) {
        let project = projects.get(&session.number()).or(session.source.project.as_ref());
        let Some(project) = project.filter(|project| repository_of(Path::new(project)) == here) else {
            continue;
        };
        let Some(agent) = Agent::from_word(&session.source.agent) else { continue };
        match archive.restore(session) {
            Ok(path) => sources.push(SessionSource {
                agent,
                id: session.source.session.clone(),
                path,
                directory: Some(PathBuf::from(project)),
                resume: None,
            }),
            Err(error) => unread.push((session.source.path.clone(), error.into())),
        }
    }
    Ok((sources, unread))
}
