//! Records conversations as sessions of Longhaul, so that `sessions` and `recall` find them. Secrets are replaced before
//! anything is written.

use std::collections::HashMap;

use longhaul_app::project::Project;
use longhaul_app::sessions::{Redaction, new_id};
use longhaul_conversation::{Change, Message, MessageId, Origin, Part, Role, Timestamp};
use longhaul_sessions::{Log, LogError, NewSession, SessionKind, title_from};
use longhaul_workspace::project_hash;

use crate::body::RequestBody;
use crate::recipe::decode_items;
use crate::store::TrunkRecord;

/// Sessions that are being recorded.
#[derive(Debug, Default)]
pub(crate) struct SessionRecorder {
    project: Option<Project>,
    /// The logs that are open, by session, with the time of their last use.
    open: HashMap<String, (u64, Log)>,
    clock: u64,
    redaction: Redaction,
}

/// So many logs are kept open: each holds its session in memory.
const MOST_OPEN: usize = 3;

/// A failure to record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("the project has no place for sessions")]
    NoProject(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the session could not be written")]
    Log(#[from] LogError),
}

impl SessionRecorder {
    /// Records what a request says that is not recorded yet, and its answer.
    pub(crate) fn record(
        &mut self,
        trunk: &mut TrunkRecord,
        body: &RequestBody<'_>,
        answer: Option<&Message>,
        at: Timestamp,
    ) -> Result<(), RecordError> {
        let items = body.items.len();
        // The client's own form of an answer that is recorded already is not recorded again.
        let answered = usize::from(trunk.has_answer && items > trunk.recorded);
        let from = (trunk.recorded + answered).min(items);
        let mut messages: Vec<Message> = decode_items(body, from, items);
        if answered == 1 && body.items.get(trunk.recorded).is_none() {
            messages.clear();
        }
        messages.extend(answer.cloned());
        if messages.is_empty() {
            return Ok(());
        }
        let id = match trunk.session.clone() {
            Some(id) => id,
            None => new_id(),
        };
        for (number, message) in messages.iter_mut().enumerate() {
            message.id = MessageId::new(format!("{id}-{}-{number}", trunk.requests));
            message.at = Some(at);
            message.ordinal = None;
            let mut change =
                Change::Put(std::mem::replace(message, Message::new("", Role::User, Vec::new())));
            self.redaction.change(&mut change);
            if let Change::Put(clean) = change {
                *message = clean;
            }
        }
        let log = self.log(&id, trunk.session.is_some(), at)?;
        log.append_all(&messages)?;
        // Beside texts of the client's own, listings do not find what was asked.
        if trunk.session.is_none()
            && let Some(request) = messages.iter().find_map(typed_text)
        {
            log.set_summary(&title_from(&request))?;
        }
        trunk.session = Some(id);
        trunk.recorded = items;
        trunk.has_answer = answer.is_some();
        Ok(())
    }

    fn log(&mut self, id: &str, is_known: bool, at: Timestamp) -> Result<&mut Log, RecordError> {
        self.clock += 1;
        let clock = self.clock;
        if !self.open.contains_key(id) {
            let log = self.open_log(id, is_known, at)?;
            if self.open.len() >= MOST_OPEN
                && let Some(oldest) =
                    self.open.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone())
            {
                self.open.remove(&oldest);
            }
            self.open.insert(id.to_string(), (clock, log));
        }
        let (used, log) = self.open.get_mut(id).expect("the log was just opened");
        *used = clock;
        Ok(log)
    }

    fn open_log(&mut self, id: &str, is_known: bool, at: Timestamp) -> Result<Log, RecordError> {
        let project = match &self.project {
            Some(project) => project,
            None => {
                let (project, _) =
                    Project::find_or_begin().map_err(|error| RecordError::NoProject(error.into()))?;
                self.project.insert(project)
            }
        };
        let new = NewSession {
            id: id.to_string(),
            project_hash: project_hash(&project.folder),
            kind: SessionKind::Main,
            directories: vec![project.folder.display().to_string()],
            at,
        };
        let chats = project.home.chats();
        if is_known && let Some(path) = find_log(project, id) {
            return Ok(Log::open(&path, &new)?);
        }
        Ok(Log::create(&chats, &new)?)
    }
}

/// The words of a message that a person typed.
fn typed_text(message: &Message) -> Option<String> {
    let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
    let text = typed.filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    (message.role == Role::User && !text.trim().is_empty()).then_some(text)
}

fn find_log(project: &Project, id: &str) -> Option<std::path::PathBuf> {
    let listing = project.store().list().ok()?;
    listing.sessions.iter().find(|session| session.id() == id).map(|session| session.path.clone())
}
