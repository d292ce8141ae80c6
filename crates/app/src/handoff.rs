//! Hands a session over to an agent: compacts it, completes it with the rules that were lost before, and has it written into the
//! agent's own store.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use longhaul_compaction::{Input, Outcome, Tracker, Trigger, compact_offline, prepare};
use longhaul_companion::{
    GuardRoom, GuardedAgent, Handoff, HandoffChange, HandoffError, HandoffTarget, SessionRecord,
    UndoneHandoff, apply_handoff, guard_texts, handoff_notes, plan_append, plan_handoff, session_place,
    undo_handoff,
};
use longhaul_conversation::{Body, Message, Origin, Output, Part, Role, Timestamp, TokenCount};
use longhaul_formats::new_opencode_session_id;
use longhaul_stores::{Agent, FoundSession, read_session_document, split_session_path};
use longhaul_workspace::{
    Environment, Home, LockTimeout, Projects, create_private_folder, write_private_atomically,
};
use serde_json::Value;

use crate::clock::now;
use crate::companion::agent_places;
use crate::compression::{LoadedSession, PassRequest, plan_options};
use crate::environment;
use crate::failure::hinted;
use crate::found::{self, Reach};
use crate::models::ContextWindow;
use crate::sessions::{Input as SessionInput, new_id, open};
use crate::settings::Settings;

/// The place where a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// In a new session.
    New,
    /// At the end of the session itself.
    Appended,
}

/// A hand-over that was made.
#[derive(Debug)]
pub struct HandedOver {
    /// The text written, and what the format could not hold.
    pub handoff: Handoff,
    /// The size of the conversation before.
    pub before: TokenCount,
    /// Its size now.
    pub after: TokenCount,
    /// The rules in force, all of which arrive.
    pub rules: usize,
    /// The open requests.
    pub open: usize,
    /// The changed files.
    pub files: usize,
    /// Conversations of sub-agents, which stay where they are.
    pub side_chains: usize,
    /// Texts too long for the conversation, in files that it points to.
    pub saved: Vec<PathBuf>,
    /// The way to go on.
    pub next: NextStep,
}

/// The way to go on with a session that was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// This command continues it.
    Resume(String),
    /// The agent has to import this file first: its program is not here, or refused it.
    Import {
        /// The command that imports it.
        import: String,
        /// The command that then continues it.
        resume: String,
        /// The reason.
        reason: String,
    },
}

