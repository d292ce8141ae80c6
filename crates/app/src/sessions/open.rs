//! Starts the session that a conversation is recorded in, or resumes one.

use std::path::{Path, PathBuf};

use longhaul_conversation::plural;
use longhaul_formats::Format;
use longhaul_sessions::{Log, LogError, NewSession, SessionKind};
use longhaul_skills::Inbox;
use longhaul_stores::split_session_path;
use longhaul_workspace::Home;

use super::import::{self, ImportedSession, RecordedSession, new_id};
use super::input::{self, ProgressReader};
use crate::clock::now;
use crate::failure::hinted;
use crate::kept_rules::kept_rules;
use crate::models::SessionModels;
use crate::project::{Project, log_failure, session_file};
use crate::{environment, strays};

/// A session open for recording.
pub struct OpenSession {
    /// The project it belongs to.
    pub project: Project,
    /// The log it is recorded in.
    pub log: Log,
    /// Its id.
    pub id: String,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// A session to resume. Nothing is changed yet.
pub enum FoundSession {
    /// A session of Longhaul or Gemini CLI, continued in place.
    Ours(Box<Log>),
    /// The same, left unchanged and continued in a copy, with its file.
    Forked(PathBuf, Box<RecordedSession>),
    /// Any other, continued in a copy of our own.
    Theirs(Box<RecordedSession>),
}

/// Starts a session; an error if it cannot be recorded.
pub fn begin() -> anyhow::Result<OpenSession> {
    let (project, notes) = Project::find_or_begin()?;
    let new = new_session(&project);
    let chats = project.home.chats();
    let log = Log::create(&chats, &new).map_err(not_begun)?;
    Ok(OpenSession::of(project, log, new.id, notes, None))
}

/// Finds a session. One to be forked may be in use by another program. `watch` follows the reading of a file.
pub fn find(given: &Path, is_forked: bool, watch: ProgressReader<'_>) -> anyhow::Result<FoundSession> {
    let path = session_file(given)?;
    // A missing file is named before anything could be made in its place.
    drop(input::open(&path)?);
    if is_forked {
        let recorded = Box::new(import::read(&path, watch)?);
        let is_ours = recorded.session().info.format == Format::GeminiJsonl;
        return Ok(match is_ours {
            true => FoundSession::Forked(path, recorded),
            false => FoundSession::Theirs(recorded),
        });
    }
    if split_session_path(&path).is_some() {
        return Ok(FoundSession::Theirs(Box::new(import::read(&path, watch)?)));
    }
    match Log::open_existing(&path) {
        Err(LogError::OtherFormat { .. }) => Ok(FoundSession::Theirs(Box::new(import::read(&path, watch)?))),
        Err(error @ LogError::InUse { .. }) => {
            let hint =
                "pass --fork to continue in a copy; or end the program that is writing it, then try again";
            Err(hinted(error, hint))
        }
        Err(error @ (LogError::Io { .. } | LogError::Workspace(_))) => {
            let hint = "a session can only continue where it can be recorded: free some disk space, make its folder \
                        writable, or pass --fork to continue in a copy";
            Err(hinted(error, hint))
        }
        opened => Ok(FoundSession::Ours(Box::new(opened.map_err(log_failure)?))),
    }
}

impl FoundSession {
    /// Its id.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Ours(log) => log.replay().info().session_id.clone(),
            Self::Forked(_, recorded) | Self::Theirs(recorded) => recorded.session().info.session_id.clone(),
        }
    }

    /// The models that it names.
    pub fn models(&self) -> SessionModels {
        let (messages, info) = match self {
            Self::Ours(log) => (log.replay().messages(), log.replay().info()),
            Self::Forked(_, recorded) | Self::Theirs(recorded) => {
                (recorded.session().transcript.messages(), &recorded.session().info)
            }
        };
        // Some agents write a name of their own under what no model wrote.
        let is_name = |model: &&String| !model.is_empty() && !model.starts_with('<');
        let last = messages.iter().rev().filter_map(|message| message.model.as_ref()).find(is_name).cloned();
        SessionModels { chosen: info.chosen_model.clone(), last }
    }

    /// Resumes it.
    pub fn open(self) -> anyhow::Result<OpenSession> {
        let (project, notes) = Project::find_or_begin()?;
        let chats = project.home.chats();
        match self {
            Self::Ours(mut log) => {
                let kept = kept_rules(log.path())?;
                import::take_rules(&mut log, &kept).map_err(log_failure)?;
                let recovered: Vec<String> = log.recovered().iter().map(ToString::to_string).collect();
                let id = log.replay().info().session_id.clone().unwrap_or_default();
                let opened = OpenSession::of(project, *log, id, notes, None);
                Ok(OpenSession { warnings: [recovered, opened.warnings].concat(), ..opened })
            }
            Self::Forked(path, recorded) => {
                let new = new_session(&project);
                let log = Log::fork_of(&path, &chats, &new, None).map_err(not_begun)?;
                let count = plural(recorded.session().transcript.messages().len(), "message", "messages");
                let told = format!("copied {count}");
                Ok(OpenSession::of(project, log, new.id, notes, Some(&told)))
            }
            Self::Theirs(recorded) => {
                let ImportedSession { log, id } = import::bring_in(&project, &recorded).map_err(not_begun)?;
                let count = plural(log.replay().history().len(), "message", "messages");
                let told = format!("imported {count} from {}", recorded.session().info.format);
                Ok(OpenSession::of(project, log, id, notes, Some(&told)))
            }
        }
    }
}

impl OpenSession {
    /// A session with its notes, and how to resume a copy.
    fn of(project: Project, log: Log, id: String, notes: Vec<String>, copied: Option<&str>) -> Self {
        let copied = copied.map(|copied| format!("{copied}; continue with --resume {id}"));
        let warnings = end_what_was_cut_off(&project);
        Self { project, log, id, notes: notes.into_iter().chain(copied).collect(), warnings }
    }
}

/// Cleans up after killed processes; returns warnings about what is left.
fn end_what_was_cut_off(project: &Project) -> Vec<String> {
    if let Ok(home) = Home::resolve(&environment::of_process()) {
        strays::remove(&home, Some(&project.home), &project.folder);
    }
    let resumed = Inbox::of(&project.home).resume();
    let told = |error| format!("a change from the inbox was interrupted and cannot be finished: {error}");
    resumed.err().map(told).into_iter().collect()
}

/// The error for a session that could not be started.
fn not_begun(error: LogError) -> anyhow::Error {
    match error {
        LogError::Io { .. } | LogError::Workspace(_) => {
            let hint = "nothing is sent that cannot be recorded: free some disk space, make the folder writable, or set \
                        LONGHAUL_HOME to one that is";
            hinted(error, hint)
        }
        error => log_failure(error),
    }
}

fn new_session(project: &Project) -> NewSession {
    NewSession {
        id: new_id(),
        project_hash: project.hash(),
        kind: SessionKind::Main,
        directories: vec![project.folder.display().to_string()],
        at: now(),
    }
}
