//! The messages of a session in turns: what was typed, what was done about it in a fold, how it ended.

use std::ops::Range;

use longhaul_conversation::{Role, grouped, plural};
use maud::{Markup, html};

use crate::chronicle::{Chronicle, Cut, Entry, EntryPart};
use crate::pages::message::Renderer;
use crate::words::short;

/// So many messages stand on a page.
pub(crate) const ON_PAGE: usize = 200;

/// Which messages stand on a page.
pub(crate) fn range_of(page: usize, count: usize) -> Range<usize> {
    let start = (page * ON_PAGE).min(count);
    start..(start + ON_PAGE).min(count)
}

/// The messages of a page; the fold around `at` is open.
pub(crate) fn messages(
    chronicle: &Chronicle,
    address: Option<&str>,
    range: Range<usize>,
    at: Option<usize>,
) -> Markup {
    let renderer = Renderer { chronicle, address, shown: range.clone() };
    let turns = turns_in(chronicle, range.clone());
    html! {
        @for turn in &turns {
            @for (number, cut) in chronicle.cuts.iter().enumerate().filter(|(_, cut)| cut.place == turn.start) {
                (compaction(address, number, cut))
            }
            (show_turn(&renderer, turn.clone(), at))
        }
        @if range.end == chronicle.entries.len() {
            @for (number, cut) in chronicle.cuts.iter().enumerate().filter(|(_, cut)| cut.place == range.end && cut.place > 0) {
                (compaction(address, number, cut))
            }
        }
    }
}

/// The turns of a range: each begins with what was typed, or behind a compaction.
fn turns_in(chronicle: &Chronicle, range: Range<usize>) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for place in range {
        let begins =
            chronicle.entries[place].typed().is_some() || chronicle.cuts.iter().any(|cut| cut.place == place);
        match turns.last_mut() {
            Some(turn) if !begins => turn.end = place + 1,
            _ => turns.push(place..place + 1),
        }
    }
    turns
}

fn show_turn(renderer: &Renderer<'_>, turn: Range<usize>, at: Option<usize>) -> Markup {
    let entries = &renderer.chronicle.entries[turn.clone()];
    let head = usize::from(entries[0].typed().is_some());
    // The closing answer stands outside the fold: with what was typed it tells the story.
    let is_closing = |entry: &Entry| {
        entry.role == Role::Model
            && entry.calls() == 0
            && entry.parts.iter().any(|part| matches!(part, EntryPart::Text { .. }))
    };
    let tail = match entries.iter().rposition(is_closing).filter(|place| *place >= head) {
        Some(place) if place + 1 == entries.len() => place,
        _ => entries.len(),
    };
    let folded = &entries[head..tail];
    let is_open = at.is_some_and(|at| (turn.start + head..turn.start + tail).contains(&at));
    html! {
        section.turn {
            @for entry in &entries[..head] { (renderer.entry(entry)) }
            // One step needs no fold.
            @if folded.len() < 3 {
                @for entry in folded { (renderer.entry(entry)) }
            } @else {
                details.fold open[is_open] {
                    summary { (summary(folded)) }
                    @for entry in folded { (renderer.entry(entry)) }
                }
            }
            @for entry in &entries[tail..] { (renderer.entry(entry)) }
        }
    }
}

/// The content of a fold, in a line.
fn summary(entries: &[Entry]) -> Markup {
    let calls: usize = entries.iter().map(Entry::calls).sum();
    let tokens: u64 = entries.iter().map(|entry| entry.tokens).sum();
    let failed = entries.iter().flat_map(|entry| &entry.parts).filter(|part| {
        matches!(part, EntryPart::Result { status: longhaul_conversation::ToolStatus::Failed, .. })
    });
    let failed = failed.count();
    html! {
        (plural(entries.len(), "message", "messages")) " · " (plural(calls, "tool call", "tool calls"))
        @if failed > 0 { " (" span.bad { (failed) " failed" } ")" }
        " · " (short(tokens)) " tokens"
    }
}

fn compaction(address: Option<&str>, number: usize, cut: &Cut) -> Markup {
    let text = format!(
        "Compaction {}: {} → {} tokens",
        number + 1,
        grouped(cut.size_before()),
        grouped(cut.size_after())
    );
    html! {
        div.cut {
            @match address {
                Some(address) => a href=(format!("{address}/compactions#c{}", number + 1)) { (text) },
                None => span { (text) },
            }
        }
    }
}
