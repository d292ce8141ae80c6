//! The archive of this home, and the session files of agents on this machine that go into it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_archive::{Archive, ArchivedSession, Source};
use longhaul_stores::Agent;

use crate::environment;
use crate::failure::hinted;
use crate::found::{self, Reach};

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

/// The session files that are archived: Longhaul's own of all projects, and those that other agents keep as files. Sessions in
/// databases are not among them.
pub fn sources() -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let own = environment::home(&environment::of_process())?.map(|home| home.tmp());
    if let Some(own) = &own {
        collect(&mut sources, "longhaul", own, &["jsonl", "json"], is_chat);
    }
    let is_file = |path: &Path| path.is_file() && own.as_ref().is_none_or(|own| !path.starts_with(own));
    for session in found::find(Reach::Everything).sessions {
        let (agent, project) = (session.agent.as_str(), session.head.directory);
        let children = session.children.into_iter().map(|path| (name_of(agent, &path), path));
        let all = std::iter::once((session.head.id, session.path)).chain(children);
        sources.extend(all.filter(|(_, path)| is_file(path)).map(|(session, path)| Source {
            agent: agent.to_string(),
            session,
            project: project.clone(),
            path,
        }));
    }
    Ok(sources)
}

/// The source for one session's file of an agent.
pub fn source_of(agent: Agent, path: &Path, project: Option<String>) -> Source {
    Source {
        agent: agent.as_str().into(),
        session: name_of(agent.as_str(), path),
        project,
        path: path.into(),
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
                });
            }
        }
    }
}

/// The name of a session, by its file; those of agents end in their ids.
fn name_of(agent: &str, path: &Path) -> String {
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
        agent @ (Agent::Claude | Agent::Codex | Agent::Longhaul) => {
            Some(found::resume_command(agent, &source.session, &source.path))
        }
        _ => None,
    }
}

/// The file to read for an archived session: the agent's own, or a copy where that is gone.
pub fn session_file(archive: &Archive, session: &ArchivedSession) -> anyhow::Result<PathBuf> {
    if session.source.path.is_file() {
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
        let source = Source { agent: agent.into(), session: name_of(agent, &path), project: None, path };
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
