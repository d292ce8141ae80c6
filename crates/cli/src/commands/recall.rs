//! `longhaul recall QUERY`: searches this project's sessions, including what was compacted away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use longhaul_app::archive;
use longhaul_app::clock;
use longhaul_app::found;
use longhaul_app::project::{self, Project, session_file};
use longhaul_app::recall::{RecallAnswer, RecallRequest, RecallSource, recall_files, recall_with, whole};
use longhaul_app::settings::Settings;
use longhaul_app::team;
use longhaul_archive::{ArchivedSession, Question};
use longhaul_conversation::Timestamp;
use longhaul_recall::{Hit, Kind, SearchFilter};
use longhaul_stores::Agent;
use serde_json::{Value, json};

use crate::input;
use crate::output::{Page, Screen, fit, plural, print_json, thousands, visible, with_progress};

#[derive(Debug, Args)]
pub(crate) struct RecallOptions {
    /// Words, a "quoted phrase", a path, or a message number such as m12.
    #[arg(required = true)]
    query: Vec<String>,
    /// Search one session only: latest, its number in `sessions list`, its id, or a session file.
    #[arg(long, value_name = "SESSION")]
    session: Option<PathBuf>,
    /// Only what was said by `user` or `model`, or in a `call` or `output` of a tool; may be repeated.
    #[arg(long = "kind", value_name = "KIND", value_parser = kind)]
    kinds: Vec<KindArgument>,
    /// Only what was said since a date such as 2026-08-04, or in the last days or weeks: 3d, 2w.
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Since>,
    /// Search every agent's sessions in all folders, through the archive.
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Search the team's archive (`longhaul.archive.url`).
    #[arg(long, conflicts_with_all = ["session", "all"])]
    team: bool,
    /// Search the sessions of one agent in all folders: longhaul, claude, codex or gemini.
    #[arg(long, conflicts_with = "session")]
    agent: Option<String>,
    /// Maximum number of results.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = limit)]
    limit: usize,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Searches and prints.
pub(crate) fn run(
    options: &RecallOptions,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
    screen: &Screen,
) -> anyhow::Result<()> {
    let query = options.query.join(" ");
    let now = clock::now();
    let filter =
        SearchFilter { kinds: options.kinds.iter().map(|kind| kind.0).collect(), since: options.since(now) };
    let request = RecallRequest { query: &query, filter, limit: options.limit, now, part: whole };
    request.search()?;
    if options.team {
        return in_team(options, &request, &load_settings()?, *screen);
    }
    if options.all || options.agent.is_some() {
        return everywhere(options, &request, &load_settings()?, *screen);
    }
    let Searched { files, origins } = files(options)?;
    // An archive that cannot be opened is not needed.
    let mut archive = archive::find().ok().flatten();
    let answer = with_progress(
        || "searching sessions".to_string(),
        || match &mut archive {
            Some(archive) => recall_with(archive, &request, &files),
            None => recall_files(&request, &files),
        },
    )?;
    let unread: Vec<String> =
        answer.unread.iter().map(|(path, error)| format!("{}: {error:#}", path.display())).collect();
    if options.json {
        return print_json(&json(&query, files.len(), &answer, &unread, &origins));
    }
    for unread in &unread {
        eprintln!("warning: could not read {}", visible(unread));
    }
    crate::output::print(&text(*screen, &query, files.len(), &answer, &origins))
}

/// The sessions to look through.
struct Searched {
    files: Vec<RecallSource>,
    /// The origins of those with an agent, by id.
    origins: HashMap<String, Origin>,
}

/// The origin of a session.
struct Origin {
    agent: Agent,
    path: PathBuf,
}

/// The session that a hit is from.
fn origin_of<'o>(hit: &Hit, origins: &'o HashMap<String, Origin>) -> Option<(&'o str, &'o Origin)> {
    let own = hit.session.as_str().split('/').next().unwrap_or_default();
    origins.get_key_value(own).map(|(id, origin)| (id.as_str(), origin))
}