/// Compacts a session and writes it into the agent's store. `watch` follows how far it was read.
///
/// # Errors
/// If the session cannot be read, does not fit, or the agent's files cannot be written.
pub fn hand_over(
    agent: GuardedAgent,
    file: &Path,
    window: Option<TokenCount>,
    continuation: Continuation,
    settings: &Settings,
    watch: impl FnOnce(SessionInput) -> Box<dyn std::io::Read>,
) -> anyhow::Result<HandedOver> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut watch(open(file)?), &mut bytes)
        .with_context(|| format!("could not read {}", file.display()))?;
    let loaded = LoadedSession::read(file, bytes.as_slice(), &settings.estimator(), None)?;
    if loaded.session.transcript.messages().is_empty() {
        return Err(hinted(
            anyhow!("{} has no messages", file.display()),
            "pass a session with messages; `longhaul sessions list` shows them",
        ));
    }
    let directory = directory_of(loaded.session.info.directory.as_deref());
    let places = agent_places(&directory)?;
    let counted = loaded.counted_size(&settings.estimator());
    let found = ContextWindow::find(window, settings, &loaded.session.info, counted.map(|size| size.highest));
    let window = found.at_most(if window.is_none() { usual_window(agent) } else { found.size });
    let LoadedSession { mut session, tracker, .. } = loaded;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let request = PassRequest { trigger: Trigger::Forced, focus: None, name };
    let options = plan_options(request, settings, &session, window, counted);
    let prepared = prepare(session.transcript.take_messages(), options.empty);
    let mut outcome = compact_offline(&Input::new(&tracker, &prepared, &options));
    if let longhaul_compaction::Rung::DoesNotFit(refusal) = &outcome.plan.rung {
        let error = anyhow!(outcome.reason.clone()).context("could not shorten the session enough");
        return Err(hinted(error, refusal.part.remedy()));
    }
    let mut messages = outcome.messages.take().unwrap_or_else(|| prepared.messages.into_owned());
    messages.iter_mut().for_each(|message| message.usage = None);
    complete(&mut messages, &tracker, file, session.info.compactions > 0 && !outcome.status.is_change());
    let count = messages.len();
    let at = now();
    let target = HandoffTarget {
        agent,
        id: id_for(agent, at),
        directory: directory.clone(),
        at,
        version: (agent == GuardedAgent::Claude).then(|| claude_version(file, &places.claude)).flatten(),
        model: (agent == GuardedAgent::Opencode).then(opencode_model).flatten(),
    };
    let saved = save_texts(&outcome, &mut messages, &places.notes.join("saved").join(&target.id))?;
    session.transcript = session.transcript.with_messages(messages);
    let side_chains = session.side_chains.len();
    let handoff = match continuation {
        Continuation::Appended => plan_append(&mut session, &target, file.to_path_buf(), &bytes, new_id),
        Continuation::New => {
            let chats =
                if agent == GuardedAgent::Gemini { gemini_chats(&directory)? } else { PathBuf::new() };
            let path = session_place(agent, &places, &chats, &directory, &target.id, at);
            Ok(plan_handoff(&mut session, &target, path, new_id))
        }
    };
    let handoff = handoff.map_err(failure)?;
    // A result stands with its call there, so that messages are fewer.
    let count = written_messages(&handoff).unwrap_or(count);
    apply_handoff(&handoff, &places, count).map_err(failure)?;
    let next = next_step(&handoff);
    Ok(HandedOver {
        before: outcome.before,
        after: outcome.after,
        rules: tracker.rules().active().count(),
        open: tracker.requests().open_requests().count(),
        files: tracker.ledger().files().filter(|(_, file)| file.state.is_change()).count(),
        side_chains,
        saved,
        next,
        handoff,
    })
}

/// The number of messages in a document of opencode's.
fn written_messages(handoff: &Handoff) -> Option<usize> {
    let HandoffChange::Create { text, .. } = &handoff.change else { return None };
    let is_document = handoff.agent == GuardedAgent::Opencode;
    let document: Value = is_document.then(|| serde_json::from_str(text).ok()).flatten()?;
    document["messages"].as_array().map(Vec::len)
}

/// Takes back the newest hand-over to an agent, or that of this id.
///
/// # Errors
/// If there is none, or the session went on since.
pub fn take_back(agent: GuardedAgent, id: Option<&str>) -> anyhow::Result<UndoneHandoff> {
    let places = agent_places(&environment::current_folder())?;
    if agent == GuardedAgent::Opencode {
        let notes = handoff_notes(&places, agent);
        let note = notes.iter().rev().find(|note| id.is_none_or(|id| note.id.starts_with(id)));
        if let Some(note) = note {
            leave_opencode(&note.id, note.messages)?;
        }
    }
    let undone = undo_handoff(agent, id, &places).map_err(failure)?;
    std::fs::remove_dir_all(places.notes.join("saved").join(&undone.id)).ok();
    Ok(undone)
}

/// The folder in which the session goes on: its own where that is here, else the current one.
fn directory_of(own: Option<&str>) -> PathBuf {
    let own = own.map(PathBuf::from).filter(|own| own.is_absolute() && own.is_dir());
    own.unwrap_or_else(environment::current_folder)
}

/// The window of the agent's usual models, which a session from an agent with a larger one must fit.
fn usual_window(agent: GuardedAgent) -> TokenCount {
    TokenCount(match agent {
        GuardedAgent::Gemini => 1_000_000,
        GuardedAgent::Claude | GuardedAgent::Codex => 200_000,
        GuardedAgent::Opencode => 128_000,
    })
}

