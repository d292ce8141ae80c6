//! Compactions: before and after side by side, what was lost, and undo.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use longhaul_app::clock;
use longhaul_app::failure::hinted;
use longhaul_app::project::log_failure;
use longhaul_compaction::Kind;
use longhaul_companion::{Directive, Fate, Remembered, SessionRecord, loss_report};
use longhaul_conversation::{Estimator, grouped, plural};
use longhaul_formats::{Replay, Rewrite, RewriteKind, RewriteState};
use longhaul_sessions::Log;
use longhaul_snapshot::find_snapshot;
use maud::{Markup, html};

use crate::chart::name;
use crate::chronicle::{Chronicle, Cut, Entry, EntryPart};
use crate::layout::{self, Section};
use crate::pages::directives::{numbers, replay_of};
use crate::pages::message::link;
use crate::pages::opened::{Opened, Tab};
use crate::pages::session::PATIENCE;
use crate::reply::Reply;
use crate::request::{PageRequest, encode};
use crate::site::Site;
use crate::words::{percent, short};

/// So many messages are listed of what a compaction replaced.
const LISTED: usize = 300;
/// The most characters of a message in that list.
const LINE: usize = 140;

pub(crate) fn page(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let reading = opened.read(site);
    let state = reading.wait(PATIENCE, |_| true);
    let replay = replay_of(&opened, &state.chronicle);
    let rewrites = replay.as_deref().map(Replay::rewrites).unwrap_or_default();
    let address = opened.address("");
    let content = html! {
        @if !state.is_done { p.notice { "This session is still being read: what follows is not all." } }
        (rewrites_list(rewrites, &address, site.is_read_only))
        (content(&state.chronicle, Some(&address)))
    };
    opened.page(site, &state, Tab::Compactions, request.query.get("said"), &content)
}

/// Each compaction with its before and after.
pub(crate) fn content(chronicle: &Chronicle, address: Option<&str>) -> Markup {
    html! {
        @if chronicle.cuts.is_empty() { p.empty { "Nothing was compacted in this session." } }
        @for (nth, cut) in chronicle.cuts.iter().enumerate() {
            @let from = nth.checked_sub(1).and_then(|before| chronicle.cuts.get(before)).map_or(0, |before| before.place);
            (show(chronicle, nth, from, cut, address))
        }
    }
}

fn show(chronicle: &Chronicle, nth: usize, from: usize, cut: &Cut, address: Option<&str>) -> Markup {
    let (before, after) = (cut.size_before(), cut.size_after());
    html! {
        section.card #(format!("c{}", nth + 1)) {
            h2 { "Compaction " (nth + 1) @if let Some(at) = cut.held.at { " after " (numbers(&[at], address)) } }
            p { b { (grouped(before)) } " → " b { (grouped(after)) } " estimated tokens: "
                (percent(after as f64 / before.max(1) as f64)) " stayed" }
            (by_kind(cut))
            (losses(cut, address))
            div.sides {
                div {
                    h3 { "Before" }
                    (replaced(chronicle, from, cut, address))
                }
                div {
                    h3 { "After" }
                    (brought(chronicle, cut, address))
                }
            }
        }
    }
}

fn by_kind(cut: &Cut) -> Markup {
    let kinds =
        Kind::ALL.into_iter().filter(|kind| cut.before[*kind as usize] + cut.after[*kind as usize] > 0);
    html! {
        details.notices {
            summary { "By kind" }
            div.wide { table {
                thead { tr { th { "Kind" } th.number { "Before" } th.number { "After" } th.number { "Gone" } } }
                tbody {
                    @for kind in kinds {
                        @let (before, after) = (cut.before[kind as usize], cut.after[kind as usize]);
                        tr { td { (name(kind)) } td.number { (grouped(before)) } td.number { (grouped(after)) } td.number { (grouped(before.saturating_sub(after))) } }
                    }
                }
            } }
        }
    }
}

/// Losses of the compaction, as `guard report` tells it.
fn losses(cut: &Cut, address: Option<&str>) -> Markup {
    let record = SessionRecord { compactions: vec![cut.held.clone()], ..SessionRecord::default() };
    let Some(loss) = loss_report(&record).into_iter().next() else { return html! {} };
    let files: Vec<(&str, Fate)> = loss.files.iter().map(|file| (file.what.as_str(), file.fate)).collect();
    html! {
        h3 { "What it kept and lost" }
        ul.lines {
            (directives("rule", &loss.rules, address))
            (directives("open request", &loss.requests, address))
            @if files.is_empty() { li.soft { "No changed files before it." } }
            @else {
                @let lost = files.iter().filter(|(_, fate)| *fate == Fate::Lost).count();
                li { (plural(files.len(), "changed file", "changed files")) ": "
                    @if lost == 0 { span.good { "all named" } } @else { span.bad { (lost) " no longer named" } }
                    @if lost > 0 { details { summary { "Which" } ul {
                        @for (path, _) in files.iter().filter(|(_, fate)| *fate == Fate::Lost).take(100) { li { code { (path) } } }
                    } } }
                }
            }
        }
    }
}

