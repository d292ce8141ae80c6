//! Imports a recorded session of any format into this project.

use std::path::Path;

use anyhow::anyhow;
use longhaul_conversation::Message;
use longhaul_formats::{Entry, EntryKind, Session, Setup, SideChain};
use longhaul_sessions::{Log, LogError, NewSession, SessionKind};
use uuid::Uuid;

use super::input::{ProgressReader, display_name};
use super::load;
use crate::clock::now;
use crate::failure::hinted;
use crate::project::Project;

/// Reads a session of any format; an error if it has no messages.
pub fn read(file: &Path, watch: ProgressReader<'_>) -> anyhow::Result<Session> {
    let session = load(file, watch)?;
    if session.transcript.messages().is_empty() {
        let name = display_name(file);
        return Err(hinted(anyhow!("{name} has no messages"), "pass a session with messages"));
    }
    Ok(session)
}

/// Imports a session of any format: returns its log, open to be continued, and its id here.
pub fn bring_in(project: &Project, session: &Session) -> Result<(Log, String), LogError> {
    let (mut log, id) = begin(project, session)?;
    let imported = fill(&mut log, session).and_then(|()| import_side_chains(project, &id, session));
    if let Err(error) = imported {
        // Half a session is worse than none: the file it came from is still there.
        let path = log.path().to_path_buf();
        drop(log);
        std::fs::remove_file(&path).ok();
        return Err(error);
    }
    Ok((log, id))
}

/// Begins the log. The session keeps its id if nothing here has it already.
fn begin(project: &Project, session: &Session) -> Result<(Log, String), LogError> {
    let own = session.info.session_id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
    let listing = project.store().list();
    let is_free = |id: &String| {
        // Where nobody knows what there is, an id of our own is safer.
        listing.as_ref().is_ok_and(|listing| listing.sessions.iter().all(|listed| listed.id() != id))
    };
    let id = own.map(|id| id.to_string()).filter(is_free).unwrap_or_else(new_id);
    let new = new_session(project, session, id);
    match Log::create(&project.home.chats(), &new) {
        // Another session has the same beginning of its id, and began in the same minute.
        Err(LogError::AlreadyThere { .. }) => {
            let new = NewSession { id: new_id(), ..new };
            Ok((Log::create(&project.home.chats(), &new)?, new.id))
        }
        log => Ok((log?, new.id)),
    }
}

fn new_session(project: &Project, session: &Session, id: String) -> NewSession {
    let first = session.transcript.messages().iter().filter_map(|message| message.at).min();
    NewSession {
        id,
        project_hash: project.hash(),
        kind: SessionKind::Main,
        directories: vec![project.folder.display().to_string()],
        at: session.info.started.or(first).unwrap_or_else(now),
    }
}

fn fill(log: &mut Log, session: &Session) -> Result<(), LogError> {
    let transcript = &session.transcript;
    if !transcript.system.is_empty() || !transcript.tools.is_empty() {
        let setup = Setup { system: transcript.system.clone(), tools: transcript.tools.clone() };
        log.record(&Entry { id: new_id(), at: Some(now()), kind: EntryKind::Setup(setup) })?;
    }
    append(log, transcript.messages())?;
    if let Some(title) = session.info.title.as_deref().filter(|title| !title.is_empty()) {
        log.set_summary(title)?;
    }
    // What was said long ago is new here: nothing that cleans up may take it for a session nobody needs.
    log.set_updated(now())?;
    log.sync()
}

/// Messages are written in pieces, so that no single write is as large as the session.
fn append(log: &mut Log, messages: &[Message]) -> Result<(), LogError> {
    messages.chunks(64).try_for_each(|chunk| log.append_all(chunk))
}

fn import_side_chains(project: &Project, parent: &str, session: &Session) -> Result<(), LogError> {
    for SideChain { id, messages, .. } in &session.side_chains {
        let first = messages.iter().filter_map(|message| message.at).min();
        let new = NewSession {
            id: id.clone(),
            project_hash: project.hash(),
            kind: SessionKind::Subagent { parent: parent.to_string() },
            directories: vec![project.folder.display().to_string()],
            at: first.unwrap_or_else(now),
        };
        let mut log = Log::create(&project.home.chats(), &new)?;
        append(&mut log, messages)?;
        log.sync()?;
    }
    Ok(())
}

/// An id for a session, or for a record in one.
pub fn new_id() -> String {
    // Files are named by the first eight characters, which must differ between sessions of one minute.
    Uuid::new_v4().to_string()
}
