//! The list of sessions as the page shows it: keys for addresses, windows, notices of deletion, filters.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_app::archive;
use longhaul_app::clock::now;
use longhaul_app::found::Found;
use longhaul_app::settings::Settings;
use longhaul_archive::Source;
use longhaul_conversation::{Timestamp, TokenCount, context_window, window_for};
use longhaul_stores::{Agent, FoundSession, Notice, Retention};

/// A session that was written so lately is in use.
const IN_USE: i64 = 60_000;

/// Sessions of all agents, running ones first, then the one used last.
#[derive(Debug, Default)]
pub(crate) struct FoundList {
    pub(crate) sessions: Vec<ListedSession>,
    pub(crate) notices: Vec<Notice>,
    /// Places by key.
    keys: HashMap<String, usize>,
    /// Grows whenever anything in the list changes.
    pub(crate) version: u64,
}

/// A session in the list.
#[derive(Debug)]
pub(crate) struct ListedSession {
    pub(crate) session: FoundSession,
    /// Its name in addresses.
    pub(crate) key: String,
    /// The window of its model, if both are known.
    pub(crate) window: Option<TokenCount>,
    /// The days until its agent deletes it.
    pub(crate) days_left: Option<i64>,
    /// The text that the filter looks at, in lower case.
    haystack: String,
}

impl FoundList {
    pub(crate) fn new(found: Found, before: Option<&Self>, settings: &Settings) -> Self {
        let now = now();
        let Found { mut sessions, notices } = found;
        // Stable: what was used last stays first on either side.
        sessions.sort_by_key(|session| !is_in_use(session, now));
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(sessions.len());
        for session in &sessions {
            *counts.entry(&session.head.id).or_default() += 1;
        }
        let keys: Vec<String> =
            sessions.iter().map(|session| key_of(session, counts[&*session.head.id])).collect();
        let mut retention = Retention::default();
        let listed = sessions.into_iter().zip(keys).map(|(session, key)| ListedSession {
            window: window_of(&session, settings),
            days_left: retention.days_left(&session, now),
            haystack: haystack(&session),
            key,
            session,
        });
        let sessions: Vec<ListedSession> = listed.collect();
        let keys = sessions.iter().enumerate().map(|(place, session)| (session.key.clone(), place)).collect();
        let is_same = |before: &Self| {
            before.sessions.len() == sessions.len()
                && before.sessions.iter().zip(&sessions).all(|(a, b)| a.session == b.session)
        };
        let version = match before {
            Some(before) if is_same(before) => before.version,
            Some(before) => before.version + 1,
            None => 1,
        };
        Self { sessions, notices, keys, version }
    }

    /// The session of an address.
    pub(crate) fn get(&self, key: &str) -> Option<&ListedSession> {
        self.sessions.get(*self.keys.get(key)?)
    }

    /// The session of an id, as search results name it.
    pub(crate) fn by_id(&self, id: &str) -> Option<&ListedSession> {
        self.get(id).or_else(|| self.sessions.iter().find(|listed| listed.session.head.id == id))
    }

    /// The sessions in which every word is found, of one agent and one folder.
    pub(crate) fn filtered<'l>(
        &'l self,
        words: &str,
        agent: Option<Agent>,
        folder: Option<&'l str>,
    ) -> impl Iterator<Item = &'l ListedSession> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        self.sessions.iter().filter(move |listed| {
            agent.is_none_or(|agent| listed.session.agent == agent)
                && folder.is_none_or(|folder| listed.session.head.directory.as_deref() == Some(folder))
                && words.iter().all(|word| listed.haystack.contains(word.as_str()))
        })
    }

    /// The agents in the list, with how many sessions each has.
    pub(crate) fn agents(&self) -> Vec<(Agent, usize)> {
        let count =
            |agent: &Agent| self.sessions.iter().filter(|listed| listed.session.agent == *agent).count();
        Agent::ALL.iter().map(|agent| (*agent, count(agent))).filter(|(_, count)| *count > 0).collect()
    }

    /// The folders that most sessions are about.
    pub(crate) fn folders(&self, most: usize) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for listed in &self.sessions {
            if let Some(folder) = listed.session.head.directory.as_deref() {
                *counts.entry(folder).or_default() += 1;
            }
        }
        let mut folders: Vec<(&str, usize)> = counts.into_iter().collect();
        folders.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        folders.truncate(most);
        folders
    }
}

