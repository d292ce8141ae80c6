//! The list of sessions of all agents, with its filter.

use std::sync::Arc;

use anyhow::Context;
use longhaul_app::{archive, clock};
use longhaul_archive::Source;
use longhaul_conversation::{Timestamp, grouped, plural};
use longhaul_stores::Agent;
use maud::{Markup, html};

use crate::found_list::{FoundList, ListedSession};
use crate::layout::{self, Section};
use crate::reply::Reply;
use crate::request::{PageRequest, encode};
use crate::site::Site;
use crate::words::{ago, percent, short};

/// So many sessions stand on a page.
const ON_PAGE: usize = 100;
/// So many folders can be chosen.
const FOLDERS: usize = 60;
/// Days before an agent deletes a session from which on the list says so.
const WARN_DAYS: i64 = 7;

/// The part of the list that is shown.
struct View<'r> {
    words: &'r str,
    agent: Option<Agent>,
    folder: Option<&'r str>,
    /// The first session on the page.
    start: usize,
}

impl<'r> View<'r> {
    fn of(request: &'r PageRequest) -> Self {
        let query = &request.query;
        Self {
            words: query.get("q").unwrap_or_default(),
            agent: query.get("agent").and_then(Agent::from_word),
            folder: query.get("folder"),
            start: query.number("from").unwrap_or_default(),
        }
    }

    /// The address of the list from another session on.
    fn from(&self, start: usize) -> String {
        let mut address = format!("/?from={start}&q={}", encode(self.words));
        if let Some(agent) = self.agent {
            address.push_str(&format!("&agent={}", agent.as_str()));
        }
        if let Some(folder) = self.folder {
            address.push_str(&format!("&folder={}", encode(folder)));
        }
        address
    }
}

pub(crate) fn page(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let list = site.found();
    let view = View::of(request);
    let content = html! {
        div.heading {
            h1 { "Sessions" }
            @if !site.is_read_only {
                form method="post" action="/archive" {
                    button title="Copy what is new of every agent's sessions, so that nothing is lost when an agent deletes them" {
                        "Archive all now"
                    }
                }
            }
        }
        @if let Some(said) = request.query.get("said") { p.notice role="status" { (said) } }
        (filter(&list, &view))
        div #rows data-version=(list.version) { (table(&list, &view)) }
        (notices(&list))
    };
    Reply::page(layout::page("Sessions", Section::Sessions, &content))
}

/// The table alone, for the script.
pub(crate) fn rows(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let list = site.found();
    Reply::page(table(&list, &View::of(request)))
}

fn filter(list: &FoundList, view: &View<'_>) -> Markup {
    html! {
        form #filter .filter action="/" role="search" aria-label="Filter sessions" {
            label { span { "Filter" }
                input type="search" name="q" value=(view.words) autocomplete="off" placeholder="title, folder, model, id"
                    aria-controls="rows" accesskey="f";
            }
            label { span { "Agent" }
                select name="agent" {
                    option value="" { "All agents" }
                    @for (agent, count) in list.agents() {
                        option value=(agent.as_str()) selected[view.agent == Some(agent)] {
                            (agent.name()) " (" (grouped(count)) ")"
                        }
                    }
                }
            }
            label { span { "Folder" }
                select name="folder" {
                    option value="" { "All folders" }
                    @for (folder, count) in list.folders(FOLDERS) {
                        option value=(folder) selected[view.folder == Some(folder)] { (folder) " (" (grouped(count)) ")" }
                    }
                }
            }
            button { "Filter" }
        }
    }
}

fn table(list: &FoundList, view: &View<'_>) -> Markup {
    let found: Vec<&ListedSession> = list.filtered(view.words, view.agent, view.folder).collect();
    let now = clock::now();
    if list.sessions.is_empty() {
        return html! {
            p.empty { "No sessions yet. Longhaul looks where Claude Code, Codex, Gemini CLI, opencode, Cursor and others keep theirs." }
            p.empty { "Work with one of them, or import a file with " code { "longhaul sessions import FILE" } "." }
        };
    }
    if found.is_empty() {
        return html! { p.empty { "No session matches. " a href="/" { "Show all " (grouped(list.sessions.len())) } } };
    }
    let start = view.start.min((found.len() - 1) / ON_PAGE * ON_PAGE);
    let end = (start + ON_PAGE).min(found.len());
    html! {
        p.count { (plural(found.len(), "session", "sessions"))
            @if found.len() < list.sessions.len() { " of " (grouped(list.sessions.len())) }
        }
        ul.sessions {
            @for listed in &found[start..end] { (row(listed, now)) }
        }
        @if end - start < found.len() {
            nav.pages aria-label="More sessions" {
                @if start > 0 { a rel="prev" href=(view.from(start.saturating_sub(ON_PAGE))) { "Newer" } }
                span { (grouped(start + 1)) "–" (grouped(end)) " of " (grouped(found.len())) }
                @if end < found.len() { a rel="next" href=(view.from(end)) { "Older" } }
            }
        }
    }
}

