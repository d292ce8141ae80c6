//! Compaction cards: the stage of a running compaction, and the result of a finished one.

use std::time::Duration;

use longhaul_compaction::{LedgerCounts, NameCount, Report, RequestCounts, Rung, Status};
use longhaul_conversation::{TokenCount, grouped};
use longhaul_display::{Style, StyledLine, paragraphs};
use longhaul_engine::{Event, PassOutcome, Spend, SummariserKind};

use super::{duration, money, percent, plural};
use crate::state::RunningCompaction;

/// The size below which an inflated summary is no sign of trouble.
const SMALL_HISTORY: TokenCount = TokenCount(50_000);

/// A description of the new stage; none if it stays the same.
pub(crate) fn stage(event: &Event) -> Option<String> {
    Some(match event {
        Event::Planned { rung, .. } if *rung == "mask" => "moving old tool output to files".to_string(),
        Event::Planned { .. } => "planning".to_string(),
        Event::Summarising { by: SummariserKind::Model } => "waiting for the snapshot".to_string(),
        Event::Summarising { by: SummariserKind::Offline } => "writing the snapshot".to_string(),
        Event::Reviewed { .. } | Event::Summarised { .. } => "checking the snapshot".to_string(),
        Event::FellBack { .. } => "writing the snapshot without a model".to_string(),
        _ => return None,
    })
}

/// The result of a compaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CompactionCard {
    status: Status,
    before: TokenCount,
    after: TokenCount,
    reason: String,
    outputs: Option<usize>,
    names: Option<NameCount>,
    /// Lines of a model's summary that no message supports.
    unsupported: usize,
    /// True if so little was saved that the reason is worth telling.
    is_vain: bool,
    rules: Option<(usize, usize)>,
    ledger: Option<LedgerCounts>,
    requests: Option<RequestCounts>,
    /// The author of the snapshot.
    by: Option<String>,
    spend: Spend,
    took: Option<Duration>,
    /// The part of the request that is too large, and the remedy.
    too_large: Option<(String, String)>,
}

impl CompactionCard {
    /// The card of a compaction that the user requested.
    pub(crate) fn of(outcome: &PassOutcome) -> Self {
        let report = &outcome.result.report;
        let too_large = match &outcome.result.plan.rung {
            Rung::DoesNotFit(why) => {
                let part = format!("{} ({} tokens)", why.part.as_str(), grouped(why.size.0));
                Some((part, why.part.remedy().to_string()))
            }
            _ => None,
        };
        Self {
            reason: report.reason.clone(),
            by: outcome.account.model.clone().or_else(|| Some(report.summariser.to_string())),
            spend: outcome.account.spend,
            took: report.duration,
            too_large,
            ..Self::new(report.status, report.before, report.after).with_kept(report)
        }
    }

    /// The card of an automatic compaction; none if the event does not end one.
    pub(crate) fn of_event(event: &Event, running: &RunningCompaction) -> Option<Self> {
        let unchanged = |status| Self::new(status, running.before, running.before);
        Some(match event {
            Event::Masked { outputs, before, after, duration } => Self {
                outputs: Some(*outputs),
                took: Some(*duration),
                ..Self::new(Status::Masked, *before, *after)
            },
            Event::Applied { status, before, after, duration, spend, report, .. } => Self {
                took: Some(*duration),
                spend: *spend,
                ..Self::new(*status, *before, *after).with_kept(report)
            },
            Event::Refused { status, reason, duration, spend } => {
                Self { reason: reason.clone(), took: Some(*duration), spend: *spend, ..unchanged(*status) }
            }
            Event::Cancelled { duration, spend } => {
                Self { took: Some(*duration), spend: *spend, ..unchanged(Status::Cancelled) }
            }
            _ => return None,
        })
    }

    fn new(status: Status, before: TokenCount, after: TokenCount) -> Self {
        Self {
            status,
            before,
            after,
            reason: String::new(),
            outputs: None,
            names: None,
            unsupported: 0,
            is_vain: false,
            rules: None,
            ledger: None,
            requests: None,
            by: None,
            spend: Spend::default(),
            took: None,
            too_large: None,
        }
    }

    fn with_kept(self, report: &Report) -> Self {
        Self {
            names: report.names,
            unsupported: report.unsupported,
            is_vain: report.is_vain,
            reason: report.reason.clone(),
            rules: Some((report.rules_kept, report.rules)),
            ledger: Some(report.ledger),
            requests: Some(report.requests),
            ..self
        }
    }

