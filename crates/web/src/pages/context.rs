//! The context over time, and what it is made of now.

use std::sync::Arc;

use longhaul_compaction::Kind;
use longhaul_conversation::{TokenCount, grouped};
use maud::{Markup, html};

use crate::chart::{Chart, ChartPoint, class, name, scaled};
use crate::chronicle::{Chronicle, Whole};
use crate::pages::opened::{Opened, Tab};
use crate::pages::session::PATIENCE;
use crate::reply::Reply;
use crate::site::Site;
use crate::words::percent;

/// So many tools and files are listed.
const LISTED: usize = 15;

pub(crate) fn page(site: &Arc<Site>, key: &str) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let reading = opened.read(site);
    let state = reading.wait(PATIENCE, |_| true);
    let address = opened.address("");
    let content = match &state.chronicle.whole {
        Some(whole) => content(&state.chronicle, whole, Some(&address)),
        None if state.is_done => html! {},
        None => {
            html! { p.empty { "This session is still being read. The picture comes by itself; without script, load the page again." } }
        }
    };
    opened.page(site, &state, Tab::Context, None, &content)
}

/// The picture and the tables.
pub(crate) fn content(chronicle: &Chronicle, whole: &Whole, address: Option<&str>) -> Markup {
    let points = points(whole);
    let chart = Chart { points: &points, cuts: &chronicle.cuts, window: whole.window.size.0, address };
    html! {
        h2 { "Context over time" }
        p.soft {
            @if whole.breakdown.counted.is_some() { "In the provider's measure: estimates follow its counts." }
            @else { "Estimated: no provider counted this session." }
            " Hover to see which message it was, click to go there."
        }
        (chart.render())
        (kinds(whole))
        div.sides {
            div { (heaviest(whole, address)) }
            div { (tools(whole)) (files(whole)) }
        }
    }
}

/// The samples in the measure of the provider, with what stands beside the messages.
fn points(whole: &Whole) -> Vec<ChartPoint> {
    let beside = |kind: Kind| {
        let found = whole.breakdown.kinds.iter().find(|known| known.kind == kind);
        found.map_or(0, |found| found.tokens.0)
    };
    let (unrecorded, system) = (beside(Kind::Unrecorded), beside(Kind::System));
    let points = whole.samples.iter().map(|sample| {
        let mut kinds = scaled(&sample.kinds, whole.scale);
        kinds[Kind::Unrecorded as usize] = unrecorded;
        kinds[Kind::System as usize] = system;
        ChartPoint { place: sample.place, number: sample.number, kinds }
    });
    points.collect()
}

fn kinds(whole: &Whole) -> Markup {
    let breakdown = &whole.breakdown;
    html! {
        h2 { "In context now" }
        div.wide { table {
            thead { tr { th { "Kind" } th.number { "Tokens" } th.number { "Share" } } }
            tbody {
                @for known in &breakdown.kinds {
                    tr {
                        td {
                            svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" { rect class=(class(known.kind)) width="12" height="12" rx="3" {} }
                            " " (name(known.kind))
                        }
                        td.number { (known.tokens) }
                        td.number { (percent(known.tokens.share_of(breakdown.total))) }
                    }
                }
                tr { th scope="row" { "All" } td.number { (breakdown.total) } td.number {} }
                @if breakdown.dropped > TokenCount::ZERO {
                    tr { td.soft { "compacted away or taken back" } td.number { (breakdown.dropped) } td.number {} }
                }
            }
        } }
    }
}

fn heaviest(whole: &Whole, address: Option<&str>) -> Markup {
    html! {
        h2 { "Heaviest messages" }
        div.wide { table {
            thead { tr { th { "Message" } th { "Says" } th.number { "Tokens" } } }
            tbody {
                @for message in &whole.breakdown.heaviest {
                    tr {
                        td { @match (message.ordinal, address) {
                            (Some(number), Some(address)) => a href=(format!("{address}?at={number}#{number}")) { (number) },
                            (Some(number), None) => a href=(format!("#{number}")) { (number) },
                            (None, _) => "–",
                        } }
                        td dir="auto" { (message.preview) }
                        td.number { (message.tokens) }
                    }
                }
            }
        } }
    }
}

fn tools(whole: &Whole) -> Markup {
    let tools = &whole.breakdown.tools;
    html! {
        @if !tools.is_empty() {
            h2 { "Tools" }
            div.wide { table {
                thead { tr { th { "Tool" } th.number { "Calls" } th.number { "Failed" } th.number { "Tokens" } } }
                tbody {
                    @for tool in tools.iter().take(LISTED) {
                        tr { td { (tool.name) } td.number { (grouped(tool.calls)) } td.number { (grouped(tool.failures)) } td.number { (tool.tokens()) } }
                    }
                }
            } }
        }
    }
}

fn files(whole: &Whole) -> Markup {
    let files = &whole.breakdown.files;
    html! {
        @if !files.is_empty() {
            h2 { "Files" }
            div.wide { table {
                thead { tr { th { "File" } th.number { "Calls" } th.number { "Tokens" } } }
                tbody {
                    @for file in files.iter().take(LISTED) {
                        tr { td { (file.path) } td.number { (grouped(file.calls)) } td.number { (file.tokens) } }
                    }
                }
            } }
        }
    }
}
