//! `longhaul skills extract`: finds in past sessions what happens again and again, without a model.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use longhaul_conversation::Timestamp;
use longhaul_session::{ListedSession, SessionRole, StoreError};
use longhaul_skills::{
    Candidate, Claimant, Draft, ExtractionLock, ExtractionState, Inbox, IndexSettings, Indexed, PastSession,
    SessionDigest, candidate_json, mine, plan_index, write_drafts,
};
use serde_json::{Value, json};

use super::digest::load_digest;
use super::{Desk, failure};
use crate::args::Color;
use crate::clock::now;
use crate::commands::sessions::report::print_all;
use crate::output::{Page, Screen, path_json, plural, print, visible, with_progress, wrapped};
use crate::project::{self, Project};

/// One run writes no more drafts than a user will look at.
const MOST_DRAFTS: usize = 2;

/// So many findings are printed.
const MOST_SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ExtractOptions {
    /// Recorded sessions of any known format, in place of those of this folder.
    files: Vec<PathBuf>,
    /// Reads also sessions that are short, that may still be going on, or that were read before.
    #[arg(long)]
    all: bool,
    /// Only prints what is found; nothing is written.
    #[arg(long)]
    dry_run: bool,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

/// What came of it.
struct Extracted {
    sessions: usize,
    unread: Vec<String>,
    found: Vec<Candidate>,
    drafts: Vec<(String, Draft)>,
    /// How many facts wait that did not before.
    facts: usize,
}

pub(super) fn run(options: &ExtractOptions, desk: &Desk, color: Color) -> anyhow::Result<()> {
    let project = match (Project::find()?, options.files.is_empty() || options.dry_run) {
        (Some(project), _) => Some(project),
        (None, true) => None,
        (None, false) => Some(Project::find_or_begin()?.0),
    };
    if project.is_none() && options.files.is_empty() {
        return Err(project::failure(StoreError::NoSessions));
    }
    let lock = match &project {
        Some(project) if !options.dry_run => match take_lock(project)? {
            Some(lock) => Some(lock),
            None => return leave_quietly(options),
        },
        _ => None,
    };
    let extracted = extract(options, desk, project.as_ref(), lock)?;
    if options.json {
        return print_all(&to_json(&extracted, options));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    tell(&mut page, &extracted, options);
    print(&page.into_text())
}

fn extract(
    options: &ExtractOptions,
    desk: &Desk,
    project: Option<&Project>,
    mut lock: Option<ExtractionLock>,
) -> anyhow::Result<Extracted> {
    let state_file = project.map(|project| project.home.extraction_state());
    let mut state = match &state_file {
        Some(file) => ExtractionState::load(file).map_err(failure)?,
        None => ExtractionState::default(),
    };
    let index = match project.filter(|_| options.files.is_empty()) {
        Some(project) => index(options, project, &state)?,
        None => options.files.iter().map(|file| given(file)).collect(),
    };
    if !index.iter().any(|indexed| indexed.is_new) && !options.all {
        return Ok(Extracted {
            sessions: 0,
            unread: Vec::new(),
            found: Vec::new(),
            drafts: Vec::new(),
            facts: 0,
        });
    }
    let folder = project.filter(|_| options.files.is_empty()).map(|project| project.folder.as_path());
    let done = AtomicUsize::new(0);
    let mut digests: Vec<SessionDigest> = Vec::new();
    let mut read: Vec<PastSession> = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    with_progress(
        || format!("reading sessions: {} of {}", done.load(Ordering::Relaxed), index.len()),
        || {
            for Indexed { session, .. } in &index {
                match load_digest(&session.id, Path::new(&session.path), folder) {
                    Ok(digest) => {
                        digests.push(SessionDigest { updated: Some(session.updated), ..digest });
                        read.push(session.clone());
                    }
                    Err(error) => unread.push(format!("{}: {error:#}", session.path)),
                }
                if let Some(lock) = &mut lock {
                    // Long work is no crash; that it cannot be told is no reason to stop.
                    let _ = lock.beat(now());
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        },
    );
    let found = mine(&digests);
    let inbox = project.map(|project| Inbox::of(&project.home));
    let known: Vec<String> = desk
        .skills()
        .found
        .iter()
        .filter_map(|skill| skill.load().ok())
        .map(|manifest| manifest.body)
        .collect();
    let covers = |commands: &[String]| {
        known.iter().any(|text| commands.iter().all(|command| text.contains(command.as_str())))
            || inbox.as_ref().is_some_and(|inbox| inbox.knows(commands))
    };
    let mut drafts = Vec::new();
    for draft in write_drafts(&found, MOST_DRAFTS, covers) {
        let name = match inbox.as_ref().filter(|_| !options.dry_run) {
            Some(inbox) => inbox.add(&draft, now()).map_err(failure)?,
            None => draft.name.to_string(),
        };
        drafts.push((name, draft));
    }
    let facts = match (&inbox, project) {
        (Some(inbox), Some(project)) if !options.dry_run => {
            inbox.propose_facts(&found, &project.home.private_memory()).map_err(failure)?
        }
        _ => 0,
    };
    if let Some(file) = state_file.filter(|_| !options.dry_run && options.files.is_empty()) {
        let made: Vec<String> = drafts.iter().map(|(name, _)| name.clone()).collect();
        let tried: Vec<PastSession> =
            index.iter().filter(|indexed| indexed.is_new).map(|indexed| indexed.session.clone()).collect();
        state.add_run(now(), &tried, &read, &made);
        state.save(&file).map_err(failure)?;
    }
    Ok(Extracted { sessions: read.len(), unread, found, drafts, facts })
}

/// The sessions of the project that are worth reading now.
fn index(
    options: &ExtractOptions,
    project: &Project,
    state: &ExtractionState,
) -> anyhow::Result<Vec<Indexed>> {
    let listing = project.store().list().context("could not list the sessions")?;
    let past = |session: ListedSession| PastSession {
        id: session.id().to_string(),
        path: session.path.display().to_string(),
        updated: session.updated,
        user_messages: session.metadata.user_message_count,
        headline: session.metadata.summary.clone().or(session.metadata.first_user_message.clone()),
        is_subagent: session.metadata.kind == SessionRole::Subagent,
    };
    let sessions: Vec<PastSession> = listing.sessions.into_iter().map(past).collect();
    let settings = match options.all {
        true => {
            IndexSettings { fewest_messages: 0, idle: Duration::ZERO, most_new: usize::MAX, most: usize::MAX }
        }
        false => IndexSettings::default(),
    };
    Ok(plan_index(&sessions, state, &settings, now()))
}

/// A session that the user named.
fn given(file: &Path) -> Indexed {
    let name = file.display().to_string();
    let session = PastSession {
        id: file.file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned()),
        path: name,
        updated: Timestamp::from_millis(0),
        user_messages: 0,
        headline: None,
        is_subagent: false,
    };
    Indexed { session, is_new: true }
}

fn take_lock(project: &Project) -> anyhow::Result<Option<ExtractionLock>> {
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|file| std::fs::read_to_string(file).ok());
    let host = host.unwrap_or_default();
    // Where processes cannot be looked up, the time of the last sign of life decides.
    let is_alive =
        |process: u32| !Path::new("/proc/self").exists() || Path::new(&format!("/proc/{process}")).exists();
    let claimant = Claimant { process: std::process::id(), host: host.trim(), is_alive: &is_alive };
    ExtractionLock::take(&project.home.extraction_lock(), &claimant, now()).map_err(failure)
}

fn leave_quietly(options: &ExtractOptions) -> anyhow::Result<()> {
    if options.json {
        return print_all(&json!({"schema": 1, "busy": true}));
    }
    print("Skills are being extracted already.\n")
}

fn tell(page: &mut Page, extracted: &Extracted, options: &ExtractOptions) {
    let Extracted { sessions, unread, found, drafts, facts } = extracted;
    if *sessions == 0 && unread.is_empty() {
        page.line(
            "There are no new sessions to learn from; --all reads the short, recent and old ones, too.",
        );
        return;
    }
    let counts = format!(
        "{} read, {} found.",
        plural(*sessions, "session", "sessions"),
        plural(found.len(), "habit", "habits")
    );
    page.line(&counts);
    for unread in unread {
        page.line(&page.screen.warning(&visible(&format!("could not be read: {unread}"))));
    }
    if !found.is_empty() {
        page.gap();
    }
    for candidate in found.iter().take(MOST_SHOWN) {
        let seen = format!(
            "{} in {}",
            times(candidate.times()),
            plural(candidate.sessions(), "session", "sessions")
        );
        let line = visible(&format!("{}, {seen}: {}", candidate.finding.kind(), candidate.finding.title()));
        let mut lines = wrapped(&line, page.screen.width).into_iter();
        lines.next().iter().for_each(|line| page.line(line));
        lines.for_each(|line| page.line(&format!("  {line}")));
    }
    if found.len() > MOST_SHOWN {
        page.line(&page.screen.faint(&format!("and {} more; --json has all", found.len() - MOST_SHOWN)));
    }
    page.gap();
    match (drafts.is_empty(), options.dry_run) {
        (true, _) => page.line("No new skill comes out of this."),
        (false, true) => {
            for (_, draft) in drafts {
                draft.text.lines().for_each(|line| page.line(&visible(line)));
                page.gap();
            }
            page.line("Nothing was written.");
        }
        (false, false) => {
            for (name, _) in drafts {
                page.line(&format!("Draft: {}", page.screen.strong(&visible(name))));
            }
            page.line(
                "`longhaul skills inbox show NAME` shows a draft; `accept NAME` and `dismiss NAME` decide.",
            );
        }
    }
    if *facts > 0 {
        let facts = plural(*facts, "fact waits", "facts wait");
        page.line(&format!("{facts} to be remembered: `longhaul memory inbox` shows them."));
    }
}

fn times(number: usize) -> String {
    if number == 1 { "once".into() } else { format!("{number} times") }
}

fn to_json(extracted: &Extracted, options: &ExtractOptions) -> Value {
    let drafts = extracted.drafts.iter().map(|(name, draft)| {
        json!({
            "name": name,
            "text": draft.text,
            "evidence": draft.sources.iter().map(candidate_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": 1,
        "busy": false,
        "written": !options.dry_run,
        "files": options.files.iter().map(|file| path_json(file)).collect::<Vec<_>>(),
        "sessions": extracted.sessions,
        "unread": extracted.unread,
        "found": extracted.found.iter().map(candidate_json).collect::<Vec<_>>(),
        "drafts": drafts.collect::<Vec<_>>(),
        "facts": extracted.facts,
    })
}
