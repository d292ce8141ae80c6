//! Lines on what sessions were about, and notes on how they went, written into their files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_agent::{Asides, Helper, SessionNotes, summarise_session};
use longhaul_conversation::Message;
use longhaul_engine::Conversation;
use longhaul_session::{ListedSession, Listing, Log, LogError, Replay, Scratchpad, Store};
use tokio_util::sync::CancellationToken;

use super::Attendance;
use crate::project::Project;
use crate::settings::Settings;

/// Says what sessions were about, when the settings want that.
pub(crate) struct Summaries<'a> {
    settings: &'a Settings,
    attendance: Attendance,
    store: Store,
    /// The folder of the project.
    root: PathBuf,
    /// The id of the session that is under way.
    current: String,
    asides: Mutex<Asides>,
}

/// What is to be said of a session when nobody has it open any more.
pub(crate) struct LastWords {
    summary: Option<String>,
    notes: SessionNotes,
}

impl<'a> Summaries<'a> {
    /// For the sessions of a project, of which this one is under way.
    pub(crate) fn new(
        settings: &'a Settings,
        attendance: Attendance,
        project: &Project,
        current: &str,
    ) -> Self {
        let (store, root) = (project.store(), project.folder.clone());
        Self { settings, attendance, store, root, current: current.to_string(), asides: Mutex::default() }
    }

    /// Waits for a turn. Meanwhile the previous session gets its line, if it has none; the turn waits for nothing.
    pub(crate) async fn beside<T>(
        &self,
        turn: impl Future<Output = T>,
        helper: Helper<'_>,
        cancel: &CancellationToken,
        warn: impl Fn(&str),
    ) -> T {
        if !self.settings.summarises_at_start(self.attendance == Attendance::Attended) {
            return turn.await;
        }
        let is_over = cancel.child_token();
        let turn = async {
            let end = turn.await;
            is_over.cancel();
            end
        };
        let (end, summarised) = tokio::join!(turn, self.summarise_previous(helper, &is_over));
        if let Err(error) = summarised {
            warn(&format!("the previous session has no summary: {error:#}"));
        }
        end
    }

