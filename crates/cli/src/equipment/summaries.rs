//! Lines on what sessions were about, and notes on how they went, written into their files.

use std::fs::File;
use std::path::Path;

use longhaul_agent::{Helper, SessionNotes, summarise_session};
use longhaul_conversation::Message;
use longhaul_session::{ListedSession, Listing, Log, LogError, Replay, Scratchpad, Store};
use tokio_util::sync::CancellationToken;

/// Says what the latest session before this one was about, if nobody has yet; tells whether anything was written.
///
/// Nothing waits for it: cancelled, it leaves the session for the next time.
pub(crate) async fn summarise_previous(
    store: &Store,
    root: &Path,
    current: &str,
    helper: Helper<'_>,
    cancel: &CancellationToken,
) -> anyhow::Result<bool> {
    let listing = store.list()?;
    let Some(previous) = unsummarised(&listing, current) else { return Ok(false) };
    // The file is not held while a model thinks: somebody may want to go on with the session.
    let messages: Vec<Message> =
        Replay::read(File::open(&previous.path)?)?.said().into_iter().cloned().collect();
    let summary = match &previous.metadata.summary {
        Some(_) => None,
        None => summarise_session(&messages, helper, cancel).await,
    };
    if cancel.is_cancelled() {
        return Ok(false);
    }
    match keep_summary(&previous.path, summary.as_deref(), &SessionNotes::of(&messages, root)) {
        Ok(()) => Ok(true),
        // Whoever goes on with it has more to say.
        Err(LogError::InUse { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The latest other session, if it was a conversation and there are no notes on all of it yet.
fn unsummarised<'a>(listing: &'a Listing, current: &str) -> Option<&'a ListedSession> {
    let others = listing.sessions.iter().filter(|session| !session.is_current(current));
    let latest = others.max_by_key(|session| session.updated)?;
    let is_open = latest.metadata.scratchpad != Scratchpad::Fresh;
    (is_open && latest.metadata.user_message_count > 1).then_some(latest)
}

/// Writes a line and notes into the file of a session that nobody has open.
pub(crate) fn keep_summary(path: &Path, summary: Option<&str>, notes: &SessionNotes) -> Result<(), LogError> {
    let mut log = Log::open_existing(path)?;
    if let Some(summary) = summary {
        log.set_summary(summary)?;
    }
    // Notes are written even without a line: what no model could say once is not asked for ever again.
    log.set_scratchpad(&serde_json::to_value(notes).expect("notes are plain data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use longhaul_conversation::{ModelError, Part, Role, ScriptedModel, ScriptedReply, Timestamp};
    use longhaul_session::{NewSession, SessionKind};
    use longhaul_workspace::{Environment, Home, Patience, Projects};

    /// A project with sessions of which the later ones are newer.
    fn store(folder: &Path, sessions: &[&str]) -> Store {
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
        Store::of(&project)
    }

    async fn summarise(store: &Store, model: &ScriptedModel) -> bool {
        let (helper, cancel) = (Helper { model, name: "small" }, CancellationToken::new());
        let root = Path::new("/app");
        summarise_previous(store, root, "33333333-now", helper, &cancel).await.expect("it can be written")
    }

    fn summaries(store: &Store) -> Vec<Option<String>> {
        store
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
        let store = store(folder.path(), &["11111111-old", "22222222-last", "33333333-now"]);
        let before = store.list().expect("a list").sessions[1].updated;
        let model = ScriptedModel::new([ScriptedReply::text("Find the port.")]);
        assert!(summarise(&store, &model).await);
        assert_eq!(summaries(&store), [None, Some("Find the port.".to_string()), None]);
        let listing = store.list_afresh().expect("a list");
        assert_eq!(
            (listing.sessions[1].updated, listing.sessions[1].metadata.scratchpad),
            (before, Scratchpad::Fresh)
        );
        assert!(!summarise(&store, &model).await);
        assert_eq!(model.requests().len(), 1);
    }

    #[tokio::test]
    async fn a_model_that_fails_is_not_asked_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &["22222222-last", "33333333-now"]);
        let model = ScriptedModel::new([ScriptedReply::error(ModelError::TooLong)]);
        assert!(summarise(&store, &model).await && !summarise(&store, &model).await);
        assert_eq!((summaries(&store), model.requests().len()), (vec![None, None], 1));
    }

    #[tokio::test]
    async fn whoever_has_a_session_open_keeps_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &["22222222-last", "33333333-now"]);
        let path = store.list().expect("a list").sessions[0].path.clone();
        let open = Log::open_existing(&path).expect("a log");
        let model = ScriptedModel::new((0..2).map(|_| ScriptedReply::text("Find the port.")));
        assert!(!summarise(&store, &model).await);
        drop(open);
        assert!(summarise(&store, &model).await);
    }

    #[tokio::test]
    async fn cancelled_it_leaves_everything_for_the_next_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &["22222222-last", "33333333-now"]);
        let model = ScriptedModel::default();
        let helper = Helper { model: &model, name: "small" };
        let cancel = CancellationToken::new();
        cancel.cancel();
        let done = summarise_previous(&store, Path::new("/app"), "33333333", helper, &cancel).await;
        assert!(!done.expect("nothing went wrong"));
        let listing = store.list_afresh().expect("a list");
        assert_eq!(listing.sessions[0].metadata.scratchpad, Scratchpad::Missing);
    }
}