/// Searches the archive, after a look at what is new.
fn everywhere(
    options: &RecallOptions,
    request: &RecallRequest<'_>,
    settings: &Settings,
    screen: Screen,
) -> anyhow::Result<()> {
    let mut archive = archive::open()?;
    let report = with_progress(
        || "copying new sessions".to_string(),
        || archive::sync(&mut archive, settings, |_| true),
    );
    match report? {
        Ok(report) => {
            if let Some(aside) = report.damaged {
                let aside = aside.display().to_string();
                eprintln!("warning: the index was damaged and made anew; the old one is {}", visible(&aside));
            }
        }
        // What was copied before can still be searched.
        Err(error) => eprintln!("warning: could not sync the archive: {}", visible(&error.to_string())),
    }
    let question = Question {
        filter: request.filter.clone(),
        agent: options.agent.clone(),
        ..Question::new(request.query, request.now)
    };
    let hits = archive.recall(&question, request.limit).context("could not search the archive")?;
    let sessions = archive.sessions().len();
    if options.json {
        let hits = hits.iter().map(|hit| {
            let mut object = hit_json(hit);
            let session = archive.find(hit.session.as_str());
            object["agent"] = json!(session.map(|session| &session.source.agent));
            object["path"] = json!(session.map(|session| session.source.path.display().to_string()));
            object["open"] = json!(open_command(hit));
            object["resume"] = json!(session.and_then(resume));
            object
        });
        return print_json(&json!({
            "schema": 2, "query": request.query, "sessions": sessions, "hits": hits.collect::<Vec<_>>(), "unread": [],
        }));
    }
    let mut page = Page::new(screen);
    if hits.is_empty() {
        let searched = plural(sessions, "session", "sessions");
        page.line(&format!("No matches for {} in {searched}.", visible(request.query)));
        return crate::output::print(&page.into_text());
    }
    for hit in &hits {
        page.gap();
        let session = archive.find(hit.session.as_str());
        if let Some(session) = session {
            let gone = if session.is_deleted() { ", only in the archive" } else { "" };
            page.line(&format!("{}{gone}", page.screen.strong(&visible(&session.source.agent))));
        }
        show(&mut page, hit);
        page.line(&page.screen.faint(&format!("  open: {}", visible(&open_command(hit)))));
        if let Some(command) = session.and_then(resume) {
            page.line(&page.screen.faint(&format!("  resume: {}", visible(&command))));
        }
    }
    page.gap();
    page.line(&format!("Searched {}.", plural(sessions, "session", "sessions")));
    crate::output::print(&page.into_text())
}

/// Searches the team's archive.
fn in_team(
    options: &RecallOptions,
    request: &RecallRequest<'_>,
    settings: &Settings,
    screen: Screen,
) -> anyhow::Result<()> {
    let question = Question {
        filter: request.filter.clone(),
        agent: options.agent.clone(),
        ..Question::new(request.query, request.now)
    };
    let answer = with_progress(
        || "searching the team's archive".to_string(),
        || team::recall(settings, &question, request.limit),
    )?;
    let own = |hit: &Hit| hit.session.as_str().split('/').next().unwrap_or_default().to_owned();
    let open = |hit: &Hit| format!("longhaul archive export --team {}", own(hit));
    let sessions = plural(answer.sessions.len(), "session", "sessions");
    if options.json {
        let hits = answer.hits.iter().map(|hit| {
            let mut object = hit_json(hit);
            let session = answer.sessions.get(&own(hit));
            object["agent"] = json!(session.map(|session| &session.session.source.agent));
            object["machine"] = json!(session.map(|session| &session.machine));
            object["project"] = json!(session.and_then(|session| session.session.source.project.as_ref()));
            object["open"] = json!(open(hit));
            object
        });
        return print_json(&json!({
            "schema": 2, "query": request.query, "sessions": answer.sessions.len(),
            "hits": hits.collect::<Vec<_>>(), "unread": [],
        }));
    }
    let mut page = Page::new(screen);
    if answer.hits.is_empty() {
        page.line(&format!("No matches for {} in {sessions} of the team.", visible(request.query)));
        return crate::output::print(&page.into_text());
    }
    for hit in &answer.hits {
        page.gap();
        if let Some(session) = answer.sessions.get(&own(hit)) {
            let agent = page.screen.strong(&visible(&session.session.source.agent));
            let project = session.session.source.project.as_deref().unwrap_or_default();
            page.line(&format!("{agent}  {}  {}", visible(&session.machine), visible(project)));
        }
        show(&mut page, hit);
        page.line(&page.screen.faint(&format!("  open: {}", visible(&open(hit)))));
    }
    page.gap();
    page.line(&format!("Searched {sessions} of the team."));
    crate::output::print(&page.into_text())
}

