//! The compaction as text for people.

use longhaul_app::compression::is_carried;
use longhaul_compaction::{Outcome, Status};
use longhaul_conversation::TokenCount;
use longhaul_extract::{AnchorKind, NameCount};

use super::Compression;
use crate::destination::Destination;
use crate::doubts::doubt_text;
use crate::output::{Page, Screen, fit, pad_left, percent, plural, thousands, wrapped};
use crate::reports::redaction::redaction_text;
use crate::reports::tracked::text as tracked;
use crate::reports::{losses, written as writing};

/// The most missing anchors, repairs and warnings that are listed.
const LISTED: usize = 5;

/// The whole compaction.
pub(super) fn text(compression: &Compression, screen: &Screen) -> String {
    let mut page = Page::new(*screen);
    title(&mut page, compression);
    sizes(&mut page, compression);
    if compression.is_dry_run {
        plan(&mut page, &compression.outcome);
    }
    coverage(&mut page, &compression.outcome);
    summary(&mut page, &compression.outcome);
    tracked::rules(&mut page, compression.tracker.rules());
    tracked::requests(&mut page, compression.tracker.requests());
    ledger(&mut page, compression);
    redaction(&mut page, compression);
    repairs(&mut page, compression);
    warnings(&mut page, compression);
    ending(&mut page, compression);
    page.into_text()
}

fn title(page: &mut Page, compression: &Compression) {
    let info = &compression.session.info;
    let mut facts = vec![
        info.format.to_string(),
        plural(compression.outcome.report.messages_before, "message", "messages"),
    ];
    facts.extend(info.model().map(str::to_string));
    page.facts(&facts);
    if let Some(title) = info.title.as_deref().filter(|title| !title.trim().is_empty()) {
        let title = fit(title, page.screen.width);
        page.line(&title);
    }
}

/// The status in words, and a bar for before and after.
fn sizes(page: &mut Page, compression: &Compression) {
    let Compression { session, window, outcome, set_by, .. } = compression;
    page.gap();
    let words = if compression.is_dry_run { on_trial(outcome.status) } else { in_words(outcome.status) };
    let status = match outcome.status {
        status if status.is_change() => page.screen.good(words),
        status if status.is_failure() => page.screen.error(words),
        _ => page.screen.strong(words),
    };
    // The reason of a change says what was done, which a dry run did not do.
    let is_trial = compression.is_dry_run && outcome.status.is_change();
    let reason = if is_trial { &outcome.plan.reason } else { &outcome.reason };
    if outcome.status == Status::Compressed && !is_trial {
        // The reason begins with the status.
        page.line(&page.screen.strong(reason));
    } else {
        let lines = wrapped(reason, page.screen.width.saturating_sub(2));
        page.line(&format!("{status}:"));
        lines.iter().for_each(|line| page.line(&format!("  {line}")));
    }
    let width = page.screen.width.saturating_sub(30).min(50);
    for (name, tokens) in [("before", outcome.before), ("after", outcome.after)] {
        let share = tokens.share_of(window.size);
        let gauge = page.gauge(share, width);
        let line = format!(
            "  {name:<7}{} {gauge} {}",
            pad_left(&thousands(tokens.0), 11),
            pad_left(&percent(share), 6)
        );
        page.line(&line);
    }
    if let Some(counted) = &compression.counted {
        let mut line = match counted.counted {
            Some(counted) => format!("  before: {} counted by the provider", thousands(counted.0)),
            None => "  before: estimated in the provider's measure".to_string(),
        };
        if !is_carried(counted, *window) {
            line = format!(
                "  without {} tokens not in the file, too many for this window",
                thousands(counted.unrecorded.0)
            );
        } else if counted.unrecorded > TokenCount::ZERO {
            line.push_str(&format!("; {} not in the file stay", thousands(counted.unrecorded.0)));
        }
        let line = fit(&line, page.screen.width);
        page.line(&page.screen.faint(&line));
    }
    let line = format!("  window: {} tokens{}", thousands(window.size.0), window.whose(&session.info));
    let line = fit(&line, page.screen.width);
    page.line(&page.screen.faint(&line));
    let report = &outcome.report;
    if report.messages_after != report.messages_before {
        let line = format!(
            "  {} → {}; {} tokens added to the verbatim part",
            plural(report.messages_before, "message", "messages"),
            thousands(report.messages_after as u64),
            thousands(outcome.added.0),
        );
        page.line(&line);
    }
    if outcome.status.is_change() && report.rules > 0 {
        let rules = plural(report.rules, "rule", "rules");
        page.line(&format!("  {} of {rules} kept", thousands(report.rules_kept as u64)));
    }
    for (name, place) in set_by {
        let line = fit(&format!("  {} set by {place}", name.replace('_', " ")), page.screen.width);
        page.line(&page.screen.faint(&line));
    }
}

fn in_words(status: Status) -> &'static str {
    match status {
        Status::Compressed => "Compacted",
        Status::Masked => "Old tool outputs masked",
        Status::FailedInflated => "Failed: the result would be larger",
        Status::FailedTokenCount => "Failed: the tokens could not be counted",
        Status::FailedEmptySummary => "Failed: no usable summary",
        Status::Noop => "Nothing to do",
        Status::ContentTruncated => "Tool outputs shortened",
        Status::LastResort => "Compacted as far as possible",
        Status::Cancelled => "Cancelled",
        Status::DoesNotFit => "Does not fit",
    }
}

/// The status, worded for a dry run.
fn on_trial(status: Status) -> &'static str {
    match status {
        Status::Compressed => "Would compact",
        Status::Masked => "Would mask old tool outputs",
        Status::ContentTruncated => "Would shorten tool outputs",
        Status::LastResort => "Would compact as far as possible",
        other => in_words(other),
    }
}