    /// The result in words.
    fn headline(&self) -> (&'static str, Style, String) {
        let sizes = format!("{} → {} tokens", grouped(self.before.0), grouped(self.after.0));
        let saved = (self.before - self.after).share_of(self.before);
        match self.status {
            Status::Compressed => {
                ("◆ ", Style::MAGENTA, format!("Compacted {sizes} ({} less)", percent(saved)))
            }
            Status::Masked => {
                let outputs = self.outputs.map_or_else(
                    || "old tool output".to_string(),
                    |count| plural(count, "old output", "old outputs"),
                );
                ("◆ ", Style::MAGENTA, format!("Moved {outputs} to files: {sizes}"))
            }
            Status::ContentTruncated => {
                ("◆ ", Style::MAGENTA, format!("Shortened long tool output: {sizes}"))
            }
            Status::LastResort => {
                ("◆ ", Style::YELLOW, format!("Compacted as a last resort, to fit: {sizes}"))
            }
            Status::Noop => ("· ", Style::FAINT, "Nothing to compact".to_string()),
            Status::Cancelled => ("· ", Style::YELLOW, "Compaction stopped. Nothing has changed.".to_string()),
            Status::FailedInflated if self.before < SMALL_HISTORY => {
                ("! ", Style::YELLOW, "Not compacted: the conversation is too short to shrink".to_string())
            }
            Status::FailedInflated => (
                "! ",
                Style::YELLOW,
                "Not compacted: the snapshot was longer than what it replaces. Check the prompt or the model."
                    .to_string(),
            ),
            Status::FailedEmptySummary => {
                ("! ", Style::YELLOW, "Not compacted: the model wrote no usable summary".to_string())
            }
            Status::FailedTokenCount => {
                ("! ", Style::YELLOW, "Not compacted: the exact token count that the settings require failed".to_string())
            }
            Status::DoesNotFit => {
                ("✗ ", Style::RED, "The parts that must be kept are larger than the context window".to_string())
            }
        }
    }

    /// The next step, or the remedy.
    fn next(&self) -> Option<String> {
        Some(match self.status {
            Status::Compressed | Status::Masked | Status::ContentTruncated | Status::LastResort => {
                "/compress undo to revert · /context to see what is left".to_string()
            }
            Status::FailedInflated | Status::FailedEmptySummary | Status::FailedTokenCount => {
                "The conversation is unchanged. Longhaul retries when it has grown, without this model after another \
                 failure. Type /compress to retry now."
                    .to_string()
            }
            Status::DoesNotFit => match &self.too_large {
                Some((part, remedy)) => format!("Too large: {part}. {remedy}"),
                // The reason is explanation enough.
                None => return None,
            },
            Status::Noop | Status::Cancelled => return None,
        })
    }

    /// Renders the card.
    pub(crate) fn lines(&self, width: usize) -> Vec<StyledLine> {
        let (mark, style, text) = self.headline();
        let inner = width.saturating_sub(2);
        let indented = |line: StyledLine| line.prefixed("  ", Style::PLAIN);
        let mut lines: Vec<StyledLine> = paragraphs(&text, Style { bold: true, ..style }, inner)
            .into_iter()
            .enumerate()
            .map(|(number, line)| line.prefixed(if number == 0 { mark } else { "  " }, style))
            .collect();
        let facts = self.facts().join(" · ");
        lines.extend(paragraphs(&facts, Style::PLAIN, inner).into_iter().map(indented));
        if !self.reason.is_empty() && (self.is_vain || !self.status.is_change()) {
            lines.extend(paragraphs(&self.reason, Style::FAINT, inner).into_iter().map(indented));
        }
        if let Some(next) = self.next() {
            lines.extend(paragraphs(&next, Style::FAINT, inner).into_iter().map(indented));
        }
        lines
    }

    fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if self.status.is_change() {
            facts.extend(self.names.filter(|names| names.of > 0).map(|NameCount { kept, of }| {
                format!("{} of {} kept", grouped(kept), plural(of, "name", "names"))
            }));
            if self.unsupported > 0 {
                facts.push(format!("{} that no message supports", plural(self.unsupported, "line", "lines")));
            }
            if let Some((kept, of)) = self.rules.filter(|(_, of)| *of > 0) {
                facts.push(match kept == of {
                    true => format!("{} kept", plural(of, "rule", "rules")),
                    false => format!("{kept} of {} kept", plural(of, "rule", "rules")),
                });
            }
            if let Some(ledger) = self.ledger.filter(|ledger| ledger.files > 0) {
                facts.push(format!("{} in the ledger", plural(ledger.files, "file", "files")));
            }
            if let Some(requests) = self.requests.filter(|requests| requests.open > 0) {
                facts.push(format!("{} open", plural(requests.open, "request", "requests")));
            }
            facts.extend(
                self.by.as_ref().map(|by| format!("written by {by}").replace("by offline", "offline")),
            );
        }
        if self.spend.money > 0.0 {
            facts.push(money(self.spend.money));
        }
        if self.status != Status::Noop {
            facts.extend(self.took.map(duration));
        }
        facts
    }
}