impl ListedSession {
    pub(crate) fn title(&self) -> &str {
        self.session.head.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or("(no title)")
    }

    pub(crate) fn is_running(&self, now: Timestamp) -> bool {
        is_in_use(&self.session, now)
    }

    /// The last piece of its folder's path.
    pub(crate) fn project(&self) -> Option<&str> {
        let folder = self.session.head.directory.as_deref()?;
        folder.rsplit(['/', '\\']).find(|piece| !piece.is_empty()).or(Some(folder))
    }

    /// The session as the archive knows it.
    fn source(&self) -> Source {
        archive::source_of(&self.session)
    }

    /// The command that continues it in its own agent, from its folder; otherwise in Longhaul.
    pub(crate) fn resume_line(&self) -> String {
        let own = archive::resume_command(&self.source());
        let command = own.unwrap_or_else(|| format!("longhaul --resume {}", quoted(&self.session.path)));
        self.in_folder(command)
    }

    /// The commands that hand the session over to other agents, from its folder.
    pub(crate) fn handoff_lines(&self) -> impl Iterator<Item = (Agent, String)> {
        let heirs = HEIRS.into_iter().filter(|(agent, _)| *agent != self.session.agent);
        heirs.map(|(agent, word)| {
            let command = format!("longhaul handoff {word} {}", quoted(&self.session.path));
            (agent, self.in_folder(command))
        })
    }

    fn in_folder(&self, command: String) -> String {
        match self.session.head.directory.as_deref() {
            Some(folder) => format!("cd {} && {command}", quoted(Path::new(folder))),
            None => command,
        }
    }
}

/// Agents that a session can be handed over to, with their names in commands.
const HEIRS: [(Agent, &str); 4] = [
    (Agent::Claude, "claude"),
    (Agent::Codex, "codex"),
    (Agent::Gemini, "gemini"),
    (Agent::Opencode, "opencode"),
];

fn is_in_use(session: &FoundSession, now: Timestamp) -> bool {
    (0..IN_USE).contains(&(now.as_millis() - session.modified.as_millis()).max(0))
}

/// The id, with something of the path where several files carry it.
fn key_of(session: &FoundSession, alike: usize) -> String {
    let id = &session.head.id;
    if alike == 1 && !id.is_empty() {
        return id.clone();
    }
    // FNV-1a: the address of a session stays while its file does.
    let path = session.path.to_string_lossy();
    let hash = path.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{id}~{hash:016x}")
}

fn window_of(session: &FoundSession, settings: &Settings) -> Option<TokenCount> {
    let tokens = session.head.tokens?;
    let model = session.head.model.as_deref()?;
    let stated = session.head.window.map(TokenCount);
    let window = settings.window(model).or(stated).unwrap_or_else(|| context_window(Some(model), None).0);
    let count = TokenCount(tokens.count);
    Some(if count > window && !tokens.is_estimate { window_for(count) } else { window })
}

