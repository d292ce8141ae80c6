//! Search over everything that was said, as `recall` ranks it, with filters and what stands around a hit.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use longhaul_app::{archive, clock};
use longhaul_archive::{Archive, Question};
use longhaul_conversation::{Timestamp, grouped, plural};
use longhaul_recall::{Excerpt, Hit, Kind, SearchFilter};
use longhaul_stores::Agent;
use maud::{Markup, html};

use crate::found_list::FoundList;
use crate::layout::{self, Section};
use crate::pages::opened::Opened;
use crate::pages::sessions::copy;
use crate::pages::timeline::messages;
use crate::reply::Reply;
use crate::request::{PageRequest, encode};
use crate::site::Site;
use crate::words::ago;

/// So many hits are shown.
const HITS: usize = 20;
/// So many folders can be chosen.
const FOLDERS: usize = 60;
/// So many messages are shown on either side of a hit.
const AROUND: usize = 2;
const DAY: i64 = 86_400_000;
/// The times to choose from, in days.
const SINCE: &[(&str, i64)] = &[("1", 1), ("7", 7), ("30", 30), ("90", 90)];

/// The kinds of text that people choose from.
const KINDS: &[(Kind, &str)] =
    &[(Kind::User, "typed"), (Kind::Model, "model"), (Kind::Call, "calls"), (Kind::Output, "outputs")];

struct SearchQuery<'r> {
    words: &'r str,
    agent: Option<Agent>,
    folder: Option<&'r str>,
    kinds: Vec<Kind>,
    since: Option<&'r str>,
}

impl<'r> SearchQuery<'r> {
    fn of(request: &'r PageRequest) -> Self {
        let query = &request.query;
        let chosen: Vec<&str> = query.all("kind").collect();
        Self {
            words: query.get("q").unwrap_or_default(),
            agent: query.get("agent").and_then(Agent::from_word),
            folder: query.get("folder"),
            kinds: KINDS
                .iter()
                .map(|(kind, _)| *kind)
                .filter(|kind| chosen.contains(&kind.as_str()))
                .collect(),
            since: query.get("since"),
        }
    }

    fn question(&self, now: Timestamp) -> Question {
        let days =
            self.since.and_then(|since| SINCE.iter().find(|(name, _)| *name == since)).map(|(_, days)| *days);
        let since = days.map(|days| Timestamp::from_millis(now.as_millis() - days * DAY));
        Question {
            filter: SearchFilter { kinds: self.kinds.clone(), since },
            agent: self.agent.map(|agent| agent.as_str().to_string()),
            project: self.folder.map(str::to_string),
            ..Question::new(self.words, now)
        }
    }
}

pub(crate) fn page(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let list = site.found();
    let query = SearchQuery::of(request);
    let found = match query.words.is_empty() {
        true => {
            html! { p.empty { "Words, a “quoted phrase”, a path, a message number such as m12; “yesterday” and “last week” count as times." } }
        }
        false => match results(site, &list, &query) {
            Ok(found) => found,
            Err(error) => html! { p.problem role="alert" { (format!("{error:#}")) } },
        },
    };
    let content = html! {
        h1 { "Search" }
        (form(&list, &query))
        div #hits { (found) }
    };
    Reply::page(layout::page("Search", Section::Search, &content))
}

fn form(list: &FoundList, query: &SearchQuery<'_>) -> Markup {
    html! {
        form.filter action="/search" role="search" aria-label="Search what was said" {
            label { span { "Search" }
                input type="search" name="q" value=(query.words) autofocus[query.words.is_empty()] placeholder="what was said, done or compacted away";
            }
            label { span { "Agent" }
                select name="agent" {
                    option value="" { "All agents" }
                    @for (agent, _) in list.agents() {
                        option value=(agent.as_str()) selected[query.agent == Some(agent)] { (agent.name()) }
                    }
                }
            }
            label { span { "Folder" }
                select name="folder" {
                    option value="" { "All folders" }
                    @for (folder, _) in list.folders(FOLDERS) {
                        option value=(folder) selected[query.folder == Some(folder)] { (folder) }
                    }
                }
            }
            label { span { "Since" }
                select name="since" {
                    option value="" { "Any time" }
                    @for (name, days) in SINCE {
                        option value=(name) selected[query.since == Some(name)] { (plural(usize::try_from(*days).unwrap_or_default(), "day", "days")) }
                    }
                }
            }
            fieldset {
                legend { "Only" }
                @for (kind, name) in KINDS {
                    label { input type="checkbox" name="kind" value=(kind.as_str()) checked[query.kinds.contains(kind)]; (name) }
                }
            }
            button.primary { "Search" }
        }
    }
}