fn row(listed: &ListedSession, now: Timestamp) -> Markup {
    let session = &listed.session;
    let running = listed.is_running(now);
    html! {
        li.running[running] {
            div.main {
                a.title href=(format!("/s/{}", encode(&listed.key))) dir="auto" { (listed.title()) }
                div.facts {
                    @if running { span.badge.live { "running" } }
                    span.badge.(format!("agent-{}", session.agent.as_str())) { (session.agent.name()) }
                    @if let Some(project) = listed.project() { span title=[session.head.directory.as_deref()] { (project) } }
                    @if let Some(model) = &session.head.model { span { (model) } }
                    @if !session.children.is_empty() { span { (plural(session.children.len(), "sub-agent", "sub-agents")) } }
                    time datetime=(session.used()) { (ago(session.used(), now)) }
                    (deletion(listed))
                }
            }
            (size(listed))
            (copy(&listed.resume_line(), "Copy the command that resumes this session", "resume"))
        }
    }
}

/// A button that copies a text; without the script the text itself can be selected.
pub(crate) fn copy(text: &str, label: &str, word: &str) -> Markup {
    html! {
        span.copy {
            code title=(text) { (text) }
            button type="button" data-copy=(text) aria-label=(label) title=(text) hidden { (word) }
        }
    }
}

fn size(listed: &ListedSession) -> Markup {
    let Some(tokens) = listed.session.head.tokens else { return html! { span.size {} } };
    let about = if tokens.is_estimate { "~" } else { "" };
    let title = format!(
        "{about}{} tokens{}",
        grouped(tokens.count),
        if tokens.is_estimate { ", estimated" } else { ", as the provider counted" }
    );
    html! {
        span.size title=(title) {
            span.tokens { (about) (short(tokens.count)) }
            @if let Some(window) = listed.window {
                (share(tokens.count as f64 / window.0.max(1) as f64, &format!("of a window of {window} tokens")))
            }
        }
    }
}

/// A bar for a share of a window, with its figure.
pub(crate) fn share(share: f64, of: &str) -> Markup {
    let filled = (share.clamp(0.0, 1.0) * 48.0).round();
    let class = if share > 0.9 {
        "full"
    } else if share > 0.5 {
        "half"
    } else {
        "low"
    };
    html! {
        svg.bar.(class) width="48" height="6" viewBox="0 0 48 6" aria-hidden="true" {
            rect.track width="48" height="6" rx="3" {}
            rect.fill width=(filled) height="6" rx="3" {}
        }
        span.share title=(of) { (percent(share)) }
    }
}

/// The notice that the agent deletes the session before long.
pub(crate) fn deletion(listed: &ListedSession) -> Markup {
    let agent = listed.session.agent.name();
    html! {
        @match listed.days_left.filter(|days| *days <= WARN_DAYS) {
            Some(0) => span.warn { "deleted by " (agent) " today" },
            Some(days) => span.warn {
                "deleted by " (agent) " in " (plural(usize::try_from(days).unwrap_or_default(), "day", "days"))
            },
            None => {},
        }
    }
}

fn notices(list: &FoundList) -> Markup {
    html! {
        @if !list.notices.is_empty() {
            details.notices {
                summary { (plural(list.notices.len(), "file", "files")) " could not be read" }
                ul { @for notice in &list.notices { li { (notice.agent) ": " (notice.path.display()) ": " (notice.error) } } }
            }
        }
    }
}

/// Copies what is new of every session, or of one, into the archive.
pub(crate) fn archive(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let key = request.form.get("session");
    match archive_now(site, key) {
        Ok(said) => {
            let back = key.map_or_else(|| "/".to_string(), |key| format!("/s/{}", encode(key)));
            Reply::SeeOther(format!("{back}?said={}", encode(&said)))
        }
        Err(error) => Reply::page(layout::failure(Section::Sessions, &error)),
    }
}

fn archive_now(site: &Arc<Site>, key: Option<&str>) -> anyhow::Result<String> {
    let mut archive = archive::open()?;
    let mut wanted = None;
    if let Some(key) = key {
        let list = site.found();
        let listed = list.get(key).with_context(|| format!("there is no session {key}"))?;
        let session = &listed.session;
        wanted = Some(std::iter::once(&session.path).chain(&session.children).cloned().collect::<Vec<_>>());
    }
    let is_wanted = |source: &Source| wanted.as_ref().is_none_or(|wanted| wanted.contains(&source.path));
    let synced = archive::sync(&mut archive, &site.settings, is_wanted)?;
    let report = synced.context("could not copy to the archive")?;
    let skipped = match report.skipped.len() {
        0 => String::new(),
        count => format!("; {} could not be read", plural(count, "file", "files")),
    };
    Ok(match (report.copied, key) {
        (0, Some(_)) => "The archive has it already.".into(),
        (0, None) => format!("The archive has everything already{skipped}."),
        (_, Some(_)) => "Copied to the archive.".into(),
        (count, None) => format!("Copied {} to the archive{skipped}.", plural(count, "session", "sessions")),
    })
}