/// A new id, as the agent makes them: Codex sorts its sessions by UUIDs that begin with the time.
fn id_for(agent: GuardedAgent, at: Timestamp) -> String {
    match agent {
        GuardedAgent::Codex => {}
        GuardedAgent::Opencode => return new_opencode_session_id(&new_id(), at),
        GuardedAgent::Claude | GuardedAgent::Gemini => return new_id(),
    }
    let random = *uuid::Uuid::new_v4().as_bytes();
    let mut tail = [0; 10];
    tail.copy_from_slice(&random[6..]);
    uuid::Builder::from_unix_timestamp_millis(at.as_millis().unsigned_abs(), &tail).into_uuid().to_string()
}

/// Adds what the conversation does not say: rules that an agent's own compaction had lost, with requests and work. `is_short`
/// is true if no compaction of ours says it.
fn complete(messages: &mut Vec<Message>, tracker: &Tracker, file: &Path, is_short: bool) {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: String =
        messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text).map(plain).collect();
    let is_missing = tracker.rules().active().any(|rule| !said.contains(&plain(&rule.text)));
    if !is_missing && !is_short {
        return;
    }
    let record = SessionRecord {
        rules: tracker.rules().clone(),
        requests: tracker.requests().clone(),
        ledger: tracker.ledger().clone(),
        ..SessionRecord::default()
    };
    let room = GuardRoom { handlers: 1, characters: 400_000, tokens: None };
    let Some(text) = guard_texts(&record, &file.to_string_lossy(), room).into_iter().next() else { return };
    let is_summary = |message: &Message| message.parts.iter().any(|part| part.origin == Origin::Summary);
    let place = usize::from(messages.first().is_some_and(is_summary));
    messages.insert(place, Message::new(new_id(), Role::User, vec![Part::text(Origin::Hook, text)]));
}

/// Saves the texts that the conversation only points to, and points to where they lie.
fn save_texts(outcome: &Outcome, messages: &mut [Message], folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut saved = Vec::new();
    for file in &outcome.files {
        let path = folder.join(&file.file);
        if !path.starts_with(folder) || file.file.contains("..") {
            return Err(anyhow!("invalid path for a saved text: {}", file.file));
        }
        create_private_folder(path.parent().unwrap_or(folder))?;
        write_private_atomically(&path, file.text.as_bytes())?;
        let shown = path.display().to_string();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            match &mut part.body {
                Body::Text(text) => *text = text.replace(&file.file, &shown),
                Body::Result(result) => {
                    if let Output::Text(text) = &mut result.output {
                        *text = text.replace(&file.file, &shown);
                    }
                }
                _ => {}
            }
        }
        saved.push(path);
    }
    Ok(saved)
}

/// The version of Claude Code that wrote this session or, where it is another agent's, its newest one here.
fn claude_version(file: &Path, claude: &Path) -> Option<String> {
    let of_file = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?;
        let line =
            text.lines().rev().find(|line| line.contains("\"version\":\"") && line.contains("\"uuid\""))?;
        serde_json::from_str::<Value>(line).ok()?.get("version")?.as_str().map(str::to_string)
    };
    let newest = || {
        let sessions = found::find(Reach::Everything).sessions;
        sessions.into_iter().find(|session| session.path.starts_with(claude)).map(|session| session.path)
    };
    file.starts_with(claude).then(|| of_file(file)).flatten().or_else(|| of_file(&newest()?))
}

/// The provider and model that opencode was used with last.
fn opencode_model() -> Option<String> {
    let sessions = found::find(Reach::Everything).sessions;
    sessions.iter().filter(|session| session.agent == Agent::Opencode).take(20).find_map(|session| {
        let document = document_of(session)?;
        let messages = document.get("messages")?.as_array()?;
        messages.iter().rev().find_map(|message| {
            let info = message.get("info")?;
            let model = info.get("model")?;
            let (provider, model) = (model.get("providerID")?.as_str()?, model.get("modelID")?.as_str()?);
            (provider != "unknown").then(|| format!("{provider}/{model}"))
        })
    })
}

fn document_of(session: &FoundSession) -> Option<Value> {
    let (database, id) = split_session_path(&session.path)?;
    serde_json::from_slice(&read_session_document(&database, &id).ok()?).ok()
}

