//! `longhaul recall QUERY`: searches this project's sessions, including what was compacted away.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::failure::hinted;
use longhaul_app::found::{self, Reach};
use longhaul_app::project::{self, Project, session_file};
use longhaul_app::sessions::SeenParts;
use longhaul_archive::{Hit, Search, SessionRef};
use longhaul_formats::{Event, read};
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
    /// Search the sessions of every project.
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Maximum number of results.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = limit)]
    limit: usize,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Searches and prints.
pub(crate) fn run(options: &RecallOptions, screen: &Screen) -> anyhow::Result<()> {
    let query = options.query.join(" ");
    let mut search = Search::new(&query);
    if search.is_empty() {
        return Err(hinted(anyhow!("nothing to search for in {query:?}"), "pass a word or a path"));
    }
    let files = files(options)?;
    let mut unread = Vec::new();
    with_progress(
        || "searching sessions".to_string(),
        || {
            for (id, path) in &files {
                if let Err(error) = look_through(&mut search, id, path) {
                    unread.push((path, error));
                }
            }
        },
    );
    if unread.len() == files.len()
        && let Some((path, error)) = unread.pop()
    {
        return Err(error.context(format!("could not read {}", path.display())));
    }
    let unread: Vec<String> =
        unread.iter().map(|(path, error)| format!("{}: {error:#}", path.display())).collect();
    let hits = search.hits(options.limit);
    if options.json {
        return print_json(&json(&query, files.len(), &search, &hits, &unread));
    }
    for unread in &unread {
        eprintln!("warning: could not read {}", visible(unread));
    }
    crate::output::print(&text(*screen, &query, files.len(), &search, &hits))
}

fn limit(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or_else(|| "expected a number of at least 1".into())
}

/// The sessions to look through, each with its id.
fn files(options: &RecallOptions) -> anyhow::Result<Vec<(String, PathBuf)>> {
    if let Some(given) = &options.session {
        let path = session_file(given)?;
        // What cannot be read at all is told as everywhere else.
        drop(input::open(&path)?);
        return Ok(vec![(name_of(&path)?, path)]);
    }
    let no_sessions = || project::failure(longhaul_sessions::StoreError::NoSessions);
    let mut files = Vec::new();
    let project = Project::find()?.filter(|_| !options.all);
    if let Some(project) = &project {
        let listing = project.store().list().context("could not list the sessions")?;
        for session in listing.sessions {
            let id = session.id().to_string();
            let chains = project.store().chats().join(&id);
            files.push((id.clone(), session.path));
            files.extend(jsonl_in(&chains).into_iter().map(|path| {
                let agent = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (format!("{id}/{agent}"), path)
            }));
        }
    }
    let others = if options.all { found::find(Reach::Everything) } else { found::others(project.as_ref()) };
    for session in others.sessions {
        files.push((session.head.id.clone(), session.path));
        files.extend(session.children.into_iter().map(|path| {
            let agent = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (format!("{}/{agent}", session.head.id), path)
        }));
    }
    if files.is_empty() { Err(no_sessions()) } else { Ok(files) }
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

/// Looks at everything that was ever said in a session, each thing once.
fn look_through(search: &mut Search, id: &str, path: &Path) -> anyhow::Result<()> {
    let mut seen = SeenParts::default();
    let session = SessionRef::new(id);
    read(longhaul_app::sessions::open(path)?, &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                search.observe(&session, &message);
            }
        }
        Event::Side { chain, message } => {
            search.observe(&SessionRef::new(format!("{id}/{chain}")), &message);
        }
        Event::Warning(_) | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })?;
    Ok(())
}

fn text(screen: Screen, query: &str, sessions: usize, search: &Search, hits: &[Hit]) -> String {
    let mut page = Page::new(screen);
    let searched = format!(
        "{} in {}",
        plural(usize::try_from(search.observed()).unwrap_or(usize::MAX), "message", "messages"),
        plural(sessions, "session", "sessions")
    );
    if hits.is_empty() {
        page.line(&format!("No matches for {} in {searched}.", visible(query)));
        return page.into_text();
    }
    for hit in hits {
        page.gap();
        show(&mut page, hit);
    }
    page.gap();
    page.line(&format!(
        "Searched {searched}. Show a whole message with `longhaul sessions show SESSION --message NUMBER`."
    ));
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

fn json(query: &str, sessions: usize, search: &Search, hits: &[Hit], unread: &[String]) -> Value {
    let hits = hits.iter().map(|hit| {
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
    });
    json!({
        "schema": 2,
        "query": query,
        "sessions": sessions,
        "messages": search.observed(),
        "hits": hits.collect::<Vec<_>>(),
        "unread": unread,
    })
}