fn results(site: &Arc<Site>, list: &FoundList, query: &SearchQuery<'_>) -> anyhow::Result<Markup> {
    let is_current = site.is_read_only || site.syncing.bring_up_to_date(&site.settings);
    let now = clock::now();
    let Some(mut archive) = archive::find()? else {
        return Ok(match site.is_read_only {
            true => {
                html! { p.empty { "There is no archive yet, and this page was started with --read-only. Run " code { "longhaul archive sync" } "." } }
            }
            false => {
                html! { p.empty { "Sessions are being copied to the archive for the first time. Search again in a moment." } }
            }
        });
    };
    let hits = archive.recall(&query.question(now), HITS).context("could not search the archive")?;
    let sessions = archive.sessions().len();
    Ok(html! {
        @if !is_current { p.notice { "New sessions are still being copied to the archive; search again in a moment to find them, too." } }
        @if hits.is_empty() { p.empty { "No matches in " (plural(sessions, "session", "sessions")) "." } }
        @for hit in &hits { (show(list, &archive, hit, now)) }
        @if !hits.is_empty() { p.soft { "The best " (hits.len()) " of what was found in " (plural(sessions, "session", "sessions"))
            ". Sessions in databases are not in the archive yet." } }
    })
}

fn show(list: &FoundList, archive: &Archive, hit: &Hit, now: Timestamp) -> Markup {
    let name = hit.session.as_str();
    let id = name.split('/').next().unwrap_or_default();
    let archived = archive.find(name).or_else(|| archive.find(id));
    let listed = list.by_id(id);
    let title = listed.map_or(id, |listed| listed.title());
    let agent = archived.and_then(|session| Agent::from_word(&session.source.agent));
    let message = hit.number.map_or_else(|| hit.message.to_string(), |number| number.to_string());
    let key = listed.map_or(name, |listed| listed.key.as_str());
    let address = format!("/s/{}", encode(key));
    let at = encode(&message);
    html! {
        article.hit {
            a.title href=(format!("{address}?at={at}#{at}")) dir="auto" { (title) }
            div.facts {
                span.badge { (agent.map_or("session", Agent::name)) }
                @if archived.is_some_and(|session| session.is_deleted()) { span.badge.injected { "only in the archive" } }
                span { (message) }
                span { (hit.tool.as_deref().unwrap_or(hit.origin.as_str())) }
                @if let Some(when) = hit.at { time datetime=(when) { (ago(when, now)) } }
                @if hit.repeats > 0 { span { "and " (grouped(hit.repeats)) " more like it" } }
            }
            (excerpt(&hit.excerpt))
            div.actions {
                details.more data-around=(format!("{address}/around?at={at}")) hidden { summary { "What stands around it" } }
                @if let Some(listed) = listed { (copy(&listed.resume_line(), "Copy the command that resumes this session", "resume")) }
            }
        }
    }
}

/// The text of a hit, with what matched marked.
fn excerpt(excerpt: &Excerpt) -> Markup {
    let text = &excerpt.text;
    let mut from = 0;
    let mut pieces: Vec<(&str, &str)> = Vec::new();
    for range in &excerpt.matches {
        if let (Some(before), Some(matched)) = (text.get(from..range.start), text.get(range.clone())) {
            pieces.push((before, matched));
            from = range.end;
        }
    }
    html! {
        div.said dir="auto" {
            @if excerpt.is_cut_before { "… " }
            @for (before, matched) in pieces { (before) mark { (matched) } }
            (text.get(from..).unwrap_or_default())
            @if excerpt.is_cut_after { " …" }
        }
    }
}

/// The messages around one, for the script.
pub(crate) fn around(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let at = request.query.get("at").unwrap_or_default();
    let reading = opened.read(site);
    let state = reading.wait(Duration::from_secs(10), |chronicle| {
        chronicle.find(at).is_some_and(|place| chronicle.entries.len() > place + AROUND)
    });
    let Some(place) = state.chronicle.find(at) else {
        return Reply::page(html! { p.soft { "The session has no message " (at) " any more." } });
    };
    let range = place.saturating_sub(AROUND)..(place + AROUND + 1).min(state.chronicle.entries.len());
    Reply::page(html! { div { (messages(&state.chronicle, Some(&opened.address("")), range, Some(place))) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_marked_and_text_stays_text() {
        let shown = excerpt(&Excerpt {
            text: "a <b>ring</b> buffer".into(),
            matches: vec![5..9, 14..20],
            first_line: 1,
            is_cut_before: true,
            is_cut_after: false,
        });
        let shown = shown.into_string();
        assert!(shown.contains("… a &lt;b&gt;<mark>ring</mark>&lt;/b&gt; <mark>buffer</mark>"), "{shown}");
    }
}
