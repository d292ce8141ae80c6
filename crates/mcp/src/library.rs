//! The sessions on this machine: where each agent keeps them, and how one is found. No other module knows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use longhaul_app::environment;
use longhaul_app::project::Project;
use longhaul_app::sessions::SeenParts;
use longhaul_conversation::{Change, Message, Timestamp};
use longhaul_formats::{Event, SessionInfo, read};
use longhaul_sessions::{Store, title_from};
use longhaul_workspace::{Projects, canonical_workspace};
use serde_json::Value;

/// The most session files that are looked at, newest first.
const MOST_FILES: usize = 2_000;

/// A title is looked for in so many bytes of a file.
const TITLE_BYTES: u64 = 256 * 1024;

/// The longest first line of a Codex session that is read to learn its folder; it holds the whole system prompt.
const LONGEST_HEAD: u64 = 1 << 20;

/// The shortest id that is shown.
const SHORTEST_ID: usize = 8;

/// The folders in which other agents keep their files.
#[derive(Clone, Debug, Default)]
pub struct AgentFolders {
    /// Claude Code's: `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's: `~/.codex`.
    pub codex: Option<PathBuf>,
}

/// An agent whose sessions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Longhaul and Gemini CLI, which share their sessions.
    Longhaul,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// The sessions to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of the current folder.
    Project,
    /// All.
    Everywhere,
}

/// A session on disk.
#[derive(Clone, Debug)]
pub(crate) struct KnownSession {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    /// When something was last added.
    pub(crate) updated: Timestamp,
    /// The folder it belongs to, if that is known.
    folder: Option<PathBuf>,
    /// Its title, if its list has one.
    title: Option<String>,
    pub(crate) size: u64,
}

/// The sessions that were found, newest first.
#[derive(Debug, Default)]
pub(crate) struct Library {
    sessions: Vec<KnownSession>,
}

impl Agent {
    /// The names that `agent` arguments take.
    pub(crate) const NAMES: [&'static str; 4] = ["claude", "codex", "gemini", "longhaul"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "gemini" | "longhaul" => Some(Self::Longhaul),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Longhaul => "longhaul",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

impl KnownSession {
    /// Returns true if it belongs to this folder.
    pub(crate) fn is_of(&self, folder: &Path) -> bool {
        self.folder.as_deref() == Some(folder)
    }

    /// Its title: a summary, or the beginning of the first request.
    pub(crate) fn title(&self) -> String {
        if let Some(title) = &self.title {
            return title.clone();
        }
        let Ok(file) = File::open(&self.path) else { return String::new() };
        let mut first = None;
        let mut look = |event| {
            let Event::Change(Change::Put(message)) = event else { return };
            if first.is_none() {
                first = typed_text(&message);
            }
        };
        let info = read(file.take(TITLE_BYTES), &mut look).ok();
        let title = info.and_then(|info| info.title).or(first);
        title.map(|title| title_from(&title)).unwrap_or_default()
    }

    /// The command that resumes it in its own agent.
    pub(crate) fn resume(&self) -> String {
        match self.agent {
            Agent::Longhaul => format!("longhaul --resume {}", self.id),
            Agent::Claude => format!("claude --resume {}", self.id),
            Agent::Codex => format!("codex resume {}", self.id),
        }
    }

    /// Reads everything that was ever said in it, each thing once.
    pub(crate) fn each_message(&self, sink: &mut dyn FnMut(&Message)) -> Result<SessionInfo, String> {
        let mut seen = SeenParts::default();
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
        let failed = |error: &dyn std::fmt::Display| format!("could not read session {}: {error}", self.id);
        let file = File::open(&self.path).map_err(|error| failed(&error))?;
        read(file, sink).map_err(|error| failed(&error))
    }
}

fn typed_text(message: &Message) -> Option<String> {
    let typed = message.parts.iter().filter(|part| part.origin == longhaul_conversation::Origin::User);
    let mut texts = typed.filter_map(|part| part.as_text()).map(str::trim);
    texts.find(|text| !text.is_empty()).map(str::to_string)
}

impl Library {
    /// Lists what is there. An agent whose files cannot be listed has none.
    pub(crate) fn load(folders: &AgentFolders, reach: Reach, folder: &Path) -> Self {
        let mut sessions = own_sessions(reach);
        if let Some(claude) = &folders.claude {
            sessions.extend(claude_sessions(&claude.join("projects"), reach, folder));
        }
        if let Some(codex) = &folders.codex {
            sessions.extend(codex_sessions(&codex.join("sessions"), reach, folder));
        }
        sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.id.cmp(&b.id)));
        sessions.dedup_by(|a, b| a.path == b.path);
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

/// Sessions in our own store.
fn own_sessions(reach: Reach) -> Vec<KnownSession> {
    let listed = |store: &Store, folder: &Path| -> Vec<KnownSession> {
        let listing = store.list().unwrap_or_default();
        let known = listing.sessions.into_iter().map(|session| KnownSession {
            agent: Agent::Longhaul,
            id: session.id().to_string(),
            updated: session.updated,
            folder: Some(folder.to_path_buf()),
            title: Some(session.display_name()),
            size: session.size,
            path: session.path,
        });
        known.collect()
    };
    match reach {
        Reach::Project => match Project::find() {
            Ok(Some(project)) => listed(&project.store(), &project.folder),
            _ => Vec::new(),
        },
        Reach::Everywhere => {
            let home = environment::home(&environment::of_process()).ok().flatten();
            let Some(home) = home else { return Vec::new() };
            let projects = Projects::of(&home).list().unwrap_or_default();
            projects.iter().flat_map(|(folder, id)| listed(&Store::of(&home.project(id)), folder)).collect()
        }
    }
}

/// Claude Code's: a folder for each project, named by its path, and in it a file for each session.
fn claude_sessions(projects: &Path, reach: Reach, folder: &Path) -> Vec<KnownSession> {
    let of_folder = |path: &Path| -> String {
        path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    };
    let here = of_folder(folder);
    let folders = match reach {
        Reach::Project => vec![projects.join(&here)],
        Reach::Everywhere => entries(projects),
    };
    let files = folders.into_iter().flat_map(|project| {
        let is_here = project.file_name().is_some_and(|name| name == here.as_str());
        entries(&project).into_iter().map(move |file| (file, is_here))
    });
    let known = files.filter_map(|(path, is_here)| {
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_string();
        let folder = is_here.then(|| folder.to_path_buf());
        known(Agent::Claude, id, path, folder)
    });
    newest(known.collect())
}

/// Codex's: folders for year, month and day, whose files say in their first line where they belong.
fn codex_sessions(sessions: &Path, reach: Reach, folder: &Path) -> Vec<KnownSession> {
    let mut files = vec![sessions.to_path_buf()];
    for _ in 0..4 {
        files = files.iter().flat_map(|folder| entries(folder)).collect();
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    // Names begin with the time.
    files.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    files.truncate(MOST_FILES);
    let known = files.into_iter().filter_map(|path| {
        let (id, directory) = codex_head(&path)?;
        let directory = directory.map(|path| canonical_workspace(&path).unwrap_or(path));
        known(Agent::Codex, id, path, directory)
    });
    known.filter(|session| reach == Reach::Everywhere || session.is_of(folder)).collect()
}

/// The id and the folder in the first line of a Codex session.
fn codex_head(path: &Path) -> Option<(String, Option<PathBuf>)> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).take(LONGEST_HEAD).read_until(b'\n', &mut line).ok()?;
    let head: Value = serde_json::from_slice(&line).ok()?;
    let meta = head.get("payload").unwrap_or(&head);
    let id = meta.get("id")?.as_str()?.to_string();
    Some((id, meta.get("cwd").and_then(Value::as_str).map(PathBuf::from)))
}

fn known(agent: Agent, id: String, path: PathBuf, folder: Option<PathBuf>) -> Option<KnownSession> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let updated = Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?);
    Some(KnownSession { agent, id, path, updated, folder, title: None, size: metadata.len() })
}

