//! The gateway: its conversations, the time it adds, cache hits, money, compactions.

use std::sync::Arc;

use longhaul_app::clock;
use longhaul_conversation::{Timestamp, grouped, plural};
use maud::{Markup, html};

use crate::found_list::FoundList;
use crate::gateway::{GatewayCompaction, GatewayConversation, GatewayStatus};
use crate::layout::{self, Section};
use crate::pages::sessions::copy;
use crate::reply::Reply;
use crate::request::encode;
use crate::site::Site;
use crate::words::{ago, percent, short};

/// A conversation whose last call is so young goes on.
const GOES_ON: i64 = 60_000;

pub(crate) fn page(site: &Arc<Site>) -> Reply {
    let status = match read(site) {
        Ok(status) => status,
        Err(error) => return Reply::page(layout::failure(Section::Gateway, &error)),
    };
    let content = html! {
        h1 { "Gateway" }
        div #gateway data-version=(version_of(status.as_ref())) { @match &status {
            Some(status) => (show(status, &site.found(), clock::now())),
            None => {
                p.empty { "No calls yet. The gateway keeps any client's conversations inside the window, and cheaper." }
                p.empty { "Start a client behind it with " code { "longhaul gateway -- claude" } "." }
            }
        } }
    };
    Reply::page(layout::page("Gateway", Section::Gateway, &content))
}

fn read(site: &Site) -> anyhow::Result<Option<GatewayStatus>> {
    let status = site.gateway.as_ref().map(|source| source.read()).transpose()?;
    Ok(status.flatten().filter(|status| status.calls.all > 0))
}

/// A number that changes with what the page shows; none while it cannot be read.
pub(crate) fn version(site: &Site) -> Option<u64> {
    read(site).ok().map(|status| version_of(status.as_ref()))
}

fn version_of(status: Option<&GatewayStatus>) -> u64 {
    status.map(GatewayStatus::version).unwrap_or_default()
}

fn show(status: &GatewayStatus, list: &FoundList, now: Timestamp) -> Markup {
    html! {
        (figures(status))
        h2 { "Conversations" }
        (conversations(&status.conversations, list, now))
        h2 { "Compactions" }
        (compactions(&status.compactions, list, now))
        h2 { "Method" }
        ul.lines {
            li { "Tokens are those that the providers report in their answers; the cached share is cached input of all input. Sizes of compactions are estimates." }
            li { "Money is these tokens at known prices. It is no bill: a subscription, a discount or an unknown model does not show." }
            li { "Added time runs from a whole request at hand to the moment it goes on; the network and the provider are not in it. Of every call, not of a sample." }
            li { "Everything is counted since the gateway's first call on this machine, but for today's money (UTC)." }
        }
    }
}

fn figures(status: &GatewayStatus) -> Markup {
    let GatewayStatus { calls, tokens, held, spend, .. } = status;
    html! {
        ul.figures {
            li { b { (grouped(calls.all)) } span { (if calls.all == 1 { "call" } else { "calls" }) ": " (grouped(calls.rewritten)) " shortened, "
                (grouped(calls.refused)) " refused by the provider" } }
            li { b { (added(held.microseconds, held.calls)) } span { "added to a call on average" }
                @if held.calls > 0 { span { "; " (percent(held.slow as f64 / held.calls as f64)) " of calls 10 ms or more" } } }
            li { b { (percent(tokens.cached as f64 / tokens.input.max(1) as f64)) } span { "of input from the provider's cache" } }
            li { b { (short(tokens.input)) " + " (short(tokens.output)) } span { "tokens in and out" } }
            li { b { (dollars(spend.today)) } span { "today; " (dollars(spend.all)) " since the first call, by known prices" } }
        }
    }
}

/// The time that a call was held on average.
fn added(microseconds: u64, calls: u64) -> String {
    match calls {
        0 => "–".into(),
        _ => format!("{:.1} ms", microseconds as f64 / calls as f64 / 1_000.0),
    }
}

fn dollars(millionths: u64) -> String {
    match millionths {
        1..10_000 => "<$0.01".into(),
        _ => format!("${:.2}", millionths as f64 / 1e6),
    }
}