    /// Says what the latest session before this one was about, if nobody has yet; tells whether anything was written.
    /// Cancelled, it leaves the session for the next time.
    async fn summarise_previous(
        &self,
        helper: Helper<'_>,
        cancel: &CancellationToken,
    ) -> anyhow::Result<bool> {
        let listing = self.store.list()?;
        let Some(previous) = unsummarised(&listing, &self.current) else { return Ok(false) };
        // The file is not held while a model thinks: somebody may want to go on with the session.
        let messages: Vec<Message> =
            Replay::read(File::open(&previous.path)?)?.said().into_iter().cloned().collect();
        let summary = match &previous.metadata.summary {
            Some(_) => None,
            None => self.summarise(&messages, helper, cancel).await,
        };
        if cancel.is_cancelled() {
            return Ok(false);
        }
        let last_words = LastWords { summary, notes: SessionNotes::of(&messages, &self.root) };
        match last_words.write(&previous.path) {
            Ok(()) => Ok(true),
            // Whoever goes on with it has more to say.
            Err(LogError::InUse { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn summarise(
        &self,
        messages: &[Message],
        helper: Helper<'_>,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let mut asides = Asides::default();
        let summary = summarise_session(messages, helper, cancel, &mut asides).await;
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).add(&asides);
        summary
    }

    /// What models were asked for it.
    pub(crate) fn asides(&self) -> Asides {
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is to be said of the session under way, which is about to end.
    pub(crate) async fn last_words(
        &self,
        conversation: &Conversation,
        helper: Helper<'_>,
        cancel: &CancellationToken,
    ) -> Option<LastWords> {
        if !self.settings.summarises_at_end() || cancel.is_cancelled() {
            return None;
        }
        let said: Vec<Message> = conversation.said().into_iter().cloned().collect();
        let summary = self.summarise(&said, helper, cancel).await;
        Some(LastWords { summary, notes: SessionNotes::of(&said, &self.root) })
    }
}

impl LastWords {
    /// Writes them into the file of a session that nobody has open.
    pub(crate) fn write(&self, path: &Path) -> Result<(), LogError> {
        let mut log = Log::open_existing(path)?;
        if let Some(summary) = &self.summary {
            log.set_summary(summary)?;
        }
        // Notes are written even without a line: what no model could say once is not asked for ever again.
        log.set_scratchpad(&serde_json::to_value(&self.notes).expect("notes are plain data"))
    }
}

/// The latest other session, if it was a conversation and there are no notes on all of it yet.
fn unsummarised<'a>(listing: &'a Listing, current: &str) -> Option<&'a ListedSession> {
    let others = listing.sessions.iter().filter(|session| !session.is_current(current));
    let latest = others.max_by_key(|session| session.updated)?;
    let is_open = latest.metadata.scratchpad != Scratchpad::Fresh;
    (is_open && latest.metadata.user_message_count > 1).then_some(latest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use longhaul_conversation::{ModelError, Part, Role, ScriptedModel, ScriptedReply, Timestamp};
    use longhaul_session::{NewSession, SessionKind};
    use longhaul_workspace::{Environment, Home, Patience, Projects};

    /// A project with sessions of which the later ones are newer.
    fn project(folder: &Path, sessions: &[&str]) -> Project {
        let work = folder.join("app");
        fs::create_dir(&work).expect("made");
        let environment = Environment { longhaul_home: Some(folder.join("home")), ..Environment::default() };
        let home = Home::resolve(&environment).expect("a home");
        let identity = Projects::of(&home).identify(&work, Patience::default()).expect("a project");
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

    async fn summarise_until(project: &Project, model: &ScriptedModel, cancel: &CancellationToken) -> bool {
        let settings = Settings::default();
        let summaries = Summaries::new(&settings, Attendance::Attended, project, "33333333-now");
        let helper = Helper { model, name: "small" };
        summaries.summarise_previous(helper, cancel).await.expect("it can be written")
    }

    async fn summarise(project: &Project, model: &ScriptedModel) -> bool {
        summarise_until(project, model, &CancellationToken::new()).await
    }

    fn summaries(project: &Project) -> Vec<Option<String>> {
        project
            .store()
            .list_afresh()
            .expect("a list")
            .sessions
            .into_iter()
            .map(|session| session.metadata.summary)
            .collect()
    }

    #[tokio::test]
    async fn the_latest_other_session_is_summarised_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["11111111-old", "22222222-last", "33333333-now"]);
        let before = project.store().list().expect("a list").sessions[1].updated;
        let model = ScriptedModel::new([ScriptedReply::text("Find the port.")]);
        assert!(summarise(&project, &model).await);
        assert_eq!(summaries(&project), [None, Some("Find the port.".to_string()), None]);
        let listing = project.store().list_afresh().expect("a list");
        assert_eq!(
            (listing.sessions[1].updated, listing.sessions[1].metadata.scratchpad),
            (before, Scratchpad::Fresh)
        );
        assert!(!summarise(&project, &model).await);
        assert_eq!(model.requests().len(), 1);
    }

    #[tokio::test]
    async fn a_model_that_fails_is_not_asked_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["22222222-last", "33333333-now"]);
        let model = ScriptedModel::new([ScriptedReply::error(ModelError::TooLong)]);
        assert!(summarise(&project, &model).await && !summarise(&project, &model).await);
        assert_eq!((summaries(&project), model.requests().len()), (vec![None, None], 1));
    }

    #[tokio::test]
    async fn whoever_has_a_session_open_keeps_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["22222222-last", "33333333-now"]);
        let path = project.store().list().expect("a list").sessions[0].path.clone();
        let open = Log::open_existing(&path).expect("a log");
        let model = ScriptedModel::new((0..2).map(|_| ScriptedReply::text("Find the port.")));
        assert!(!summarise(&project, &model).await);
        drop(open);
        assert!(summarise(&project, &model).await);
    }

    #[tokio::test]
    async fn cancelled_it_leaves_everything_for_the_next_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = project(folder.path(), &["22222222-last", "33333333-now"]);
        let model = ScriptedModel::default();
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(!summarise_until(&project, &model, &cancel).await);
        let listing = project.store().list_afresh().expect("a list");
        assert_eq!(listing.sessions[0].metadata.scratchpad, Scratchpad::Missing);
    }
}
