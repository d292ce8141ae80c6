//! The user's rules and requests in a session, with their state.

use std::sync::Arc;

use longhaul_conversation::Ordinal;
use longhaul_directives::{RequestState, Retirement, RuleId, UserRequests, UserRules};
use longhaul_formats::{Recorded, Replay, RequestChange, RuleChange, read_recorded};
use maud::{Markup, html};

use crate::chronicle::Chronicle;
use crate::pages::opened::{Opened, Tab};
use crate::pages::session::PATIENCE;
use crate::reply::Reply;
use crate::site::Site;

pub(crate) fn page(site: &Arc<Site>, key: &str) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let reading = opened.read(site);
    let state = reading.wait(PATIENCE, |_| true);
    let replay = replay_of(&opened, &state.chronicle);
    let address = opened.address("");
    let content = html! {
        @if !state.is_done { p.notice { "This session is still being read: what follows is not all." } }
        (content(&state.chronicle, replay.as_deref(), Some(&address)))
    };
    opened.page(site, &state, Tab::Rules, None, &content)
}

/// The log of a session of ours, or of Gemini CLI; others keep none of our records.
pub(crate) fn replay_of(opened: &Opened, chronicle: &Chronicle) -> Option<Box<Replay>> {
    let format = chronicle.whole.as_ref()?.info.format;
    if format != longhaul_formats::Format::GeminiJsonl {
        return None;
    }
    let file = longhaul_app::sessions::open(&opened.path).ok()?;
    match read_recorded(file).ok()? {
        Recorded::Log(replay) => Some(replay),
        Recorded::File(_) => None,
    }
}

/// Both lists.
pub(crate) fn content(chronicle: &Chronicle, replay: Option<&Replay>, address: Option<&str>) -> Markup {
    let (mut rules, mut requests) = (chronicle.rules.clone(), chronicle.requests.clone());
    if let Some(replay) = replay {
        correct(replay, &mut rules, &mut requests);
    }
    html! {
        div.sides {
            section.card { h2 { "Rules" } (rules_list(&rules, address)) }
            section.card { h2 { "Requests" } (requests_list(&requests, address)) }
        }
    }
}

/// Carries out what the user corrected by hand.
fn correct(replay: &Replay, rules: &mut UserRules, requests: &mut UserRequests) {
    for change in replay.rules() {
        match change {
            RuleChange::Added { text } => {
                rules.add_by_hand(text);
            }
            RuleChange::Removed { rule } => {
                RuleId::parse(rule).map(|id| rules.remove_by_hand(id));
            }
        }
    }
    for change in replay.requests() {
        match change {
            RequestChange::Added { text } => {
                requests.add_by_hand(text);
            }
            RequestChange::Done { request } => {
                RuleId::parse(request).map(|id| requests.finish_by_hand(id));
            }
            RequestChange::Removed { request } => {
                RuleId::parse(request).map(|id| requests.remove_by_hand(id));
            }
        }
    }
}

fn rules_list(rules: &UserRules, address: Option<&str>) -> Markup {
    let retired: Vec<_> = rules.retired().collect();
    html! {
        @if rules.active().next().is_none() { p.empty { "No rule was recognised in what the user typed." } }
        ul.lines {
            @for rule in rules.active() {
                li dir="auto" { span.badge.good { "in force" } " " (rule.text) " " (numbers(&rule.messages, address)) }
            }
            @for rule in retired {
                li.soft dir="auto" {
                    @match &rule.retired_by {
                        Some(Retirement::Message { message, words }) => {
                            span.badge title=(words) { "retired" } " " (rule.text) " " (numbers(&rule.messages, address))
                            " by " (numbers(std::slice::from_ref(message), address))
                        },
                        _ => { span.badge { "removed by you" } " " (rule.text) }
                    }
                }
            }
        }
        @for (older, newer) in rules.doubts() {
            p.warn { "These may contradict each other: “" (older.text) "” and “" (newer.text) "”" }
        }
    }
}

fn requests_list(requests: &UserRequests, address: Option<&str>) -> Markup {
    html! {
        @if requests.all().is_empty() { p.empty { "No request was recognised in what the user typed." } }
        ul.lines {
            @for request in requests.all().iter().rev() {
                @let (word, class) = match &request.state {
                    RequestState::Open { .. } => ("open", "warn"),
                    RequestState::Done(_) => ("done", "good"),
                    RequestState::Replaced { .. } => ("replaced", ""),
                };
                li dir="auto" {
                    span.badge.(class) { (word) } " " (request.text) " " (numbers(&request.messages, address))
                    @match &request.state {
                        RequestState::Done(evidence) | RequestState::Open { reason: Some(evidence) } => {
                            div.soft { (numbers(&[evidence.message], address)) " " (evidence.words) }
                        },
                        RequestState::Replaced { by } => { div.soft { "by " (numbers(&[*by], address)) } },
                        RequestState::Open { reason: None } => {},
                    }
                }
            }
        }
    }
}

/// Links to messages.
pub(crate) fn numbers(messages: &[Ordinal], address: Option<&str>) -> Markup {
    html! {
        @for (nth, number) in messages.iter().filter(|number| number.0 > 0).enumerate() {
            @if nth > 0 { ", " }
            @match address {
                Some(address) => a href=(format!("{address}?at={number}#{number}")) { (number) },
                None => a href=(format!("#{number}")) { (number) },
            }
        }
    }
}