/// The command that shows a hit with what stands around it.
fn open_command(hit: &Hit) -> String {
    let message = hit.number.map_or_else(|| hit.message.to_string(), |number| number.to_string());
    let session = hit.session.as_str().split('/').next().unwrap_or_default();
    format!("longhaul sessions show {session} --message {message} --around 2")
}

/// The command that continues a session, if its agent still has it.
fn resume(session: &ArchivedSession) -> Option<String> {
    if session.is_deleted() { None } else { archive::resume_command(&session.source) }
}

/// A kind of text, by its name.
#[derive(Clone, Copy, Debug)]
struct KindArgument(Kind);

fn kind(text: &str) -> Result<KindArgument, String> {
    let found =
        [Kind::User, Kind::Model, Kind::Call, Kind::Output].into_iter().find(|kind| kind.as_str() == text);
    found.map(KindArgument).ok_or_else(|| "expected user, model, call or output".into())
}

/// The start of the time that is searched.
#[derive(Clone, Copy, Debug)]
enum Since {
    At(Timestamp),
    /// Milliseconds before now.
    Before(i64),
}

fn since(text: &str) -> Result<Since, String> {
    let expected = || "expected a date such as 2026-08-04, or a time such as 12h, 3d or 2w".to_owned();
    if let Some(at) = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z"))) {
        return Ok(Since::At(at));
    }
    let (count, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let count: i64 = count.parse().ok().filter(|count| (0..100_000).contains(count)).ok_or_else(expected)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return Err(expected()),
    };
    Ok(Since::Before(count * hours * 3_600_000))
}

impl RecallOptions {
    fn since(&self, now: Timestamp) -> Option<Timestamp> {
        self.since.map(|since| match since {
            Since::At(at) => at,
            Since::Before(millis) => Timestamp::from_millis(now.as_millis() - millis),
        })
    }
}

fn limit(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or_else(|| "expected a number of at least 1".into())
}

/// The sessions to look through, each with its id.
fn files(options: &RecallOptions) -> anyhow::Result<Searched> {
    if let Some(given) = &options.session {
        let path = session_file(given)?;
        // What cannot be read at all is told as everywhere else.
        drop(input::open(&path)?);
        let files = vec![RecallSource { session: name_of(&path)?, path, version: None }];
        return Ok(Searched { files, origins: HashMap::new() });
    }
    let no_sessions = || project::failure(longhaul_sessions::StoreError::NoSessions);
    let (mut files, mut origins) = (Vec::new(), HashMap::new());
    let project = Project::find()?;
    if let Some(project) = &project {
        let listing = project.store().list().context("could not list the sessions")?;
        for session in listing.sessions {
            let id = session.id().to_string();
            let chains = project.store().chats().join(&id);
            origins.insert(id.clone(), Origin { agent: Agent::Longhaul, path: session.path.clone() });
            files.push(RecallSource { session: id.clone(), path: session.path, version: None });
            files.extend(jsonl_in(&chains).into_iter().map(|path| {
                let agent = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                RecallSource { session: format!("{id}/{agent}"), path, version: None }
            }));
        }
    }
    for session in found::others(project.as_ref()).sessions {
        files.extend(RecallSource::all_of(&session));
        origins.insert(session.head.id, Origin { agent: session.agent, path: session.path });
    }
    if files.is_empty() { Err(no_sessions()) } else { Ok(Searched { files, origins }) }
}

