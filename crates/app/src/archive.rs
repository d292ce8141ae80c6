//! The archive of this home, and the session files of agents on this machine that go into it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_archive::{
    Archive, ArchiveError, ArchivedSession, DocumentSource, SkippedSource, Source, SyncOptions, SyncReport,
};
use longhaul_conversation::Timestamp;
use longhaul_stores::{
    Agent, FoundSession, Notice, Retention, StoreReadError, read_session_document, split_session_path,
};
use longhaul_workspace::LockTimeout;

use crate::clock;
use crate::environment;
use crate::failure::hinted;
use crate::found::{self, Reach};
use crate::settings::Settings;

/// The depth to which folders of sessions are searched.
const MAX_DEPTH: usize = 6;

/// The folder of the archive; none without a home.
pub fn folder() -> anyhow::Result<Option<PathBuf>> {
    let home = environment::home(&environment::of_process())?;
    Ok(home.map(|home| home.root().join("archive")))
}

/// The archive, made if needed.
pub fn open() -> anyhow::Result<Archive> {
    let folder = folder()?.ok_or_else(|| {
        hinted(
            anyhow!("there is no home folder for the archive"),
            "set HOME, or LONGHAUL_HOME to a folder of its own",
        )
    })?;
    Archive::open(&folder).context("could not open the archive")
}

/// The archive, if there is one.
pub fn find() -> anyhow::Result<Option<Archive>> {
    match folder()? {
        Some(folder) if Archive::exists(&folder) => {
            Archive::open(&folder).context("could not open the archive").map(Some)
        }
        _ => Ok(None),
    }
}

/// The sessions that can be archived.
#[derive(Debug, Default)]
pub struct ArchiveSources {
    /// The sessions, sub-agents' included.
    pub sources: Vec<Source>,
    /// The databases of which all sessions are among them.
    pub databases: Vec<PathBuf>,
    /// The sources that could not be read.
    pub notices: Vec<Notice>,
}

/// The sessions that are archived: Longhaul's own of all projects, and those that other agents keep, in files or databases.
pub fn sources() -> anyhow::Result<ArchiveSources> {
    let mut found_sources = ArchiveSources::default();
    let own = environment::home(&environment::of_process())?.map(|home| home.tmp());
    let sources = &mut found_sources.sources;
    if let Some(own) = &own {
        collect(sources, "longhaul", own, &["jsonl", "json"], is_chat);
    }
    let found = found::find(Reach::Everything);
    for session in found.sessions {
        let (version, used) = (session.head.version, session.used());
        let (agent, project) = (session.agent.as_str(), session.head.directory);
        let children = session.children.into_iter().map(|path| (name_of(agent, &path), path));
        for (session, path) in std::iter::once((session.head.id, session.path)).chain(children) {
            let document = match document_of(version, &path, used) {
                Some(document) => {
                    if !found_sources.databases.contains(&document.database) {
                        found_sources.databases.push(document.database.clone());
                    }
                    Some(document)
                }
                _ if path.is_file() && own.as_ref().is_none_or(|own| !path.starts_with(own)) => None,
                _ => continue,
            };
            let (agent, project) = (agent.to_string(), project.clone());
            sources.push(Source { agent, session, project, path, document });
        }
    }
    found_sources.notices = found.notices;
    Ok(found_sources)
}

/// The database of a session, if it lies in one, which gives it a version.
fn document_of(version: Option<u64>, path: &Path, used: Timestamp) -> Option<DocumentSource> {
    let version = version?;
    let (database, _) = split_session_path(path)?;
    Some(DocumentSource { database, version, changed: used.as_millis() })
}

/// A session that was found, as the archive knows it.
pub fn source_of(session: &FoundSession) -> Source {
    Source {
        agent: session.agent.as_str().into(),
        session: session.head.id.clone(),
        project: session.head.directory.clone(),
        path: session.path.clone(),
        document: document_of(session.head.version, &session.path, session.used()),
    }
}

/// The sessions that their agents will soon delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeavingSessions {
    /// Those that go within a week.
    pub sessions: usize,
    /// Those of them that are not copied as they are now.
    pub not_copied: usize,
}

/// The sessions that their agents delete within a week.
///
/// # Errors
/// The archive cannot be read.
pub fn leaving(archive: &Archive) -> anyhow::Result<LeavingSessions> {
    const WEEK: i64 = 7;
    let (mut retention, now) = (Retention::default(), clock::now());
    let found = found::find(Reach::Everything).sessions.into_iter();
    let sources: Vec<Source> = found
        .filter(|session| retention.days_left(session, now).is_some_and(|days| days < WEEK))
        .map(|session| source_of(&session))
        .collect();
    let current = archive.current(&sources).context("could not read the archive")?;
    let not_copied = current.iter().filter(|copy| copy.is_none()).count();
    Ok(LeavingSessions { sessions: sources.len(), not_copied })
}