/// The folder in which Gemini CLI keeps the sessions of a project.
fn gemini_chats(directory: &Path) -> anyhow::Result<PathBuf> {
    // A home of our own is none of Gemini CLI's.
    let environment = Environment { longhaul_home: None, ..environment::of_process() };
    let home = Home::resolve(&environment)?;
    let project = Projects::of(&home).identify(directory, LockTimeout::default())?;
    Ok(home.project(&project.id).chats())
}

/// The command that goes on with the session; opencode imports it first.
fn next_step(handoff: &Handoff) -> NextStep {
    let resume = in_directory(&handoff.directory, &handoff.agent.resume_command(&handoff.id));
    let HandoffChange::Create { path, .. } = &handoff.change else { return NextStep::Resume(resume) };
    if handoff.agent != GuardedAgent::Opencode {
        return NextStep::Resume(resume);
    }
    match run_opencode(&["import", &path.display().to_string()], &handoff.directory) {
        Ok(()) => NextStep::Resume(resume),
        Err(reason) => {
            let import = format!("opencode import {}", found::quoted(&path.display().to_string()));
            NextStep::Import { import: in_directory(&handoff.directory, &import), resume, reason }
        }
    }
}

/// The command, to be run in a folder that may be another one.
fn in_directory(directory: &Path, command: &str) -> String {
    match directory == environment::current_folder() {
        true => command.to_string(),
        false => format!("cd {} && {command}", found::quoted(&directory.display().to_string())),
    }
}

/// The longest that opencode may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs opencode's own program; the reason if it is not here, failed or never ended.
fn run_opencode(arguments: &[&str], directory: &Path) -> Result<(), String> {
    let mut command = Command::new("opencode");
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("`opencode` is not on your PATH".into());
        }
        Err(error) => return Err(format!("could not start `opencode`: {error}")),
    };
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`opencode {}` failed ({status})", arguments[0])),
            Ok(None) if started.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`opencode {}` did not end", arguments[0]));
            }
        }
    }
}

/// Has opencode delete a session that was handed over to it, unless it went on.
fn leave_opencode(id: &str, messages: usize) -> anyhow::Result<()> {
    let sessions = found::find(Reach::Everything).sessions;
    let Some(session) = sessions.iter().find(|session| session.head.id == id) else { return Ok(()) };
    let document = document_of(session).unwrap_or_default();
    let now = document["messages"].as_array().map_or(0, Vec::len);
    if now > messages {
        let turns = document["messages"].as_array().into_iter().flatten().skip(messages);
        let turns = turns.filter(|message| message["info"]["role"] == "user").map(|message| {
            let parts = message["parts"].as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" ")
        });
        return Err(failure(HandoffError::Grown { path: session.path.clone(), turns: turns.collect() }));
    }
    run_opencode(&["session", "delete", id], &environment::current_folder()).map_err(|reason| {
        hinted(
            anyhow!(reason).context("could not take the session back"),
            format!("delete it with `opencode session delete {id}`"),
        )
    })
}

/// An error with its hint.
fn failure(error: HandoffError) -> anyhow::Error {
    let hint = match &error {
        HandoffError::OtherAgent { .. } => "leave out --append: a new session is made".to_string(),
        HandoffError::NotAppendable { .. } => "leave out --append: a new session is made".to_string(),
        HandoffError::Torn { .. } | HandoffError::Changed { .. } => {
            "end the agent that is writing it, then try again".to_string()
        }
        HandoffError::NothingToUndo { .. } => {
            "`longhaul handoff AGENT` prints the id; name it to take back an older one".to_string()
        }
        HandoffError::Grown { turns, .. } => match turns.as_slice() {
            [] => "the agent wrote to it; nothing was changed".to_string(),
            turns => {
                let shown: Vec<String> =
                    turns.iter().take(5).map(|turn| format!("\"{}\"", shortened(turn))).collect();
                let more = if turns.len() > 5 { ", …" } else { "" };
                format!("it would take these turns with it: {}{more}; nothing was changed", shown.join(", "))
            }
        },
        HandoffError::Io { .. } | HandoffError::Workspace(_) => return anyhow::Error::new(error),
    };
    hinted(error, hint)
}

fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