fn newest(mut sessions: Vec<KnownSession>) -> Vec<KnownSession> {
    sessions.sort_by_key(|session| std::cmp::Reverse(session.updated));
    sessions.truncate(MOST_FILES);
    sessions
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn ids(sessions: &[KnownSession]) -> Vec<&str> {
        let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn sessions_of_other_agents_are_found_by_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let here = Path::new("/home/dev/my app");
        let claude = root.path().join("projects");
        write(&claude.join("-home-dev-my-app/aaaaaaaa-1.jsonl"), "{}\n");
        write(&claude.join("-home-dev-my-app/aaaaaaaa-1/subagents/x.jsonl"), "{}\n");
        write(&claude.join("-home-dev-my-app/notes.txt"), "");
        write(&claude.join("-home-dev-other/bbbbbbbb-2.jsonl"), "{}\n");
        assert_eq!(ids(&claude_sessions(&claude, Reach::Project, here)), ["aaaaaaaa-1"]);
        assert_eq!(ids(&claude_sessions(&claude, Reach::Everywhere, here)), ["aaaaaaaa-1", "bbbbbbbb-2"]);
        let codex = root.path().join("sessions");
        let head = |id: &str, cwd: &str| {
            format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"cwd\":\"{cwd}\"}}}}\n")
        };
        write(
            &codex.join("2026/11/02/rollout-2026-11-02T10-00-00-c1.jsonl"),
            &head("c1", "/home/dev/my app"),
        );
        write(&codex.join("2026/11/03/rollout-2026-11-03T10-00-00-c2.jsonl"), &head("c2", "/home/dev/other"));
        write(&codex.join("2026/11/03/rollout-2026-11-03T11-00-00-c3.jsonl"), "garbage\n");
        assert_eq!(ids(&codex_sessions(&codex, Reach::Project, here)), ["c1"]);
        assert_eq!(ids(&codex_sessions(&codex, Reach::Everywhere, here)), ["c1", "c2"]);
    }

    #[test]
    fn an_id_is_as_short_as_it_can_be_told() {
        let session = |id: &str| KnownSession {
            agent: Agent::Codex,
            id: id.into(),
            path: PathBuf::new(),
            updated: Timestamp::from_millis(0),
            folder: None,
            title: None,
            size: 0,
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