/// Copies what is new, of everything that `is_wanted`. What agents keep and could not be read is among what was skipped.
///
/// # Errors
/// There is no home folder.
pub fn sync(
    archive: &mut Archive,
    settings: &Settings,
    is_wanted: impl Fn(&Source) -> bool,
) -> anyhow::Result<Result<SyncReport, ArchiveError>> {
    let ArchiveSources { mut sources, mut databases, notices } = sources()?;
    // One that was read and has no session left is not among those of sessions.
    for session in archive.sessions() {
        if let Some(DocumentSource { database, .. }) = &session.source.document
            && !databases.contains(database)
            && notices.iter().all(|notice| notice.path != *database)
            && database.is_file()
        {
            databases.push(database.clone());
        }
    }
    let count = sources.len();
    sources.retain(is_wanted);
    if sources.len() < count {
        // What was not asked for is not gone.
        databases.clear();
    }
    Ok(archive.sync(&sources, &sync_options(settings, databases)).map(|mut report| {
        report.skipped.extend(notices.into_iter().map(|notice| {
            let cause = std::io::Error::other(notice.error);
            SkippedSource { path: notice.path, cause }
        }));
        report
    }))
}

/// A session of a database as the document that its agent would export.
fn read_document(source: &Source) -> std::io::Result<Vec<u8>> {
    let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let (database, id) = split_session_path(&source.path).ok_or_else(gone)?;
    read_session_document(&database, &id).map_err(|error| match error {
        // The one fault that all its sessions share.
        StoreReadError::Locked => std::io::Error::new(std::io::ErrorKind::WouldBlock, error),
        StoreReadError::Io(cause) => cause,
        other => std::io::Error::other(other),
    })
}

/// Copies what is new of one session's file.
///
/// # Errors
/// As for any sync.
pub fn sync_file(
    archive: &mut Archive,
    settings: &Settings,
    agent: Agent,
    path: &Path,
    project: Option<String>,
) -> Result<SyncReport, ArchiveError> {
    let session = name_of(agent.as_str(), path);
    let source = Source { agent: agent.as_str().into(), session, project, path: path.into(), document: None };
    archive.sync(&[source], &sync_options(settings, Vec::new()))
}

fn sync_options(settings: &Settings, databases: Vec<PathBuf>) -> SyncOptions {
    SyncOptions {
        redaction: settings.archive_redaction(),
        now: clock::now(),
        timeout: LockTimeout::default(),
        read_document,
        databases,
    }
}

/// True for a file of a project's chats, sub-agents' included.
fn is_chat(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == "chats")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn collect(
    found: &mut Vec<Source>,
    agent: &str,
    folder: &Path,
    endings: &[&str],
    is_session: fn(&Path) -> bool,
) {
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file()
                && path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
                && is_session(&path)
            {
                found.push(Source {
                    agent: agent.into(),
                    session: name_of(agent, &path),
                    project: None,
                    path,
                    document: None,
                });
            }
        }
    }
}

/// The name of a session, by its file; those of agents end in their ids.
fn name_of(agent: &str, path: &Path) -> String {
    let is_in_database = path.to_str().is_some_and(|path| path.contains('#'));
    if let Some((_, id)) = is_in_database.then(|| split_session_path(path)).flatten() {
        return id;
    }
    let stem = stem(path);
    let id = stem.len().checked_sub(36).and_then(|start| stem.get(start..));
    match id.filter(|_| agent == "codex") {
        Some(id) => id.to_owned(),
        None => stem,
    }
}

/// The command that continues a session in its own agent.
pub fn resume_command(source: &Source) -> Option<String> {
    // A sub-agent has no conversation of its own to go on with.
    if source.path.components().any(|component| component.as_os_str() == "subagents") {
        return None;
    }
    match Agent::from_word(&source.agent)? {
        // Gemini CLI resumes by a number that only its own list gives; its files go on in a copy of ours.
        Agent::Gemini => None,
        agent => Some(found::resume_command(agent, &source.session, &source.path)),
    }
}

/// The file to read for an archived session: the agent's own, or a copy where that is gone.
pub fn session_file(archive: &Archive, session: &ArchivedSession) -> anyhow::Result<PathBuf> {
    let is_in_database = || !session.is_deleted() && split_session_path(&session.source.path).is_some();
    if session.source.path.is_file() || is_in_database() {
        return Ok(session.source.path.clone());
    }
    archive.restore(session).context("could not restore the archived session")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agent: &str, path: &str, name: &str, resume: Option<&str>) {
        let path = PathBuf::from(path);
        let source = Source {
            agent: agent.into(),
            session: name_of(agent, &path),
            project: None,
            path,
            document: None,
        };
        assert_eq!(source.session, name);
        assert_eq!(resume_command(&source).as_deref(), resume);
    }

    #[test]
    fn sessions_are_named_as_their_agents_name_them() {
        let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        let rollout = format!("/h/.codex/sessions/2026/08/04/rollout-2026-08-04T10-00-00-{id}.jsonl");
        check("codex", &rollout, id, Some(&format!("codex resume {id}")));
        check(
            "claude",
            &format!("/h/.claude/projects/-a/{id}.jsonl"),
            id,
            Some(&format!("claude --resume {id}")),
        );
        check("claude", &format!("/h/.claude/projects/-a/{id}/subagents/agent-7.jsonl"), "agent-7", None);
        check("gemini", "/h/.gemini/tmp/a/chats/session-1.json", "session-1", None);
    }

    #[test]
    fn only_session_files_are_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["a/chats/session-1.jsonl", "a/chats/x/sub.jsonl", "a/logs.json", "a/chats/notes.md"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "{}").expect("written");
        }
        let mut found = Vec::new();
        collect(&mut found, "gemini", folder.path(), &["jsonl", "json"], is_chat);
        let mut names: Vec<String> = found.into_iter().map(|source| source.session).collect();
        names.sort();
        assert_eq!(names, ["session-1", "sub"]);
    }
}
