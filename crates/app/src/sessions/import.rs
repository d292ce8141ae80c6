//! Imports a recorded session of any format into this project, with all that was said in it.
//!
//! What the other agent had compacted away is in the log as if it had been said here, and each of its compactions is a record
//! of ours: the model sees what it saw before, `undo` brings back what a compaction took away, and programs that pass our
//! records over see everything. A log of Gemini CLI or of Longhaul is copied record by record.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_conversation::{
    Estimator, Message, MessageId, Origin, Part, Role, TokenCount, fingerprint_message,
};
use longhaul_directives::QuotedRule;
use longhaul_formats::{
    Compaction, CompactionReport, CompactionTokens, Entry, EntryKind, Format, HistoryStep, IMPORTED,
    RuleChange, Session, SessionHistory, Setup, SideChain, detect_format, read_history, same_but_for_marks,
};
use longhaul_sessions::{Log, LogError, NewSession, SessionKind, load_metadata, title_from};
use uuid::Uuid;

use super::input::{self, ProgressReader, display_name};
use crate::clock::now;
use crate::failure::hinted;
use crate::kept_rules::kept_rules;
use crate::project::{Project, session_file};

/// A recorded session, ready to be imported.
#[derive(Debug)]
pub struct RecordedSession {
    history: SessionHistory,
    /// The file and its records, if it is a log that can be copied.
    records: Option<(PathBuf, Vec<u8>)>,
    /// Rules that were kept beside it.
    kept: Vec<QuotedRule>,
}

impl RecordedSession {
    /// The session as it stood at the end.
    pub fn session(&self) -> &Session {
        &self.history.session
    }
}

/// A session that was imported.
#[derive(Debug)]
pub struct ImportedSession {
    /// Its log, open to be continued.
    pub log: Log,
    /// Its id here.
    pub id: String,
}

/// Reads a session of any format; an error if it has no messages.
pub fn read(given: &Path, watch: ProgressReader<'_>) -> anyhow::Result<RecordedSession> {
    let file = session_file(given)?;
    let name = display_name(&file);
    let failed = || format!("could not read {name}");
    let mut bytes = Vec::new();
    watch(input::open(&file)?).read_to_end(&mut bytes).with_context(failed)?;
    let history = read_history(bytes.as_slice()).with_context(failed)?;
    if history.session.transcript.messages().is_empty() {
        return Err(hinted(anyhow!("{name} has no messages"), "pass a session with messages"));
    }
    let is_log = detect_format(bytes.as_slice()).is_ok_and(|format| format == Format::GeminiJsonl);
    let kept = kept_rules(&file)?;
    Ok(RecordedSession { history, records: is_log.then_some((file, bytes)), kept })
}

/// The session of this project that a recorded one was imported as, or that it is.
pub fn already_here(project: &Project, recorded: &RecordedSession) -> Option<String> {
    let own = source_id(recorded.session())?.to_string();
    let listing = project.store().list().ok()?;
    let found = listing.sessions.iter().find(|listed| listed.id() == own)?;
    Some(found.id().to_string())
}

/// Imports a session.
pub fn bring_in(project: &Project, recorded: &RecordedSession) -> Result<ImportedSession, LogError> {
    let (mut log, id) = begin(project, recorded)?;
    let filled = fill(&mut log, recorded);
    if let Err(error) = filled.and_then(|()| import_side_chains(project, &id, recorded.session())) {
        // Half a session is worse than none: the file it came from is still there.
        let path = log.path().to_path_buf();
        drop(log);
        std::fs::remove_file(&path).ok();
        return Err(error);
    }
    Ok(ImportedSession { log, id })
}

/// Begins the log. The session keeps its id if nothing here has it already.
fn begin(project: &Project, recorded: &RecordedSession) -> Result<(Log, String), LogError> {
    let session = recorded.session();
    let own = source_id(session);
    let listing = project.store().list();
    let is_free = |id: &String| {
        // Where nobody knows what there is, an id of our own is safer.
        listing.as_ref().is_ok_and(|listing| listing.sessions.iter().all(|listed| listed.id() != id))
    };
    let id = own.map(|id| id.to_string()).filter(is_free).unwrap_or_else(new_id);
    let new = new_session(project, session, id);
    let chats = project.home.chats();
    let create = |new: &NewSession| match &recorded.records {
        Some((file, records)) => Log::fork_from(records.as_slice(), file, &chats, new, None),
        None => Log::create(&chats, new),
    };
    match create(&new) {
        // Another session has the same beginning of its id, and began in the same minute.
        Err(LogError::AlreadyThere { .. }) => {
            let new = NewSession { id: new_id(), ..new };
            Ok((create(&new)?, new.id))
        }
        log => Ok((log?, new.id)),
    }
}