fn conversations(conversations: &[GatewayConversation], list: &FoundList, now: Timestamp) -> Markup {
    html! {
        @if conversations.is_empty() { p.empty { "None are known." } }
        @else { div.wide { table {
            thead { tr { th { "Client" } th { "Model" } th { "Session" } th.number { "Calls" } th.number { "Tokens now" } th.number { "Compactions" } th { "Last call" } } }
            tbody { @for it in conversations {
                tr {
                    td { (if it.client.is_empty() { "unnamed" } else { &it.client }) }
                    td { (it.model) }
                    td { (session(it.session.as_deref(), list)) }
                    td.number { (grouped(it.calls)) }
                    td.number { (it.tokens.map_or_else(|| "–".to_string(), grouped)) }
                    td.number { (grouped(it.compactions)) }
                    td { @if now.as_millis() - it.last.as_millis() < GOES_ON { span.badge.live { "running" } " " }
                        time datetime=(it.last) title=(it.last) { (ago(it.last, now)) } }
                }
            } }
        } } }
    }
}

fn compactions(compactions: &[GatewayCompaction], list: &FoundList, now: Timestamp) -> Markup {
    html! {
        @if compactions.is_empty() { p.empty { "None are in effect." } }
        @for it in compactions {
            section.card #(format!("g{}", it.number)) {
                h3 { "Compaction " (it.number) }
                p { b { (grouped(it.before)) } " → " b { (grouped(it.after)) } " estimated tokens, "
                    (plural(usize::try_from(it.messages).unwrap_or(usize::MAX), "message", "messages")) " gave way " (reason(&it.occasion)) }
                div.facts { time datetime=(it.at) title=(it.at) { (ago(it.at, now)) } (session(it.session.as_deref(), list)) }
                details.more { summary { "What stands for them" } pre tabindex="0" { (it.snapshot) } }
                div.actions { (copy(&format!("longhaul gateway undo {}", it.number), "Copy the command that undoes this compaction", "copy")) }
            }
        }
    }
}

fn reason(occasion: &str) -> &str {
    match occasion {
        "hard" => "to fit the window",
        "pays" => "because it pays",
        "cold" => "while the cache was cold",
        other => other,
    }
}

fn session(id: Option<&str>, list: &FoundList) -> Markup {
    html! {
        @match id {
            Some(id) => @match list.by_id(id) {
                Some(listed) => a href=(format!("/s/{}", encode(&listed.key))) dir="auto" { (listed.title()) },
                None => span.mono { (id) },
            },
            None => span.soft { "not recorded" },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{GatewayCalls, GatewayHeld, GatewaySpend, GatewayTokens};

    fn status() -> GatewayStatus {
        GatewayStatus {
            calls: GatewayCalls { all: 1_200, rewritten: 7, refused: 2 },
            tokens: GatewayTokens { input: 4_000_000, cached: 3_000_000, output: 9_000 },
            held: GatewayHeld { calls: 200, microseconds: 300_000, slow: 1 },
            spend: GatewaySpend { today: 1_234_000, all: 5_000_000 },
            conversations: vec![GatewayConversation {
                client: "<b>claude-cli</b>".into(),
                model: "m".into(),
                session: Some("s-1".into()),
                calls: 40,
                tokens: Some(81_000),
                compactions: 1,
                last: Timestamp::from_millis(1_000),
            }],
            compactions: vec![GatewayCompaction {
                number: 3,
                at: Timestamp::from_millis(1_000),
                occasion: "hard".into(),
                messages: 90,
                before: 150_000,
                after: 40_000,
                snapshot: "</pre><script>".into(),
                session: None,
            }],
        }
    }

    #[test]
    fn figures_stand_with_their_method_and_what_clients_say_is_text() {
        let html = show(&status(), &FoundList::default(), Timestamp::from_millis(2_000)).into_string();
        for expected in [
            "1,200",
            "7 shortened, 2 refused",
            "1.5 ms",
            "&lt;1%",
            "75%",
            "4.00M + 9.00k",
            "$1.23",
            "&lt;b&gt;claude-cli&lt;/b&gt;",
            "81,000",
            "running",
            "150,000",
            "90 messages gave way to fit the window",
            "longhaul gateway undo 3",
            "not recorded",
            "It is no bill",
        ] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
        assert!(!html.contains("<script>"), "{html}");
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        assert_eq!((added(0, 0), added(2_500, 1)), ("–".to_string(), "2.5 ms".to_string()));
        assert_eq!([0, 400, 10_000].map(dollars), ["$0.00", "<$0.01", "$0.01"]);
    }
}
