//! `longhaul sessions list`: the sessions of the current folder.

use std::cmp::Reverse;

use anyhow::Context;
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::found::{self, Found, Reach};
use longhaul_app::project::Project;
use longhaul_conversation::Timestamp;
use longhaul_sessions::{Flaw, FlawedFile, ListedSession, Listing};
use serde_json::{Value, json};

use crate::output::ago;
use crate::output::{Color, Page, Screen, fit, pad, pad_left, plural, print_json, thousands, visible};
use crate::reports::found::{self as reports, Listed};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// List the sessions of every project, of all agents.
    #[arg(long)]
    all: bool,
    /// Maximum number of other agents' sessions to show [default: 30].
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// So many are shown unless asked otherwise.
const SHOWN: usize = 30;

pub(super) fn run(options: &ListOptions, color: Color) -> anyhow::Result<()> {
    if options.all {
        return run_all(options, color);
    }
    let project = Project::find()?;
    let listing = match &project {
        Some(project) => project.store().list().context("could not list the sessions")?,
        None => Listing::default(),
    };
    let (mut others, listed) = (found::others(project.as_ref()), Listed::Here(listing.sessions.len() + 1));
    if options.json {
        let mut object = json(project.as_ref(), &listing);
        others.sessions.truncate(options.limit.unwrap_or(usize::MAX));
        object["others"] = reports::json(&others, listed, now());
        object["skipped"] = reports::notices_json(&others.notices);
        return print_json(&object);
    }
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &listing, &others, options.limit.unwrap_or(SHOWN), now());
    crate::output::print(&page.into_text())?;
    reports::tell_notices(&others.notices);
    Ok(())
}

/// Lists the sessions of every project, of all agents.
fn run_all(options: &ListOptions, color: Color) -> anyhow::Result<()> {
    let mut all = found::find(Reach::Everything);
    if options.json {
        all.sessions.truncate(options.limit.unwrap_or(usize::MAX));
        let sessions = reports::json(&all, Listed::Everywhere, now());
        return print_json(&json!({
            "schema": 1,
            "project": null,
            "sessions": [],
            "flawed": [],
            "others": sessions,
            "skipped": reports::notices_json(&all.notices),
        }));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    match all.sessions.is_empty() {
        true => page.line("No sessions found."),
        false => {
            reports::lines(&mut page, &all, Listed::Everywhere, options.limit.unwrap_or(SHOWN), now());
            page.gap();
            page.line("Refer to one by its id or its file: `longhaul inspect ID`.");
        }
    }
    crate::output::print(&page.into_text())?;
    reports::tell_notices(&all.notices);
    Ok(())
}

fn text(page: &mut Page, listing: &Listing, others: &Found, limit: usize, now: Timestamp) {
    if listing.sessions.is_empty() && others.sessions.is_empty() {
        page.line("No sessions yet. Import one with `longhaul sessions import FILE`, or list those of other folders with --all.");
    }
    if !listing.sessions.is_empty() {
        // Their numbers are those of Gemini CLI's list: 1 is the oldest.
        let mut sessions: Vec<&ListedSession> = listing.sessions.iter().collect();
        sessions.sort_by_key(|session| Reverse(session.updated));
        let ages: Vec<String> = sessions.iter().map(|session| ago(session.updated, now)).collect();
        let widest = ages.iter().map(String::len).max().unwrap_or_default();
        for (session, age) in sessions.into_iter().zip(&ages) {
            let front = format!(
                "{}  {}  {}  {}  ",
                pad_left(&session.index.to_string(), 3),
                pad(short(session), 8),
                pad(age, widest),
                pad_left(&thousands(session.metadata.message_count as u64), 6),
            );
            let room = page.screen.width.saturating_sub(front.chars().count());
            page.line(&format!("{front}{}", fit(&visible(&session.display_name()), room)));
        }
    }
    if !others.sessions.is_empty() {
        page.gap();
        page.heading("Sessions of other agents in this project");
        reports::lines(page, others, Listed::Here(listing.sessions.len() + 1), limit, now);
    }
    if !listing.sessions.is_empty() || !others.sessions.is_empty() {
        page.gap();
        page.line("Refer to one by its number, its id, or latest: `longhaul sessions show latest`.");
    }
    let flawed: Vec<&FlawedFile> = listing.flawed.iter().filter(|file| is_odd(&file.flaw)).collect();
    if !flawed.is_empty() {
        page.gap();
        let count = plural(flawed.len(), "file", "files");
        page.line(&format!("{count} named like a session cannot be listed:"));
        for file in flawed {
            let line = format!("  {}: {}", visible(&file.file_name), told(&file.flaw));
            page.line(&fit(&line, page.screen.width));
        }
    }
}

fn short(session: &ListedSession) -> &str {
    session.id().get(..8).unwrap_or(session.id())
}

/// Returns true if a flaw is worth reporting: sub-agent conversations and empty beginnings are ordinary.
fn is_odd(flaw: &Flaw) -> bool {
    matches!(flaw, Flaw::Unreadable(_) | Flaw::NoSession)
}

fn told(flaw: &Flaw) -> String {
    match flaw {
        Flaw::Unreadable(error) => format!("unreadable: {error}"),
        Flaw::NoSession => "not a session".into(),
        Flaw::NothingToResume { .. } => "no prompt and no answer in it".into(),
        Flaw::Subagent => "belongs to a sub-agent".into(),
    }
}

fn json(project: Option<&Project>, listing: &Listing) -> Value {
    let sessions = listing.sessions.iter().map(|session| {
        json!({
            "index": session.index,
            "id": session.id(),
            "name": session.display_name(),
            "file": session.path,
            "bytes": session.size,
            "started": session.started.to_string(),
            "updated": session.updated.to_string(),
            "messages": session.metadata.message_count,
            "user_messages": session.metadata.user_message_count,
        })
    });
    let flawed = listing.flawed.iter().map(|file| json!({"file": file.path, "reason": told(&file.flaw)}));
    json!({
        "schema": 1,
        "project": project.map(|project| project.folder.display().to_string()),
        "sessions": sessions.collect::<Vec<_>>(),
        "flawed": flawed.collect::<Vec<_>>(),
    })
}
