//! Begins the session that a conversation is recorded in, or goes on with another.

use std::path::Path;

use longhaul_agent::{Surroundings, folder_tree};
use longhaul_conversation::Message;
use longhaul_session::{Log, LogError, NewSession, SessionKind};
use uuid::Uuid;

use super::report::Reporter;
use crate::clock::now;
use crate::commands::sessions::import::bring_in;
use crate::output::plural;
use crate::project::{Project, log_failure, session_file};
use crate::settings::Settings;

/// A session that can go on.
pub(super) struct Opened {
    pub(super) project: Project,
    pub(super) log: Log,
    pub(super) id: String,
    /// The model that answered last.
    pub(super) model: Option<String>,
}

/// Begins a session.
pub(super) fn begin(reporter: &Reporter) -> anyhow::Result<Opened> {
    let project = find_project(reporter)?;
    let id = Uuid::new_v4().to_string();
    let new = NewSession {
        id: id.clone(),
        project_hash: project.hash(),
        kind: SessionKind::Main,
        directories: vec![project.folder.display().to_string()],
        at: now(),
    };
    let log = Log::create(&project.home.chats(), &new).map_err(log_failure)?;
    Ok(Opened { project, log, id, model: None })
}

/// Opens a session to go on with it: one of Longhaul's or Gemini CLI's in its place, any other as a copy of our own.
pub(super) fn resume(given: &Path, reporter: &Reporter) -> anyhow::Result<Opened> {
    let path = session_file(given)?;
    // A missing file is named before anything could be made in its place.
    drop(crate::input::open(&path)?);
    let (project, log) = match Log::open_existing(&path) {
        Ok(log) => (find_project(reporter)?, log),
        Err(LogError::OtherFormat { .. }) => import(&path, reporter)?,
        Err(error) => return Err(log_failure(error)),
    };
    for recovery in log.recovered() {
        reporter.warn(&recovery.to_string());
    }
    let info = log.replay().info();
    let id = info.session_id.clone().unwrap_or_default();
    let models = log.replay().messages().iter().rev().filter_map(|message: &Message| message.model.clone());
    // Some agents write a name of their own under what no model wrote.
    let model = models.into_iter().find(|model| !model.is_empty() && !model.starts_with('<'));
    Ok(Opened { project, id, model, log })
}

fn import(path: &Path, reporter: &Reporter) -> anyhow::Result<(Project, Log)> {
    let brought = bring_in(path)?;
    brought.notes.iter().for_each(|note| reporter.note(note));
    let count = plural(brought.session.transcript.messages().len(), "message", "messages");
    let (format, id) = (brought.session.info.format, &brought.id);
    reporter.note(&format!("imported {count} from {format}; go on with --resume {id}"));
    Ok((brought.project, brought.log))
}

fn find_project(reporter: &Reporter) -> anyhow::Result<Project> {
    let (project, notes) = Project::find_or_begin()?;
    notes.iter().for_each(|note| reporter.note(note));
    Ok(project)
}

/// Where the session takes place.
pub(super) fn surroundings(project: &Project, settings: &Settings) -> Surroundings {
    let directory = std::env::current_dir().unwrap_or_else(|_| project.folder.clone());
    let more = settings.include_directories().into_iter().map(|folder| directory.join(folder));
    Surroundings {
        at: now(),
        system: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        workspace: std::iter::once(project.folder.clone()).chain(more).collect(),
        tree: settings.shows_tree().then(|| folder_tree(&project.folder)),
        directory,
    }
}
