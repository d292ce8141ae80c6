//! Begins the session that a conversation is recorded in, or goes on with another.

use std::path::{Path, PathBuf};

use longhaul_agent::{Surroundings, folder_tree};
use longhaul_session::{Format, Log, LogError, NewSession, Session, SessionKind};

use crate::clock::now;
use crate::commands::sessions::import::{self, Brought, bring_in, new_id};
use crate::failure::hinted;
use crate::output::plural;
use crate::project::{Project, log_failure, session_file};
use crate::settings::Settings;

/// A session that can go on.
pub(crate) struct Opened {
    pub(crate) project: Project,
    pub(crate) log: Log,
    pub(crate) id: String,
    /// What the user may like to know.
    pub(crate) notes: Vec<String>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// A session to go on with. Nothing was changed yet.
pub(crate) enum Found {
    /// One of Longhaul's or Gemini CLI's, which goes on in its place.
    Ours(Box<Log>),
    /// One of those that stays as it is while a copy goes on, with its file.
    Forked(PathBuf, Box<Session>),
    /// Any other, which goes on as a copy of our own.
    Theirs(Box<Session>),
}

/// Begins a session.
pub(crate) fn begin() -> anyhow::Result<Opened> {
    begin_with(Log::create)
}

/// Begins a session with what `make` puts into it.
fn begin_with(make: impl FnOnce(&Path, &NewSession) -> Result<Log, LogError>) -> anyhow::Result<Opened> {
    let (project, notes) = Project::find_or_begin()?;
    let id = new_id();
    let new = NewSession {
        id: id.clone(),
        project_hash: project.hash(),
        kind: SessionKind::Main,
        directories: vec![project.folder.display().to_string()],
        at: now(),
    };
    let log = make(&project.home.chats(), &new).map_err(log_failure)?;
    Ok(Opened { project, log, id, notes, warnings: Vec::new() })
}

/// Finds the session that the user means. One that is to be forked may be written by another program just now.
pub(crate) fn find(given: &Path, is_forked: bool) -> anyhow::Result<Found> {
    let path = session_file(given)?;
    // A missing file is named before anything could be made in its place.
    drop(crate::input::open(&path)?);
    if is_forked {
        let session = Box::new(import::read(&path)?);
        let is_ours = session.info.format == Format::GeminiJsonl;
        return Ok(if is_ours { Found::Forked(path, session) } else { Found::Theirs(session) });
    }
    match Log::open_existing(&path) {
        Ok(log) => Ok(Found::Ours(Box::new(log))),
        Err(LogError::OtherFormat { .. }) => Ok(Found::Theirs(Box::new(import::read(&path)?))),
        Err(error @ LogError::InUse { .. }) => {
            let hint = "--fork goes on in a copy of it; or end the program that writes it, then try again";
            Err(hinted(error, hint))
        }
        Err(error) => Err(log_failure(error)),
    }
}

impl Found {
    /// The model that answered last.
    pub(crate) fn model(&self) -> Option<String> {
        let messages = match self {
            Self::Ours(log) => log.replay().messages(),
            Self::Forked(_, session) | Self::Theirs(session) => session.transcript.messages(),
        };
        // Some agents write a name of their own under what no model wrote.
        let is_name = |model: &&String| !model.is_empty() && !model.starts_with('<');
        messages.iter().rev().filter_map(|message| message.model.as_ref()).find(is_name).cloned()
    }

    /// Goes on with it.
    pub(crate) fn open(self) -> anyhow::Result<Opened> {
        match self {
            Self::Ours(log) => {
                let warnings = log.recovered().iter().map(ToString::to_string).collect();
                let id = log.replay().info().session_id.clone().unwrap_or_default();
                let (project, notes) = Project::find_or_begin()?;
                Ok(Opened { project, log: *log, id, notes, warnings })
            }
            Self::Forked(path, session) => {
                let fork = |chats: &Path, new: &NewSession| Log::fork_of(&path, chats, new, None);
                let mut opened = begin_with(fork)?;
                let count = plural(session.transcript.messages().len(), "message", "messages");
                opened.notes.push(format!("copied {count}; go on with --resume {}", opened.id));
                Ok(opened)
            }
            Self::Theirs(session) => {
                let Brought { project, log, id, session, mut notes } = bring_in(*session)?;
                let count = plural(session.transcript.messages().len(), "message", "messages");
                let format = session.info.format;
                notes.push(format!("imported {count} from {format}; go on with --resume {id}"));
                Ok(Opened { project, log, id, notes, warnings: Vec::new() })
            }
        }
    }
}

/// Where the session takes place.
pub(crate) fn surroundings(project: &Project, folders: &[PathBuf], settings: &Settings) -> Surroundings {
    let directory = std::env::current_dir().unwrap_or_else(|_| project.folder.clone());
    Surroundings {
        at: now(),
        system: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        workspace: std::iter::once(&project.folder).chain(folders.iter().skip(1)).cloned().collect(),
        tree: settings.shows_tree().then(|| folder_tree(&project.folder)),
        directory,
    }
}