fn haystack(session: &FoundSession) -> String {
    let head = &session.head;
    let texts = [head.title.as_deref(), head.directory.as_deref(), head.model.as_deref(), Some(&head.id)];
    let texts: Vec<&str> = texts.into_iter().flatten().chain([session.agent.name()]).collect();
    texts.join("\n").to_lowercase()
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=~".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('~') {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The file of a sub-agent by its name in an address.
pub(crate) fn child_named(listed: &ListedSession, name: &str) -> Option<PathBuf> {
    listed.session.children.iter().find(|path| child_name(path) == name).cloned()
}

/// The name of a sub-agent's file.
pub(crate) fn child_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use longhaul_stores::{Head, TokenFigure};

    use super::*;

    fn session(id: &str, path: &str, title: &str) -> FoundSession {
        FoundSession {
            agent: Agent::Claude,
            path: path.into(),
            size: Some(1),
            modified: Timestamp::from_millis(0),
            head: Head {
                id: id.into(),
                title: Some(title.into()),
                directory: Some("/home/dev/my shop".into()),
                model: Some("claude-sonnet-4-5".into()),
                tokens: Some(TokenFigure { count: 50_000, is_estimate: false }),
                ..Head::default()
            },
            children: Vec::new(),
        }
    }

    fn list(sessions: Vec<FoundSession>, before: Option<&FoundList>) -> FoundList {
        let settings = Settings::load(None, Path::new(""), &Default::default()).expect("defaults").settings;
        FoundList::new(Found { sessions, notices: Vec::new() }, before, &settings)
    }

    #[test]
    fn keys_are_ids_unless_two_files_share_one() {
        let list =
            list(vec![session("a", "/1", "x"), session("b", "/2", "y"), session("b", "/3", "z")], None);
        let keys: Vec<&str> = list.sessions.iter().map(|listed| listed.key.as_str()).collect();
        assert_eq!(keys[0], "a");
        assert!(keys[1].starts_with("b~") && keys[2].starts_with("b~") && keys[1] != keys[2]);
        assert_eq!(list.get(keys[2]).map(ListedSession::title), Some("z"));
        assert!(list.get("b").is_none() && list.by_id("b").is_some());
    }

    #[test]
    fn running_sessions_come_first_and_changes_are_noticed() {
        let mut running = session("r", "/r", "running");
        running.modified = now();
        let first = list(vec![session("a", "/1", "x"), running.clone()], None);
        assert_eq!(first.sessions[0].key, "r");
        let same = list(vec![session("a", "/1", "x"), running], Some(&first));
        assert_eq!(same.version, first.version);
        let changed = list(vec![session("a", "/1", "new title")], Some(&same));
        assert_eq!(changed.version, first.version + 1);
    }

    #[test]
    fn every_word_of_a_filter_must_be_found() {
        let list = list(vec![session("a", "/1", "Fix the Cart"), session("b", "/2", "Add tests")], None);
        let found =
            |words: &str| list.filtered(words, None, None).map(|l| l.key.as_str()).collect::<Vec<_>>();
        assert_eq!(found("cart FIX"), ["a"]);
        assert_eq!(found("shop"), ["a", "b"]);
        assert_eq!(found("cart tests"), Vec::<&str>::new());
        assert_eq!(list.filtered("", Some(Agent::Codex), None).count(), 0);
        assert_eq!(list.filtered("", None, Some("/home/dev/my shop")).count(), 2);
    }

    #[test]
    fn a_session_is_resumed_in_its_folder() {
        let list = list(vec![session("a", "/1", "x")], None);
        assert_eq!(list.sessions[0].resume_line(), "cd '/home/dev/my shop' && claude --resume a");
        let handed: Vec<String> = list.sessions[0].handoff_lines().map(|(_, line)| line).collect();
        assert_eq!(handed.len(), 3, "not to itself");
        assert_eq!(handed[0], "cd '/home/dev/my shop' && longhaul handoff codex /1");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
        assert_eq!(list.sessions[0].window, Some(TokenCount(200_000)));
    }

    #[test]
    fn the_window_that_a_file_states_is_the_one_it_is_measured_by() {
        let mut stated = session("a", "/1", "x");
        stated.head.window = Some(258_400);
        assert_eq!(list(vec![stated], None).sessions[0].window, Some(TokenCount(258_400)));
    }
}