fn directives(noun: &str, all: &[Remembered<Directive>], address: Option<&str>) -> Markup {
    html! {
        @if all.is_empty() { li.soft { "No " (noun) "s before it." } }
        @for it in all {
            @let (word, class) = match it.fate {
                Fate::Verbatim => ("kept word for word", "good"),
                Fate::Reworded => ("reworded", ""),
                Fate::Lost => ("lost", "bad"),
            };
            li dir="auto" { span.badge.(class) { (noun) " " (word) } " " (it.what.text) " "
                @if let Some(number) = it.what.message { (numbers(&[number], address)) } }
        }
    }
}

fn replaced(chronicle: &Chronicle, from: usize, cut: &Cut, address: Option<&str>) -> Markup {
    let kept: std::collections::HashSet<usize> = cut.kept.iter().copied().collect();
    let places: Vec<usize> = (from..cut.place.min(chronicle.entries.len())).collect();
    html! {
        p.soft { (plural(places.len(), "message", "messages")) ", "
            (grouped(places.iter().filter(|place| kept.contains(place)).count())) " stayed as they were" }
        ol.lines.scroll tabindex="0" aria-label="Messages before the compaction" {
            @for place in places.iter().take(LISTED) {
                @let entry = &chronicle.entries[*place];
                li dir="auto" {
                    (message_link(entry, address)) " "
                    @if kept.contains(place) { span.badge.good { "stayed" } " " }
                    span.soft[!kept.contains(place)] { (entry.line(LINE)) }
                    " " span.soft { (short(entry.tokens)) }
                }
            }
        }
        @if places.len() > LISTED { p.soft { (grouped(places.len() - LISTED)) " more are in the timeline" } }
    }
}

fn message_link(entry: &Entry, address: Option<&str>) -> Markup {
    let anchor = entry.number.map_or_else(|| "–".to_string(), |number| number.to_string());
    html! {
        @match address {
            Some(address) => a href=(link(address, entry)) { (anchor) },
            None => a href=(format!("#{}", entry.anchor())) { (anchor) },
        }
    }
}

