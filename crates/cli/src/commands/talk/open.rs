//! Begins the session that a conversation is recorded in, or goes on with another.

use std::path::{Path, PathBuf};

use longhaul_agent::{Surroundings, folder_tree};
use longhaul_session::{Format, Log, LogError, NewSession, Session, SessionKind};

use super::report::Reporter;
use crate::clock::now;
use crate::commands::sessions::import::{self, Brought, bring_in, new_id};
use crate::failure::hinted;
use crate::output::plural;
use crate::project::{Project, log_failure, session_file};
use crate::settings::Settings;

/// A session that can go on.
pub(super) struct Opened {
    pub(super) project: Project,
    pub(super) log: Log,
    pub(super) id: String,
}

/// A session to go on with. Nothing was changed yet.
pub(super) enum Found {
    /// One of Longhaul's or Gemini CLI's, which goes on in its place.
    Ours(Box<Log>),
    /// One of those that stays as it is while a copy goes on, with its file.
    Forked(PathBuf, Box<Session>),
    /// Any other, which goes on as a copy of our own.
    Theirs(Box<Session>),
}

/// Begins a session.
pub(super) fn begin(reporter: &Reporter) -> anyhow::Result<Opened> {
    begin_with(Log::create, reporter)
}

/// Begins a session with what `make` puts into it.
fn begin_with(
    make: impl FnOnce(&Path, &NewSession) -> Result<Log, LogError>,
    reporter: &Reporter,
) -> anyhow::Result<Opened> {
    let project = find_project(reporter)?;
    let id = new_id();
    let new = NewSession {
        id: id.clone(),
        project_hash: project.hash(),
        kind: SessionKind::Main,
        directories: vec![project.folder.display().to_string()],
        at: now(),
    };
    let log = make(&project.home.chats(), &new).map_err(log_failure)?;
    Ok(Opened { project, log, id })
}

/// Finds the session that the user means. One that is to be forked may be written by another program just now.
pub(super) fn find(given: &Path, is_forked: bool) -> anyhow::Result<Found> {
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
    pub(super) fn model(&self) -> Option<String> {
        let messages = match self {
            Self::Ours(log) => log.replay().messages(),
            Self::Forked(_, session) | Self::Theirs(session) => session.transcript.messages(),
        };
        // Some agents write a name of their own under what no model wrote.
        let is_name = |model: &&String| !model.is_empty() && !model.starts_with('<');
        messages.iter().rev().filter_map(|message| message.model.as_ref()).find(is_name).cloned()
    }

    /// Goes on with it.
    pub(super) fn open(self, reporter: &Reporter) -> anyhow::Result<Opened> {
        match self {
            Self::Ours(log) => {
                for recovery in log.recovered() {
                    reporter.warn(&recovery.to_string());
                }
                let id = log.replay().info().session_id.clone().unwrap_or_default();
                Ok(Opened { project: find_project(reporter)?, log: *log, id })
            }
            Self::Forked(path, session) => {
                let fork = |chats: &Path, new: &NewSession| Log::fork_of(&path, chats, new, None);
                let opened = begin_with(fork, reporter)?;
                let count = plural(session.transcript.messages().len(), "message", "messages");
                reporter.note(&format!("copied {count}; go on with --resume {}", opened.id));
                Ok(opened)
            }
            Self::Theirs(session) => {
                let Brought { project, log, id, session, notes } = bring_in(*session)?;
                notes.iter().for_each(|note| reporter.note(note));
                let count = plural(session.transcript.messages().len(), "message", "messages");
                let format = session.info.format;
                reporter.note(&format!("imported {count} from {format}; go on with --resume {id}"));
                Ok(Opened { project, log, id })
            }
        }
    }
}

fn find_project(reporter: &Reporter) -> anyhow::Result<Project> {
    let (project, notes) = Project::find_or_begin()?;
    notes.iter().for_each(|note| reporter.note(note));
    Ok(project)
}

/// Where the session takes place.
pub(super) fn surroundings(project: &Project, folders: &[PathBuf], settings: &Settings) -> Surroundings {
    let directory = std::env::current_dir().unwrap_or_else(|_| project.folder.clone());
    Surroundings {
        at: now(),
        system: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        workspace: std::iter::once(&project.folder).chain(folders.iter().skip(1)).cloned().collect(),
        tree: settings.shows_tree().then(|| folder_tree(&project.folder)),
        directory,
    }
}
