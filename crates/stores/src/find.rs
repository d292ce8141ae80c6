//! Finds the sessions of all agents.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;

use crate::agent::Agent;
use crate::db;
use crate::head::Head;
use crate::index::Index;
use crate::marks;
use crate::notice::Notice;
use crate::peek::peek;
use crate::places::{PlaceKind, Places};
use crate::walk::{FoundFile, files_of};

/// A session that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSession {
    /// The agent whose it is.
    pub agent: Agent,
    /// Its file; for one in a database the database's path, `#` and its id.
    pub path: PathBuf,
    /// The size of its file; none in a database.
    pub size: Option<u64>,
    /// The time when it was last written.
    pub modified: Timestamp,
    /// What is shown of it.
    pub head: Head,
    /// The conversations of its sub-agents, one a file.
    pub children: Vec<PathBuf>,
}

/// The sessions that were found, the one used last first, and what could not be read.
#[derive(Debug, Default)]
pub struct FoundSessions {
    /// The sessions.
    pub sessions: Vec<FoundSession>,
    /// What was left out.
    pub notices: Vec<Notice>,
}

impl FoundSession {
    /// The time when it was last used.
    pub fn used(&self) -> Timestamp {
        self.head.updated.unwrap_or(self.modified)
    }

    /// True if it is about a project. `repository_of` leads from a folder to the one that stands for its repository, as
    /// [`longhaul_workspace::main_worktree`] does, and may remember its answers.
    pub fn is_about(&self, project: &Path, repository_of: &mut impl FnMut(&Path) -> PathBuf) -> bool {
        match &self.head.directory {
            Some(directory) => repository_of(Path::new(directory)) == project,
            None => self.agent == Agent::Cursor && marks::is_cursor_folder(&self.path, project),
        }
    }
}

/// For fewer sessions no folder is made for an index.
const WORTH_AN_INDEX: usize = 50;

/// Finds all sessions. Nothing but the index is written, and that only if something changed; without an index everything is
/// read afresh.
pub fn find_sessions(places: &Places, index_file: Option<&Path>) -> FoundSessions {
    let walk = || -> (Vec<FoundFile>, Vec<Notice>) {
        let mut notices = Vec::new();
        (places.places.iter().flat_map(|place| files_of(place, &mut notices)).collect(), notices)
    };
    // Both take tens of milliseconds where there are many thousand sessions, and a person waits. What allocates most stays on this
    // thread: glibc gives the others their memory page by page, with a call of the system for each.
    let ((mut files, mut notices), mut index) = std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().spawn_scoped(scope, walk);
        let index = index_file.map(Index::load).unwrap_or_default();
        (
            beside.map_or_else(|_| walk(), |walk| walk.join().unwrap_or_else(|panic| resume_unwind(panic))),
            index,
        )
    });
    let mut children = children_of(&mut files);
    let mut has_news = false;
    let mut read: Vec<(FoundFile, Vec<Head>)> = Vec::with_capacity(files.len());
    for file in files {
        let heads = match index.take(&file.path, file.stamp) {
            Some(heads) => heads,
            None => match heads_of(&file) {
                Ok(heads) => {
                    has_news = true;
                    heads
                }
                Err(error) => {
                    notices.push(Notice::new(file.agent, &file.path, error));
                    continue;
                }
            },
        };
        read.push((file, heads));
    }
    let is_worth_it = |path: &&Path| read.len() >= WORTH_AN_INDEX || path.parent().is_some_and(Path::is_dir);
    if let Some(path) = index_file.filter(is_worth_it).filter(|_| has_news || index.has_rest()) {
        // Without it the next list takes longer, and that is all.
        let stored = read.iter().map(|(file, heads)| (&*file.path, file.stamp, &heads[..]));
        Index::save(path, stored).ok();
    }
    let mut sessions: Vec<FoundSession> =
        read.into_iter().flat_map(|(file, heads)| sessions_of(&file, heads, &mut children)).collect();
    sessions.sort_by(|one, other| other.used().cmp(&one.used()).then_with(|| one.path.cmp(&other.path)));
    FoundSessions { sessions, notices }
}

/// Takes out the files of sub-agents, by the folder and the name of the session that they belong to.
fn children_of(files: &mut Vec<FoundFile>) -> HashMap<PathBuf, Vec<PathBuf>> {
    let mut children: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
    files.retain(|file| {
        let session = file.path.ancestors().nth(2).filter(|_| file.kind == PlaceKind::Children);
        if let Some(session) = session {
            children.entry(session.to_path_buf()).or_default().push(file.path.clone());
        }
        file.kind != PlaceKind::Children
    });
    children.values_mut().for_each(|files| files.sort());
    children
}

fn heads_of(file: &FoundFile) -> Result<Vec<Head>, crate::StoreReadError> {
    match file.kind {
        PlaceKind::Database => {
            let mut heads = db::list(file.agent, &file.path)?;
            for head in &mut heads {
                head.title = head.title.take().map(|title| longhaul_redact::redact(&title).text.into_owned());
            }
            Ok(heads)
        }
        _ => Ok(peek(file.agent, &file.path, file.stamp.size)?.into_iter().collect()),
    }
}

fn sessions_of(
    file: &FoundFile,
    heads: Vec<Head>,
    children: &mut HashMap<PathBuf, Vec<PathBuf>>,
) -> Vec<FoundSession> {
    let is_database = file.kind == PlaceKind::Database;
    let modified = Timestamp::from_millis(file.stamp.modified);
    // Sub-agents of a database are sessions with a parent.
    let (own, subs): (Vec<Head>, Vec<Head>) = heads.into_iter().partition(|head| head.parent.is_none());
    let session = |mut head: Head| {
        let (path, children) = if is_database {
            let of_this = subs.iter().filter(|sub| sub.parent.as_deref() == Some(&head.id));
            // A session changes with those of its sub-agents.
            let versions: Vec<u64> =
                head.version.into_iter().chain(of_this.clone().filter_map(|sub| sub.version)).collect();
            head.version = head.version.map(|_| db::version_of(&format!("{versions:?}")));
            let children = of_this.map(|sub| db::path_of_session(&file.path, &sub.id)).collect();
            (db::path_of_session(&file.path, &head.id), children)
        } else {
            (file.path.clone(), children.remove(&file.path.with_extension("")).unwrap_or_default())
        };
        FoundSession {
            agent: head.agent.unwrap_or(file.agent),
            path,
            size: (!is_database).then_some(file.stamp.size),
            modified: if is_database { head.updated.unwrap_or(modified) } else { modified },
            head,
            children,
        }
    };
    own.into_iter().map(session).collect()
}
