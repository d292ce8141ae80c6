//! Writes summaries and notes of sessions into their files.
//!
//! A session is named after its first request. A model is asked for a better line only when the session itself ends, if the
//! settings want that, and only a model of the provider that led it; other sessions are never sent anywhere from here.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_agent::{SessionNotes, SideCalls, SideModel, summarise_session};
use longhaul_conversation::Message;
use longhaul_engine::Conversation;
use longhaul_formats::Replay;
use longhaul_sessions::{ListedSession, Listing, Log, LogError, Scratchpad};
use tokio_util::sync::CancellationToken;

use crate::project::Project;
use crate::settings::Settings;

/// Asks a model for a summary of the current session, if the settings want one.
pub struct SessionSummariser<'a> {
    settings: &'a Settings,
    /// The folder of the project.
    root: PathBuf,
    asides: Mutex<SideCalls>,
}

/// Summary and notes, written into a session once it is closed.
pub struct ClosingNotes {
    summary: Option<String>,
    notes: SessionNotes,
}

impl<'a> SessionSummariser<'a> {
    /// For a session of a project.
    pub fn new(settings: &'a Settings, project: &Project) -> Self {
        Self { settings, root: project.folder.clone(), asides: Mutex::default() }
    }

    /// The model calls that were made for it.
    pub fn asides(&self) -> SideCalls {
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Summary and notes of the session under way, which is about to end. `model` is one of the provider that led it.
    pub async fn closing_notes(
        &self,
        conversation: &Conversation,
        model: SideModel<'_>,
        cancel: &CancellationToken,
    ) -> Option<ClosingNotes> {
        if !self.settings.summarises_at_end() || cancel.is_cancelled() {
            return None;
        }
        let said: Vec<Message> = conversation.said().into_iter().cloned().collect();
        let mut asides = SideCalls::default();
        let summary = summarise_session(&said, model, cancel, &mut asides).await;
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).add(&asides);
        Some(ClosingNotes { summary, notes: SessionNotes::of(&said, &self.root) })
    }
}

impl ClosingNotes {
    /// Writes them into the file of a session that nobody has open.
    pub fn write(&self, path: &Path) -> Result<(), LogError> {
        let mut log = Log::open_existing(path)?;
        if let Some(summary) = &self.summary {
            log.set_summary(summary)?;
        }
        log.set_scratchpad(&serde_json::to_value(&self.notes).expect("notes are plain data"))
    }
}

/// Writes notes on the latest session of a project other than the current one, unless it has notes on all of it; returns
/// whether anything was written. No model is asked.
///
/// # Errors
/// The session cannot be read or written.
pub fn write_notes_on_previous(project: &Project, current: &str) -> anyhow::Result<bool> {
    let listing = project.store().list()?;
    let Some(previous) = without_notes(&listing, current) else { return Ok(false) };
    let messages: Vec<Message> =
        Replay::read(File::open(&previous.path)?)?.said().into_iter().cloned().collect();
    let closing_notes = ClosingNotes { summary: None, notes: SessionNotes::of(&messages, &project.folder) };
    match closing_notes.write(&previous.path) {
        Ok(()) => Ok(true),
        // Whoever goes on with it has more to say.
        Err(LogError::InUse { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The latest other session, if it was a conversation and there are no notes on all of it yet.
fn without_notes<'a>(listing: &'a Listing, current: &str) -> Option<&'a ListedSession> {
    let others = listing.sessions.iter().filter(|session| !session.is_current(current));
    let latest = others.max_by_key(|session| session.updated)?;
    let is_open = latest.metadata.scratchpad != Scratchpad::Fresh;
    (is_open && latest.metadata.user_message_count > 1).then_some(latest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use longhaul_conversation::{Part, Role, Timestamp};
    use longhaul_sessions::{NewSession, SessionKind};
    use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

    /// A project with sessions of which the later ones are newer.
    fn project(folder: &Path, sessions: &[&str]) -> Project {
        let work = folder.join("app");
        fs::create_dir(&work).expect("made");
        let environment = Environment { longhaul_home: Some(folder.join("home")), ..Environment::default() };
        let home = Home::resolve(&environment).expect("a home");
        let identity = Projects::of(&home).identify(&work, LockTimeout::default()).expect("a project");
        let project = home.project(&identity.id);
        fs::create_dir_all(project.chats()).expect("made");
        for (day, id) in (1_i64..).zip(sessions) {
            let at = Timestamp::from_millis(1_767_323_045_000 + day * 86_400_000);
            let new = NewSession {
                id: (*id).to_string(),
                project_hash: "hash".into(),
                kind: SessionKind::Main,
                directories: Vec::new(),
                at,
            };
            let mut log = Log::create(&project.chats(), &new).expect("a log");
            for (number, text) in ["Which port?", "And which host?"].iter().enumerate() {
                let said = Message::new(format!("{id}-{number}"), Role::User, vec![Part::user_text(*text)]);
                log.append(&Message { at: Some(at), ..said }).expect("recorded");
            }
        }
        Project { folder: work, home: project }
    }

    #[test]
    fn the_latest_other_session_gets_notes_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["11111111-old", "22222222-last", "33333333-now"]);
        let before = project.store().list().expect("a list").sessions[1].updated;
        assert!(write_notes_on_previous(&project, "33333333-now").expect("it can be written"));
        let listing = project.store().list_afresh().expect("a list");
        let notes: Vec<_> = listing.sessions.iter().map(|session| session.metadata.scratchpad).collect();
        assert_eq!(notes, [Scratchpad::Missing, Scratchpad::Fresh, Scratchpad::Missing]);
        let last = &listing.sessions[1];
        assert_eq!((last.updated, &last.metadata.summary), (before, &None));
        assert_eq!(last.display_name(), "Which port?", "its first request names it");
        assert!(!write_notes_on_previous(&project, "33333333-now").expect("nothing to write"));
    }

    #[test]
    fn whoever_has_a_session_open_keeps_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["22222222-last", "33333333-now"]);
        let path = project.store().list().expect("a list").sessions[0].path.clone();
        let open = Log::open_existing(&path).expect("a log");
        assert!(!write_notes_on_previous(&project, "33333333-now").expect("it is left alone"));
        drop(open);
        assert!(write_notes_on_previous(&project, "33333333-now").expect("it can be written"));
    }
}
