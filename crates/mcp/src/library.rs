//! The sessions that calls are about: those that the common discovery finds, and those that only the archive still has.

use std::path::{Path, PathBuf};

use longhaul_app::found::{self, Reach, resume_command};
use longhaul_app::recall::RecallSource;
use longhaul_app::{archive, sessions};
use longhaul_archive::ArchivedSession;
use longhaul_conversation::{Message, Origin, Timestamp};
use longhaul_formats::{Event, SessionInfo, read};
use longhaul_sessions::title_from;
use longhaul_stores::{Agent, FoundSession, Head};
use longhaul_workspace::main_worktree;

/// The shortest id that is shown.
const SHORTEST_ID: usize = 8;

/// The size that a session in a database is taken to have.
const DATABASE_SESSION: u64 = 1 << 20;

/// A session on disk, or in the archive.
#[derive(Clone, Debug)]
pub(crate) struct KnownSession {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    /// True if it is about the current folder's repository.
    pub(crate) is_here: bool,
    found: FoundSession,
    /// Its copy, where its agent has deleted it.
    archived: Option<ArchivedSession>,
}

/// The sessions that were found, the one used last first.
#[derive(Debug, Default)]
pub(crate) struct Library {
    sessions: Vec<KnownSession>,
}

/// The words that `agent` arguments take.
pub(crate) fn agent_words() -> Vec<&'static str> {
    Agent::ALL.iter().map(|agent| agent.as_str()).collect()
}

impl KnownSession {
    fn of(found: FoundSession, is_here: bool) -> Self {
        Self { agent: found.agent, id: found.head.id.clone(), is_here, found, archived: None }
    }

    /// A session that only the archive has.
    fn archived(session: &ArchivedSession, is_here: bool) -> Option<Self> {
        let source = &session.source;
        let used = Timestamp::from_millis(session.changed_at());
        let head = Head {
            id: source.session.clone(),
            directory: source.project.clone(),
            updated: Some(used),
            ..Head::default()
        };
        let found = FoundSession {
            agent: Agent::from_word(&source.agent)?,
            path: source.path.clone(),
            size: Some(session.bytes()),
            modified: used,
            head,
            children: Vec::new(),
        };
        Some(Self { archived: Some(session.clone()), ..Self::of(found, is_here) })
    }

    /// The time when it was last used.
    pub(crate) fn used(&self) -> Timestamp {
        self.found.used()
    }

    /// Its size in bytes, as far as that is known without reading it.
    pub(crate) fn size(&self) -> u64 {
        self.found.size.unwrap_or(DATABASE_SESSION)
    }

    /// Its title, or the beginning of the first request.
    pub(crate) fn title(&self) -> String {
        if self.archived.is_none() {
            return self.found.head.title.clone().unwrap_or_default();
        }
        let mut first = None;
        let info = self.each_message(&mut |message| {
            if first.is_none() {
                let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
                let mut texts = typed.filter_map(|part| part.as_text()).map(str::trim);
                first = texts.find(|text| !text.is_empty()).map(str::to_string);
            }
        });
        let title = info.ok().and_then(|info| info.title).or(first);
        title.map(|title| title_from(&title)).unwrap_or_default()
    }

    /// The command that continues it, unless its agent has deleted it.
    pub(crate) fn resume(&self) -> Option<String> {
        let resume = || resume_command(self.agent, &self.id, &self.found.path);
        self.archived.is_none().then(resume)
    }

    /// The file as its agent has it, or had it.
    pub(crate) fn path(&self) -> &Path {
        &self.found.path
    }

    /// The file to read.
    fn readable(&self) -> anyhow::Result<PathBuf> {
        match (&self.archived, archive::find()?) {
            (Some(session), Some(archive)) => archive::session_file(&archive, session),
            _ => Ok(self.found.path.clone()),
        }
    }

    /// The part of it that recall reads.
    pub(crate) fn recall_sources(&self) -> Vec<RecallSource> {
        match &self.archived {
            None => RecallSource::all_of(&self.found),
            Some(_) => {
                let path = self.readable().unwrap_or_else(|_| self.found.path.clone());
                vec![RecallSource { session: self.id.clone(), path, version: None }]
            }
        }
    }

