//! Sessions that were found in the places of agents.

use std::io::IsTerminal;

use anyhow::anyhow;
use longhaul_app::failure::hinted;
use longhaul_app::found::Found;
use longhaul_conversation::{Timestamp, plural};
use longhaul_stores::{FoundSession, Notice, Retention, TokenFigure};
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, ago, fit, pad, pad_left, path_json, thousands, visible};

/// A session that was written so lately is in use.
const IN_USE: i64 = 60_000;
/// Days before an agent deletes a session from which on the list says so.
const WARN_DAYS: i64 = 7;
/// So many characters of an id are shown.
const ID_SHOWN: usize = 8;

/// The columns of a list of sessions of several projects have the project, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Sessions of this folder; the first has this number.
    Here(usize),
    /// Sessions of every folder, which have no numbers.
    Everywhere,
}

/// The line that tells which session was chosen where none was named.
pub(crate) fn chosen(session: &FoundSession, now: Timestamp) -> String {
    let title =
        session.head.title.as_deref().map(|title| format!(": {}", visible(title))).unwrap_or_default();
    format!("{} session {}, {}{title}", session.agent, short_id(session), ago(session.used(), now))
}

/// So many sessions are offered.
const OFFERED: usize = 12;

/// The session that is meant where none was named: at a terminal the user says, elsewhere it is the first.
pub(crate) fn choose(sessions: &[FoundSession], now: Timestamp) -> anyhow::Result<usize> {
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !at_terminal || sessions.len() < 2 {
        return Ok(0);
    }
    let width = Screen::of_stdout(Color::Never).width.saturating_sub(6);
    let offered = sessions.iter().take(OFFERED);
    let lines: Vec<String> = offered.map(|session| fit(&chosen(session, now), width)).collect();
    let older = match sessions.len().saturating_sub(OFFERED) {
        0 => String::new(),
        count => format!(" ({} older: see `longhaul sessions`)", thousands(count as u64)),
    };
    let question = format!("Sessions of this folder, the one used last first{older}:");
    crate::questions::choose(&question, &lines, Some(0))?.ok_or_else(|| {
        hinted(anyhow!("no such session"), "answer with one of the numbers, or pass the session's id")
    })
}

/// Adds the lines of a list; at most `limit`, the one used last first.
pub(crate) fn lines(page: &mut Page, found: &Found, listed: Listed, limit: usize, now: Timestamp) {
    let mut retention = Retention::default();
    let shown = &found.sessions[..found.sessions.len().min(limit)];
    let rows: Vec<[String; 4]> = shown
        .iter()
        .enumerate()
        .map(|(place, session)| {
            let name = match listed {
                Listed::Here(first) => (first + place).to_string(),
                Listed::Everywhere => project_name(session),
            };
            let age = if is_in_use(session, now) { "now".into() } else { ago(session.used(), now) };
            [name, session.agent.name().to_string(), age, session.head.tokens.map(tokens).unwrap_or_default()]
        })
        .collect();
    let width = |column: usize, least: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default().max(least)
    };
    let name_width = if matches!(listed, Listed::Everywhere) { width(0, 0) } else { 3 };
    let widths = [name_width, width(1, 0), width(2, 0), width(3, 6)];
    for (session, [name, agent, age, tokens]) in shown.iter().zip(&rows) {
        let name = match listed {
            Listed::Here(_) => pad_left(name, widths[0]),
            Listed::Everywhere => pad(name, widths[0]),
        };
        let front = format!(
            "{name}  {}  {}  {}  {}  ",
            pad(&visible(&short_id(session)), ID_SHOWN),
            pad(agent, widths[1]),
            pad(age, widths[2]),
            pad_left(tokens, widths[3]),
        );
        let title = visible(session.head.title.as_deref().unwrap_or("(no title)"));
        let title = format!("{title}{}", remarks(session, &mut retention, now));
        let room = page.screen.width.saturating_sub(front.chars().count());
        page.line(&format!("{front}{}", fit(&title, room)));
    }
    page.more(found.sessions.len(), shown.len(), "sessions");
}

/// What is worth knowing of a session beside its title.
fn remarks(session: &FoundSession, retention: &mut Retention, now: Timestamp) -> String {
    let mut remarks = String::new();
    if !session.children.is_empty() {
        remarks.push_str(&format!(" · {}", plural(session.children.len(), "sub-agent", "sub-agents")));
    }
    match retention.days_left(session, now).filter(|days| *days <= WARN_DAYS) {
        Some(0) => remarks.push_str(&format!(" · deleted by {} today", session.agent)),
        Some(days) => {
            let days = plural(usize::try_from(days).unwrap_or_default(), "day", "days");
            remarks.push_str(&format!(" · deleted by {} in {days}", session.agent));
        }
        None => {}
    }
    remarks
}

fn is_in_use(session: &FoundSession, now: Timestamp) -> bool {
    now.as_millis() - session.modified.as_millis() < IN_USE
}

fn tokens(figure: TokenFigure) -> String {
    format!("{}{}", if figure.is_estimate { "~" } else { "" }, thousands(figure.count))
}

fn short_id(session: &FoundSession) -> String {
    // The ids of some agents begin alike.
    let id = session.head.id.rsplit('_').next().unwrap_or_default();
    let id = if id.len() < ID_SHOWN { &session.head.id } else { id };
    visible(&id.chars().take(ID_SHOWN).collect::<String>())
}

fn project_name(session: &FoundSession) -> String {
    let name =
        session.head.directory.as_deref().map(std::path::Path::new).and_then(std::path::Path::file_name);
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "–".into());
    fit(&visible(&name), 24)
}

/// Tells what was left out, on standard error; a few by name.
pub(crate) fn tell_notices(notices: &[Notice]) {
    const NAMED: usize = 3;
    for notice in notices.iter().take(NAMED) {
        let path = notice.path.display().to_string();
        eprintln!("note: skipped {} ({}): {}", visible(&path), notice.agent, visible(&causes(notice)));
    }
    if notices.len() > NAMED {
        let count = plural(notices.len() - NAMED, "more file was", "more files were");
        eprintln!("note: {count} skipped; `longhaul sessions list --all --json` names them");
    }
}

/// An error with its causes.
fn causes(notice: &Notice) -> String {
    let mut text = notice.error.to_string();
    let mut cause = std::error::Error::source(&notice.error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// The sessions for machines; `first` is the number of the first one, where they have numbers.
pub(crate) fn json(found: &Found, listed: Listed, now: Timestamp) -> Value {
    let mut retention = Retention::default();
    let sessions = found.sessions.iter().enumerate().map(|(place, session)| {
        let head = &session.head;
        json!({
            "index": match listed { Listed::Here(first) => Some(first + place), Listed::Everywhere => None },
            "agent": session.agent.as_str(),
            "id": head.id,
            "title": head.title,
            "file": path_json(&session.path),
            "bytes": session.size,
            "directory": head.directory,
            "started": head.started.map(|at| at.to_string()),
            "updated": session.used().to_string(),
            "model": head.model,
            "tokens": head.tokens.map(|tokens| tokens.count),
            "tokens_estimated": head.tokens.map(|tokens| tokens.is_estimate),
            "in_use": is_in_use(session, now),
            "deleted_in_days": retention.days_left(session, now),
            "subagents": session.children.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
        })
    });
    Value::Array(sessions.collect())
}

/// What was left out, for machines.
pub(crate) fn notices_json(notices: &[Notice]) -> Value {
    let notices = notices.iter().map(|notice| {
        json!({"agent": notice.agent.as_str(), "file": path_json(&notice.path), "reason": causes(notice)})
    });
    Value::Array(notices.collect())
}