fn plan(page: &mut Page, outcome: &Outcome) {
    page.heading("Plan");
    for line in outcome.plan.to_string().lines() {
        let line = fit(&format!("  {line}"), page.screen.width);
        page.line(&line);
    }
}

fn coverage(page: &mut Page, outcome: &Outcome) {
    let Some(coverage) = outcome.coverage.as_ref().filter(|coverage| coverage.names.of > 0) else { return };
    page.heading(&format!(
        "Coverage: {} of {} that you or the model used",
        thousands(coverage.names.kept as u64),
        plural(coverage.names.of, "name", "names"),
    ));
    let of_kind = |(kind, count): &(AnchorKind, NameCount)| {
        format!("{} {} of {}", kind_in_words(*kind), thousands(count.kept as u64), thousands(count.of as u64))
    };
    page.facts(&coverage.kinds.iter().map(of_kind).collect::<Vec<_>>());
    if let Some((first, rest)) = coverage.missing.split_first() {
        page.item(&first.message.to_string(), 6, &format!("most important missing: {}", first.text));
        for missing in rest.iter().take(LISTED - 1) {
            page.item(&missing.message.to_string(), 6, &missing.text);
        }
    }
}

fn kind_in_words(kind: AnchorKind) -> &'static str {
    match kind {
        AnchorKind::Path => "paths",
        AnchorKind::Identifier => "identifiers",
        AnchorKind::Command => "commands",
        AnchorKind::Url => "addresses",
        AnchorKind::Error => "errors",
        AnchorKind::Number => "numbers",
        AnchorKind::Hash => "hashes",
        AnchorKind::Quoted => "quotations",
    }
}

/// What a model wrote and what of it no message supports.
fn summary(page: &mut Page, outcome: &Outcome) {
    let Some(notes) = &outcome.notes else { return };
    let mut kept = format!("Model's summary: {} kept", plural(notes.kept, "line", "lines"));
    if notes.cut > 0 {
        kept.push_str(&format!(", {} cut", thousands(notes.cut as u64)));
    }
    page.heading(&kept);
    let doubts = [
        ("goal not yours, dropped", &notes.goals_dropped),
        ("task not yours", &notes.tasks_found),
        ("rule not yours", &notes.rules_found),
        ("unsupported", &notes.unsupported),
    ];
    for (title, lines) in doubts {
        for line in lines.iter().take(LISTED) {
            page.item("", 0, &format!("{title}: {line}"));
        }
        page.more(lines.len(), LISTED, "lines");
    }
}

fn ledger(page: &mut Page, compression: &Compression) {
    let facts = tracked::ledger_facts(compression.tracker.ledger());
    if !facts.is_empty() {
        page.heading("Ledger");
        page.facts(&facts);
    }
}

fn redaction(page: &mut Page, compression: &Compression) {
    if let Some(redaction) = &compression.redaction {
        page.gap();
        redaction_text(redaction, &page.screen).lines().for_each(|line| page.line(line));
    }
}

fn repairs(page: &mut Page, compression: &Compression) {
    let repairs = &compression.outcome.repairs;
    if repairs.is_empty() {
        return;
    }
    page.heading(&plural(repairs.len(), "repair", "repairs"));
    for repair in repairs.iter().take(LISTED) {
        let fault = &repair.fault;
        let mark = fault.ordinal.map(|mark| mark.to_string()).unwrap_or_default();
        page.item(&mark, 6, &format!("{}: {}", fault.kind.describe(), repair.action()));
    }
    page.more(repairs.len(), LISTED, "repairs");
}

fn warnings(page: &mut Page, compression: &Compression) {
    let Compression { session, outcome, written, destination, tracker, .. } = compression;
    let reading = session.warnings.iter().map(ToString::to_string);
    let doubts = tracker.rules().doubts().map(|(older, newer)| doubt_text(&older.text, &newer.text));
    let all: Vec<String> = outcome.warnings.iter().cloned().chain(doubts).chain(reading).collect();
    if !all.is_empty() {
        page.heading(&plural(all.len(), "warning", "warnings"));
        for warning in all.iter().take(LISTED) {
            page.warning(warning);
        }
        page.more(all.len(), LISTED, "warnings");
    }
    if *destination != Destination::Nowhere && !written.lost.is_empty() {
        page.gap();
        losses::text(&written.lost, &page.screen).lines().for_each(|line| page.line(line));
    }
}

/// The place of the result, and the time it took.
fn ending(page: &mut Page, compression: &Compression) {
    let Compression { outcome, written, destination, saved, is_dry_run, .. } = compression;
    page.gap();
    let ending = match (is_dry_run, destination) {
        (true, _) => "Dry run: nothing written".to_string(),
        _ if outcome.status.is_failure() => "Nothing written".to_string(),
        _ => capitalised(&writing::outcome(destination, written)),
    };
    page.line(&format!("{ending}."));
    if !saved.is_empty() {
        let folder = saved[0].parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let line =
            format!("{} saved in full in {folder}", plural(saved.len(), "shortened text", "shortened texts"));
        page.line(&fit(&line, page.screen.width));
    } else if !outcome.files.is_empty() {
        let count = plural(outcome.files.len(), "shortened text", "shortened texts");
        page.line(&format!("With -o OUT, {count} will be saved in full next to OUT."));
    }
    if let Some(time) = outcome.report.duration {
        let line = format!("Took {:.0} ms, {}.", time.as_secs_f64() * 1_000.0, outcome.report.summariser);
        page.line(&page.screen.faint(&line));
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
