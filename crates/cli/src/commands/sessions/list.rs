//! `longhaul sessions list`: the sessions of the current folder.

use anyhow::Context;
use clap::Args;
use longhaul_app::clock::now;
use longhaul_app::project::Project;
use longhaul_conversation::Timestamp;
use longhaul_sessions::{Flaw, FlawedFile, ListedSession, Listing};
use serde_json::{Value, json};

use crate::output::ago;
use crate::output::{Color, Page, Screen, fit, pad, pad_left, plural, print_json, thousands, visible};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, color: Color) -> anyhow::Result<()> {
    let project = Project::find()?;
    let listing = match &project {
        Some(project) => project.store().list().context("could not list the sessions")?,
        None => Listing::default(),
    };
    if options.json {
        return print_json(&json(project.as_ref(), &listing));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &listing, now());
    crate::output::print(&page.into_text())
}

fn text(page: &mut Page, listing: &Listing, now: Timestamp) {
    if listing.sessions.is_empty() {
        page.line("No sessions yet. Import one with `longhaul sessions import FILE`.");
    } else {
        let ages: Vec<String> = listing.sessions.iter().map(|session| ago(session.updated, now)).collect();
        let widest = ages.iter().map(String::len).max().unwrap_or_default();
        for (session, age) in listing.sessions.iter().zip(&ages) {
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