/// The id under which a session is imported: its own, or one that follows from its name and first message; without a name,
/// from all that was said.
fn source_id(session: &Session) -> Option<Uuid> {
    let own = session.info.session_id.as_deref();
    if let Some(id) = own.and_then(|id| Uuid::parse_str(id).ok()) {
        return Some(id);
    }
    let told = session.transcript.messages();
    let told = if own.is_some() { told.get(..1)? } else { told };
    let prints: String = told.iter().map(|message| fingerprint_message(message).to_string()).collect();
    let seed = format!("{} {} {prints}", session.info.format.as_str(), own.unwrap_or_default());
    let seed = Message::new("", Role::User, vec![Part::user_text(seed)]);
    let bits = u128::from_str_radix(&fingerprint_message(&seed).to_string(), 16).ok()?;
    Some(uuid::Builder::from_custom_bytes(bits.to_be_bytes()).into_uuid())
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

/// Writes everything behind the header. The times are those of the session; only when it was imported is new.
fn fill(log: &mut Log, recorded: &RecordedSession) -> Result<(), LogError> {
    let session = recorded.session();
    let info = &session.info;
    if recorded.records.is_none() {
        let transcript = &session.transcript;
        if !transcript.system.is_empty() || !transcript.tools.is_empty() {
            let setup = Setup { system: transcript.system.clone(), tools: transcript.tools.clone() };
            log.record(&Entry { id: new_id(), at: info.started, kind: EntryKind::Setup(setup) })?;
        }
        take_steps(log, &recorded.history)?;
    }
    take_rules(log, &recorded.kept)?;
    let title = info.title.as_deref().filter(|title| !title.trim().is_empty() && !is_summary(title));
    match title {
        Some(title) if recorded.records.is_none() => log.set_summary(title)?,
        Some(_) => {}
        None => name_by_request(log, &recorded.history)?,
    }
    if let Some(ended) = info.ended {
        log.set_updated(ended)?;
    }
    log.set_imported(now())?;
    log.sync()
}

/// Records rules that were kept beside a session, each once: one that the user removed later stays removed.
pub(super) fn take_rules(log: &mut Log, kept: &[QuotedRule]) -> Result<(), LogError> {
    for QuotedRule { text, .. } in kept {
        let is_known =
            |change: &RuleChange| matches!(change, RuleChange::Added { text: known } if known == text);
        if !log.replay().rules().iter().any(is_known) {
            let kind = EntryKind::Rule(RuleChange::Added { text: text.clone() });
            log.record(&Entry { id: new_id(), at: Some(now()), kind })?;
        }
    }
    Ok(())
}

/// Does in the log what was done in the session.
fn take_steps(log: &mut Log, history: &SessionHistory) -> Result<(), LogError> {
    let session = &history.session;
    let mut said: Vec<Message> = Vec::new();
    for step in &history.steps {
        if let HistoryStep::Said(message) = step {
            said.push(Message::clone(message));
            continue;
        }
        append(log, &said)?;
        said.clear();
        match step {
            HistoryStep::Said(_) => {}
            HistoryStep::TakenBack(id) => take_back(log, id)?,
            HistoryStep::Compacted { before, messages } => compact(log, session, *before, messages)?,
        }
    }
    append(log, &said)?;
    // Whatever way the agent went: the model sees what it saw last.
    let seen = session.transcript.messages();
    let shown = log.replay().transcript();
    let is_same = shown.messages().len() == seen.len()
        && shown.messages().iter().zip(seen).all(|(shown, seen)| same_but_for_marks(shown, seen));
    if is_same { Ok(()) } else { compact(log, session, estimate(shown.messages()), seen) }
}

/// Messages are written in pieces, so that no single write is as large as the session.
fn append(log: &mut Log, messages: &[Message]) -> Result<(), LogError> {
    messages.chunks(64).try_for_each(|chunk| log.append_all(chunk))
}

fn take_back(log: &mut Log, id: &MessageId) -> Result<(), LogError> {
    match log.rewind_to(id) {
        Err(LogError::NoSuchMessage { .. }) => Ok(()),
        rewound => rewound,
    }
}

/// Records a compaction of the agent's.
fn compact(
    log: &mut Log,
    session: &Session,
    before: TokenCount,
    messages: &[Message],
) -> Result<(), LogError> {
    let known = |message: &Message| log.replay().message(&message.id).is_some();
    let own: Vec<Message> = messages.iter().filter(|message| !known(message)).cloned().collect();
    let newest = messages.iter().rev().find_map(|message| message.at);
    let at = own.iter().find_map(|message| message.at).or(newest).or(session.info.started);
    let report = CompactionReport {
        status: "compressed".into(),
        rung: IMPORTED.into(),
        reason: format!("compacted before it was imported ({})", session.info.format),
        tokens: CompactionTokens { before, after: estimate(messages), added: estimate(&own) },
        summariser: session.info.format.as_str().into(),
        ..CompactionReport::default()
    };
    let kind = EntryKind::Compaction(Compaction { report, messages: messages.to_vec() });
    log.record(&Entry { id: new_id(), at, kind })
}

fn estimate(messages: &[Message]) -> TokenCount {
    Estimator::default().messages(messages)
}

/// Names the session after its first request, unless that is its name anyway.
fn name_by_request(log: &mut Log, history: &SessionHistory) -> Result<(), LogError> {
    let mut requests = history.messages().filter_map(request_of);
    let Some(first) = requests.next() else { return Ok(()) };
    // The argument of a command, a number or a "yes" says nothing; what was asked next does.
    let telling = (!is_telling(&first)).then(|| requests.find(|request| is_telling(request))).flatten();
    let title = title_from(telling.as_ref().unwrap_or(&first));
    let listed = load_metadata(log.path()).ok().flatten();
    let listed = listed.and_then(|listed| listed.first_user_message).map(|first| title_from(&first));
    if title.is_empty() || listed.as_ref() == Some(&title) { Ok(()) } else { log.set_summary(&title) }
}

/// The words of a message in which a person wants something done.
fn request_of(message: &Message) -> Option<String> {
    let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
    let text = typed.filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    let words = text.trim();
    let is_request = message.role == Role::User && !words.is_empty() && !words.starts_with(['/', '?', '<']);
    (is_request && !is_summary(words)).then(|| words.to_string())
}

fn is_telling(request: &str) -> bool {
    request.split_whitespace().nth(2).is_some()
        || request.chars().filter(|letter| !letter.is_ascii()).nth(3).is_some()
}

/// Returns true for the words with which a summary of an earlier conversation begins.
fn is_summary(text: &str) -> bool {
    text.trim_start().starts_with("This session is being continued from a previous conversation")
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