    /// Reads everything that was ever said in it, each thing once.
    pub(crate) fn each_message(&self, sink: &mut dyn FnMut(&Message)) -> Result<SessionInfo, String> {
        let mut seen = sessions::SeenParts::default();
        self.each_event(&mut |event| {
            if let Event::Change(change) = event
                && let Some(message) = seen.new_parts(&change)
            {
                sink(&message);
            }
        })
    }

    /// Reads it as it was recorded.
    pub(crate) fn each_event(&self, sink: &mut dyn FnMut(Event)) -> Result<SessionInfo, String> {
        let opened = self.readable().and_then(|path| sessions::open(&path));
        let read = opened.and_then(|file| Ok(read(file, sink)?));
        read.map_err(|error| format!("could not read session {}: {error:#}", self.id))
    }
}

impl Library {
    /// Lists what is there. What cannot be read is left out.
    pub(crate) fn load(reach: Reach, folder: &Path) -> Self {
        let mut is_here = found::is_here();
        let found = found::find(Reach::Everything).sessions.into_iter().map(|session| {
            let is_here = is_here(&session);
            KnownSession::of(session, is_here)
        });
        let mut sessions: Vec<KnownSession> = found.chain(only_archived(folder)).collect();
        sessions.retain(|session| session.is_here || reach == Reach::Everything);
        sessions.sort_by(|a, b| b.used().cmp(&a.used()).then_with(|| a.id.cmp(&b.id)));
        Self { sessions }
    }

    pub(crate) fn sessions(&self) -> &[KnownSession] {
        &self.sessions
    }

    /// The session that an id, or its beginning, means.
    pub(crate) fn find(&self, id: &str) -> Result<&KnownSession, String> {
        const SHORTEST: usize = 4;
        if let Some(exact) = self.sessions.iter().find(|session| session.id == id) {
            return Ok(exact);
        }
        let mut alike =
            self.sessions.iter().filter(|session| id.len() >= SHORTEST && session.id.starts_with(id));
        match (alike.next(), alike.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(format!("several sessions begin with {id}: use more of the id")),
            (None, _) => Err(format!("no session has the id {id}: call sessions to list them")),
        }
    }

    /// The shortest beginning of its id, of at least eight characters, that no other session has.
    pub(crate) fn short_id<'s>(&self, session: &'s KnownSession) -> &'s str {
        let others = || self.sessions.iter().filter(|other| other.id != session.id);
        let ends = (SHORTEST_ID..session.id.len()).filter(|end| session.id.is_char_boundary(*end));
        let mut short = ends.map(|end| &session.id[..end]);
        short.find(|short| !others().any(|other| other.id.starts_with(short))).unwrap_or(&session.id)
    }
}

/// The sessions that their agents have deleted and the archive has. An archive that cannot be opened has none.
fn only_archived(folder: &Path) -> Vec<KnownSession> {
    let Ok(Some(archive)) = archive::find() else { return Vec::new() };
    let here = main_worktree(folder);
    let known = |session: &ArchivedSession| {
        let project = session.source.project.as_deref().map(Path::new);
        KnownSession::archived(session, project.is_some_and(|project| main_worktree(project) == here))
    };
    archive.sessions().into_iter().filter(|session| session.is_deleted()).filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_as_short_as_it_can_be_told() {
        let session = |id: &str| {
            let found = FoundSession {
                agent: Agent::Codex,
                path: PathBuf::new(),
                size: None,
                modified: Timestamp::from_millis(0),
                head: Head { id: id.into(), ..Head::default() },
                children: Vec::new(),
            };
            KnownSession::of(found, true)
        };
        let library = Library {
            sessions: vec![
                session("0123456789ab"),
                session("0123456788ab"),
                session("ffff"),
                session("éééééééé1"),
            ],
        };
        let short: Vec<&str> = library.sessions().iter().map(|session| library.short_id(session)).collect();
        assert_eq!(short, ["0123456789", "0123456788", "ffff", "éééé"]);
        assert_eq!(library.find("0123456789").expect("one").id, "0123456789ab");
        assert!(library.find("01234567").unwrap_err().contains("several"));
        assert!(library.find("012").unwrap_err().contains("no session"));
        assert_eq!(library.find("ffff").expect("one").id, "ffff");
    }
}
