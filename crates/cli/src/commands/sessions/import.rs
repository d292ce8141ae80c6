//! `longhaul sessions import FILE`: makes a session of this project from a recorded session of any format.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use longhaul_conversation::Message;
use longhaul_session::{Entry, EntryKind, Log, LogError, NewSession, Session, SessionKind, Setup, SideChain};
use serde_json::json;
use uuid::Uuid;

use crate::clock::now;
use crate::failure::hinted;
use crate::input::display_name;
use crate::output::{Color, Screen, plural, print_json, visible};
use crate::project::{Project, log_failure};
use crate::reports::written as report;

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// The session: a file of any known format, or - for standard input.
    file: PathBuf,
    /// Reports in one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ImportOptions, color: Color) -> anyhow::Result<()> {
    let session = read(&options.file)?;
    let (project, notes) = Project::find_or_begin()?;
    let (log, id) = bring_in(&project, &session).map_err(log_failure)?;
    let count = session.transcript.messages().len();
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "id": id,
            "file": log.path(),
            "format": session.info.format.as_str(),
            "messages": count,
            "subagents": session.side_chains.len(),
            "warnings": session.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "notes": notes,
        }));
    }
    let aside = Screen::of_stderr(color);
    eprint!("{}", report::warnings(&session, &aside));
    for note in notes {
        eprintln!("{} {}", aside.faint("note:"), visible(&note));
    }
    let screen = Screen::of_stdout(color);
    let mut text = format!(
        "Imported {} from {} as session {}.\n",
        plural(count, "message", "messages"),
        session.info.format,
        screen.strong(&id),
    );
    if !session.side_chains.is_empty() {
        let chains = plural(session.side_chains.len(), "sub-agent came", "sub-agents came");
        text.push_str(&format!("{chains} with it.\n"));
    }
    text.push_str(&format!("`longhaul sessions show {id}` shows it.\n"));
    crate::output::print(&text)
}

/// Reads a session in which something was said, of any format.
pub(crate) fn read(file: &Path) -> anyhow::Result<Session> {
    let session = super::load(file)?;
    if session.transcript.messages().is_empty() {
        let name = display_name(file);
        return Err(hinted(anyhow!("{name} has no messages"), "name a session in which something was said"));
    }
    Ok(session)
}

/// Makes a session of this project from one of any format: its log, open to go on with, and its id here.
pub(crate) fn bring_in(project: &Project, session: &Session) -> Result<(Log, String), LogError> {
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
pub(crate) fn new_id() -> String {
    // Files are named by the first eight characters, which must differ between sessions of one minute.
    Uuid::new_v4().to_string()
}