/// The name by which a session is found again: its id if it is one of this project, else its file.
fn name_of(path: &Path) -> anyhow::Result<String> {
    let listing = Project::find()?.map(|project| project.store().list()).transpose();
    let sessions = listing.context("could not list the sessions")?.map(|listing| listing.sessions);
    let own = sessions.iter().flatten().find(|session| session.path == path);
    Ok(own.map_or_else(|| path.display().to_string(), |session| session.id().to_string()))
}

fn jsonl_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    files
}

fn text(
    screen: Screen,
    query: &str,
    sessions: usize,
    answer: &RecallAnswer,
    origins: &HashMap<String, Origin>,
) -> String {
    let mut page = Page::new(screen);
    let searched = format!(
        "{} in {}",
        plural(usize::try_from(answer.messages).unwrap_or(usize::MAX), "message", "messages"),
        plural(sessions, "session", "sessions")
    );
    if answer.hits.is_empty() {
        page.line(&format!("No matches for {} in {searched}.", visible(query)));
        return page.into_text();
    }
    for hit in &answer.hits {
        page.gap();
        let origin = origin_of(hit, origins);
        if let Some((_, origin)) = origin {
            page.line(&page.screen.strong(origin.agent.as_str()));
        }
        show(&mut page, hit);
        if let Some((id, origin)) = origin {
            page.line(&page.screen.faint(&format!("  open: {}", visible(&open_command(hit)))));
            let resume = found::resume_command(origin.agent, id, &origin.path);
            page.line(&page.screen.faint(&format!("  resume: {}", visible(&resume))));
        }
    }
    page.gap();
    page.line(&format!("Searched {searched}."));
    page.into_text()
}

fn show(page: &mut Page, hit: &Hit) {
    let mark = hit.number.map(|mark| format!("{} ", page.screen.strong(&mark.to_string())));
    let who = hit.tool.as_deref().unwrap_or(hit.origin.as_str());
    let mut line = format!("{}{}", mark.unwrap_or_default(), visible(who));
    if let Some(at) = hit.at {
        line.push_str(&page.screen.faint(&format!("  {}", at.to_minute())));
    }
    line.push_str(&page.screen.faint(&format!("  {}", visible(hit.session.as_str()))));
    if hit.repeats > 0 {
        line.push_str(&page.screen.faint(&format!("  and {} more like it", thousands(hit.repeats as u64))));
    }
    page.line(&line);
    for excerpt in hit.excerpt.text.lines() {
        page.line(&format!("  {}", fit(&visible(excerpt), page.screen.width.saturating_sub(2))));
    }
}

fn json(
    query: &str,
    sessions: usize,
    answer: &RecallAnswer,
    unread: &[String],
    origins: &HashMap<String, Origin>,
) -> Value {
    let hits = answer.hits.iter().map(|hit| {
        let mut object = hit_json(hit);
        if let Some((id, origin)) = origin_of(hit, origins) {
            object["agent"] = json!(origin.agent.as_str());
            object["path"] = json!(origin.path.display().to_string());
            object["open"] = json!(open_command(hit));
            object["resume"] = json!(found::resume_command(origin.agent, id, &origin.path));
        }
        object
    });
    json!({
        "schema": 2,
        "query": query,
        "sessions": sessions,
        "messages": answer.messages,
        "hits": hits.collect::<Vec<_>>(),
        "unread": unread,
    })
}

fn hit_json(hit: &Hit) -> Value {
    json!({
            "session": hit.session.as_str(),
            "number": hit.number.map(|number| number.to_string()),
            "message": hit.message.as_str(),
            "role": hit.role.as_str(),
            "origin": hit.origin.as_str(),
            "tool": hit.tool,
            "at": hit.at.map(|at| at.to_string()),
            "score": hit.score,
            "text": hit.excerpt.text,
            "line": hit.excerpt.first_line,
            "matches": hit.excerpt.matches.iter().map(|range| [range.start, range.end]).collect::<Vec<_>>(),
            "repeats": hit.repeats,
    })
}