/// The report of a compaction that found nothing to do.
#[cfg(test)]
pub(crate) fn report() -> Report {
    use longhaul_compaction::{Input, PreparedMessages, Tracker, compact_offline};
    let options = longhaul_compaction::PlanOptions::new(TokenCount(60_000));
    let (tracker, prepared) = (Tracker::default(), PreparedMessages::as_given(&[]));
    compact_offline(&Input::new(&tracker, &prepared, &options)).report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> RunningCompaction {
        RunningCompaction { since: Duration::ZERO, stage: String::new(), before: TokenCount(60_000) }
    }

    #[track_caller]
    fn check(event: &Event, expected: &[&str]) {
        let card = CompactionCard::of_event(event, &running()).expect("the end of one");
        let lines: Vec<String> = card.lines(100).iter().map(StyledLine::text).collect();
        assert_eq!(lines, expected);
        for width in [30, 40, 200] {
            assert!(card.lines(width).iter().all(|line| line.columns() <= width));
        }
    }

    fn applied(status: Status) -> Event {
        let (before, after) = (TokenCount(60_000), TokenCount(15_000));
        let spend = Spend { calls: 1, tokens: TokenCount(9), money: 0.02, ..Spend::default() };
        let names = Some(NameCount { kept: 83, of: 100 });
        let report = Box::new(Report { names, rules_kept: 2, rules: 2, ..report() });
        let duration = Duration::from_millis(1_500);
        Event::Applied { status, before, after, messages: 7, duration, spend, report }
    }

    fn refused(status: Status, reason: &str) -> Event {
        let reason = reason.to_string();
        Event::Refused { status, reason, duration: Duration::from_millis(20), spend: Spend::default() }
    }

    #[test]
    fn every_status_is_told_in_words() {
        check(
            &applied(Status::Compressed),
            &[
                "◆ Compacted 60,000 → 15,000 tokens (75 % less)",
                "  83 of 100 names kept · 2 rules kept · $0.0200 · 1.5 s",
                "  /compress undo to revert · /context to see what is left",
            ],
        );
        check(
            &applied(Status::LastResort),
            &[
                "◆ Compacted as a last resort, to fit: 60,000 → 15,000 tokens",
                "  83 of 100 names kept · 2 rules kept · $0.0200 · 1.5 s",
                "  /compress undo to revert · /context to see what is left",
            ],
        );
        let Event::Applied { report, .. } = applied(Status::Compressed) else { return };
        let reason = "Compacted on request: 60,000 → 57,000 tokens; saved only 5 %: one message (m4, output of Bash) takes 50,000 \
                      tokens and is kept whole";
        let report = Report { is_vain: true, unsupported: 2, reason: reason.into(), ..*report };
        let card = CompactionCard::new(Status::Compressed, TokenCount(60_000), TokenCount(57_000))
            .with_kept(&report);
        let text: Vec<String> = card.lines(200).iter().map(StyledLine::text).collect();
        assert!(text.concat().contains("saved only 5 %: one message (m4, output of Bash)"), "{text:?}");
        assert!(text.concat().contains("2 lines that no message supports"), "{text:?}");
        check(&refused(Status::Noop, "nothing to gain"), &["· Nothing to compact", "  nothing to gain"]);
        check(
            &Event::Cancelled { duration: Duration::from_secs(2), spend: Spend::default() },
            &["· Compaction stopped. Nothing has changed.", "  2.0 s"],
        );
        for status in [
            Status::FailedInflated,
            Status::FailedEmptySummary,
            Status::FailedTokenCount,
            Status::DoesNotFit,
            Status::Masked,
            Status::ContentTruncated,
        ] {
            let card = CompactionCard::of_event(&refused(status, "why"), &running());
            assert!(card.expect("the end of one").lines(60).len() >= 2, "{status}");
        }
    }

    #[test]
    fn a_small_conversation_is_told_from_trouble() {
        let small = RunningCompaction { before: TokenCount(49_999), ..running() };
        let large = RunningCompaction { before: TokenCount(50_000), ..running() };
        let event = refused(Status::FailedInflated, "why");
        let told = |running: &RunningCompaction| {
            let card = CompactionCard::of_event(&event, running);
            card.expect("the end of one").lines(300)[0].text()
        };
        assert!(told(&small).contains("too short to shrink"));
        assert!(told(&large).contains("Check the prompt or the model"));
    }
}
