//! The sessions of all agents on this machine, where those agents keep them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_sessions::ListedSession;
use longhaul_stores::{Agent, FoundSession, Head, Notice, Places, Platform, find_sessions};
use longhaul_workspace::{Home, main_worktree};

use crate::environment;
use crate::failure::hinted;
use crate::project::{LATEST, Project};

/// What stands on the command line for a session that was not named: no file has such a name.
pub const UNNAMED: &str = "<latest>";

/// Which sessions are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of the current folder's repository, in all its worktrees, or of the folder alone.
    Project,
    /// Those of every project.
    Everything,
}

/// Sessions that were found, the one used last first.
#[derive(Debug, Default)]
pub struct Found {
    /// The sessions.
    pub sessions: Vec<FoundSession>,
    /// What could not be read and was left out.
    pub notices: Vec<Notice>,
}

/// Finds sessions. Only the index in our own home is written.
pub fn find(reach: Reach) -> Found {
    let user = environment::of_process();
    let places = places();
    let index = Home::resolve(&user).ok().map(|home| home.found_sessions());
    let found = find_sessions(&places, index.as_deref());
    let mut sessions = found.sessions;
    if reach == Reach::Project {
        sessions.retain(is_here());
    }
    Found { sessions, notices: found.notices }
}

/// The places where agents keep sessions on this machine.
pub(crate) fn places() -> Places {
    let user = environment::of_process();
    Places::new(platform(), user.user_home.as_deref(), |name| std::env::var_os(name))
}

/// Tells which sessions are about the current folder's repository.
pub fn is_here() -> impl FnMut(&FoundSession) -> bool {
    let here = main_worktree(&environment::current_folder());
    let mut known: HashMap<PathBuf, PathBuf> = HashMap::new();
    move |session| {
        let mut repository_of = |folder: &Path| match known.get(folder) {
            Some(repository) => repository.clone(),
            None => {
                let repository = main_worktree(folder);
                known.insert(folder.to_path_buf(), repository.clone());
                repository
            }
        };
        session.is_about(&here, &mut repository_of)
    }
}

/// The sessions of the project that are not among its own: those of other agents, and of other worktrees.
pub fn others(own: Option<&Project>) -> Found {
    let mut found = find(Reach::Project);
    if let Some(own) = own {
        let chats = own.store().chats().to_path_buf();
        let chats = chats.canonicalize().unwrap_or(chats);
        found.sessions.retain(|session| {
            let folder = session.path.parent().map(|folder| folder.canonicalize().unwrap_or(folder.into()));
            folder.as_deref() != Some(&*chats)
        });
    }
    found
}

/// The sessions of this project, by whatever agent, the one used last first.
///
/// # Errors
/// There is none.
pub fn recent() -> anyhow::Result<Vec<FoundSession>> {
    let project = Project::find()?;
    let mut sessions = own(project.as_ref())?;
    sessions.extend(others(project.as_ref()).sessions);
    sessions.sort_by_key(|session| std::cmp::Reverse(session.used()));
    match sessions.is_empty() {
        false => Ok(sessions),
        true => Err(hinted(
            anyhow!("no sessions of this folder were found"),
            "pass a session file, or list those of other folders with `longhaul sessions list --all`",
        )),
    }
}

/// Our own sessions and Gemini CLI's.
fn own(project: Option<&Project>) -> anyhow::Result<Vec<FoundSession>> {
    let Some(project) = project else { return Ok(Vec::new()) };
    let listing = project.store().list().context("could not list the sessions")?;
    let session = |session: &ListedSession| FoundSession {
        agent: Agent::Longhaul,
        path: session.path.clone(),
        size: Some(session.size),
        modified: session.updated,
        head: Head {
            id: session.id().to_string(),
            title: Some(session.display_name()),
            updated: Some(session.updated),
            ..Head::default()
        },
        children: Vec::new(),
    };
    Ok(listing.sessions.iter().map(session).collect())
}

/// The file of a session that is not our own, by its number in `sessions list`, of which the first `own` are ours, or by the
/// beginning of its id.
pub(crate) fn by_name(name: &str, own: Option<&Project>, count: usize) -> anyhow::Result<Option<PathBuf>> {
    if name == LATEST {
        return Ok(find(Reach::Project).sessions.into_iter().next().map(|session| session.path));
    }
    if let Ok(number) = name.parse::<usize>()
        && name.len() < SHORTEST_ID
    {
        let place = number.checked_sub(count + 1);
        let mut sessions = others(own).sessions;
        let found = place.filter(|place| *place < sessions.len());
        return Ok(found.map(|place| sessions.swap_remove(place).path));
    }
    if name.len() < SHORTEST_ID {
        return Ok(None);
    }
    let all = find(Reach::Everything).sessions;
    // Ids of some agents begin with a word and `_`; a list shows what follows it.
    let is_named =
        |id: &str| id.starts_with(name) || id.rsplit('_').next().is_some_and(|id| id.starts_with(name));
    let alike: Vec<&FoundSession> = all.iter().filter(|session| is_named(&session.head.id)).collect();
    let exact = alike.iter().find(|session| session.head.id == name);
    match (exact, &alike[..]) {
        (Some(session), _) | (None, [session]) => Ok(Some(session.path.clone())),
        (None, []) => Ok(None),
        (None, [..]) => Err(hinted(
            anyhow!("{} sessions have an id that starts with {name}", alike.len()),
            "use more of the id",
        )),
    }
}

/// The command that continues a session: in its own agent where that can be told by id, else in a copy of our own.
pub fn resume_command(agent: Agent, id: &str, file: &Path) -> String {
    match agent {
        Agent::Claude => format!("claude --resume {id}"),
        Agent::Codex => format!("codex resume {id}"),
        Agent::Gemini => format!("gemini --resume {id}"),
        Agent::Opencode => format!("opencode -s {id}"),
        _ => format!("longhaul --resume {}", quoted(&file.display().to_string())),
    }
}

/// A path as one word of a command line.
pub(crate) fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=@%:,~#\\".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// So many characters of an id name a session.
const SHORTEST_ID: usize = 6;

fn platform() -> Platform {
    if cfg!(target_os = "macos") {
        Platform::MacOs
    } else if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Linux
    }
}