fn brought(chronicle: &Chronicle, cut: &Cut, address: Option<&str>) -> Markup {
    let texts: Vec<&str> = cut
        .brought
        .iter()
        .filter_map(|place| chronicle.entries.get(*place))
        .flat_map(|entry| &entry.parts)
        .filter_map(|part| match part {
            EntryPart::Text { text, .. } => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    html! {
        p.soft { (plural(cut.kept.len(), "message", "messages")) " stayed, and this stands for the rest" }
        @if texts.is_empty() { p.empty { "Nothing: outputs were shortened, or messages dropped." } }
        div.snapshot.scroll tabindex="0" aria-label="What the compaction brought" {
            @for text in texts { (summary(text, address)) }
        }
    }
}

/// A summary: a snapshot by its sections, each line with its messages; any other as it is.
fn summary(text: &str, address: Option<&str>) -> Markup {
    let Some((snapshot, range)) = find_snapshot(text) else {
        return html! { div.said dir="auto" { (text) } };
    };
    let around = format!("{}{}", &text[..range.start], &text[range.end..]);
    html! {
        @for (section, entries) in snapshot.sections() {
            h3 { (section.name().replace('_', " ")) }
            ul.lines {
                @for entry in entries {
                    li dir="auto" {
                        @if !entry.marks().is_empty() { (numbers(entry.marks(), address)) " " }
                        span.said { (entry.lines().join("\n")) }
                    }
                }
            }
        }
        @if !around.trim().is_empty() { div.said.soft dir="auto" { (around.trim()) } }
    }
}

/// The recorded compactions of a session of ours, with their state.
fn rewrites_list(rewrites: &[Rewrite], address: &str, is_read_only: bool) -> Markup {
    html! {
        @if !rewrites.is_empty() {
            div.wide { table {
                thead { tr { th { "Recorded" } th { "When" } th.number { "Tokens" } th { "How" } th { "State" } th {} } }
                tbody { @for rewrite in rewrites { (recorded(rewrite, address, is_read_only)) } }
            } }
        }
    }
}

fn recorded(rewrite: &Rewrite, address: &str, is_read_only: bool) -> Markup {
    html! {
        tr {
            td.mono { (rewrite.id) }
            td { @if let Some(at) = rewrite.at { time datetime=(at) { (at.to_minute()) } } }
            @match &rewrite.kind {
                RewriteKind::Compaction(compaction) => {
                    @let report = &compaction.report;
                    td.number { (report.tokens.before) " → " (report.tokens.after) }
                    td { (report.summariser) @if let Some(model) = &report.model { " (" (model) ")" }
                        @if let Some(names) = &report.names { ", " (grouped(names.kept)) " names kept" }
                        @if !report.reason.is_empty() { div.soft { (report.reason) } } }
                },
                RewriteKind::Mask(masks) => {
                    td.number {}
                    td { (plural(masks.len(), "tool output", "tool outputs")) " replaced by previews" }
                }
            }
            td { @match rewrite.state {
                RewriteState::Active => span.badge.good { "in effect" },
                RewriteState::Undone => span.badge { "undone" },
                RewriteState::Inert => span.badge { "no longer in effect" },
            } }
            td { @if rewrite.state == RewriteState::Active && !is_read_only {
                a.button href=(format!("{address}/undo?compaction={}", encode(&rewrite.id))) { "Undo…" }
            } }
        }
    }
}

/// Asks before anything is undone, with what would change.
pub(crate) fn ask_undo(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let id = request.query.get("compaction").unwrap_or_default();
    match preview(&opened, id) {
        Err(error) => Reply::page(layout::failure(Section::Sessions, &error)),
        Ok((before, after)) => Reply::page(layout::page(
            "Undo a compaction",
            Section::Sessions,
            &html! {
                h1 { "Undo compaction " (id) "?" }
                div.card {
                    p { "The conversation grows from about " b { (grouped(before)) } " to about " b { (grouped(after)) }
                        " tokens: what was compacted away stands in the context again. The compaction stays in the log, marked as undone." }
                    form.actions method="post" action=(opened.address("/undo")) {
                        input type="hidden" name="compaction" value=(id);
                        button.primary { "Undo the compaction" }
                        a.button href=(opened.address("/compactions")) { "Keep it" }
                    }
                }
            },
        )),
    }
}

/// The estimated tokens before and after an undo that does not happen.
fn preview(opened: &Opened, id: &str) -> anyhow::Result<(u64, u64)> {
    // In memory: nothing is written.
    let file = longhaul_app::sessions::open(&opened.path)?;
    let mut replay =
        Replay::read(file).context("this is no session that Longhaul can undo a compaction in")?;
    anyhow::ensure!(
        replay.undoable(Some(id)).is_some(),
        hinted(anyhow!("no compaction {id} is in effect"), "open the list of compactions again")
    );
    let size = |replay: &Replay| Estimator::default().messages(replay.transcript().messages()).0;
    let before = size(&replay);
    replay.take_text(&format!("{}\n", longhaul_formats::encode_undo(id, Some(clock::now()))));
    Ok((before, size(&replay)))
}

/// Undoes a compaction.
pub(crate) fn undo(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let id = request.form.get("compaction").unwrap_or_default();
    let undone = Log::open_existing(&opened.path).and_then(|mut log| {
        let undone = log.undo(Some(id), Some(clock::now()))?;
        log.sync()?;
        Ok(undone)
    });
    match undone {
        Ok(undone) => {
            let said = encode(&format!("Undid {undone}."));
            Reply::SeeOther(format!("{}?said={said}", opened.address("/compactions")))
        }
        Err(error) => Reply::page(layout::failure(Section::Sessions, &log_failure(error))),
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::Ordinal;

    use super::*;

    #[test]
    fn lines_of_a_snapshot_lead_to_their_messages() {
        let text = "Before.\n<state_snapshot through=\"m9\">\n<overall_goal>\n[m3] Ship <b>it</b>.\n</overall_goal>\n</state_snapshot>";
        let html = summary(text, Some("/s/a")).into_string();
        assert!(html.contains("<a href=\"/s/a?at=m3#m3\">m3</a>") && html.contains("overall goal"), "{html}");
        assert!(html.contains("Ship &lt;b&gt;it&lt;/b&gt;.") && html.contains("Before."), "{html}");
        assert!(summary("plain <i>", None).into_string().contains("plain &lt;i&gt;"));
        assert_eq!(numbers(&[Ordinal(0)], None).into_string(), "");
    }
}
