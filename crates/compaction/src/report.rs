//! Report of a compaction, as a plain value that every front end shows in its own way.

use std::time::Duration;

use longhaul_conversation::TokenCount;
use longhaul_directives::RequestState;
use longhaul_extract::NameCount;
use serde::Serialize;

use crate::Status;
use crate::tracker::Tracker;

/// Report of a compaction: what was done, what it cost and what survived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Status in one word.
    pub status: Status,
    /// Reason in words.
    pub reason: String,
    /// The rung of the ladder that was planned.
    pub rung: &'static str,
    /// Summariser that wrote the snapshot.
    pub summariser: &'static str,
    /// The model's window.
    pub window: TokenCount,
    /// The threshold, unless it is off.
    pub threshold: Option<TokenCount>,
    /// Size of the request before.
    pub before: TokenCount,
    /// Size of the request now, by the same yardstick.
    pub after: TokenCount,
    /// Size of the snapshot and its acknowledgement.
    pub added: TokenCount,
    /// Budget of the snapshot.
    pub snapshot_budget: TokenCount,
    /// Number of messages before.
    pub messages_before: usize,
    /// Number of messages now.
    pub messages_after: usize,
    /// Number of standing instructions that the conversation says.
    pub rules_kept: usize,
    /// Number of standing instructions in force.
    pub rules: usize,
    /// True if the standing instructions alone take more than the snapshot's budget.
    pub rules_exceed_budget: bool,
    /// The requests by what became of them.
    pub requests: RequestCounts,
    /// Counts of the record of work.
    pub ledger: LedgerCounts,
    /// The names that mattered and are still there, where something was compacted.
    pub names: Option<NameCount>,
    /// Number of lines of a model's summary that no message supports.
    pub unsupported: usize,
    /// True if less was gained than makes a pass worth it; the reason then says why.
    pub is_vain: bool,
    /// Number of texts that were moved to files.
    pub files_saved: usize,
    /// Number of faults that were repaired.
    pub repairs: usize,
    /// Duration; set by a host that has a clock.
    pub duration: Option<Duration>,
}

/// The requests by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// To be done.
    pub open: usize,
    /// Done.
    pub done: usize,
    /// Given up for something else.
    pub replaced: usize,
}

/// Counts of the record of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LedgerCounts {
    /// Files that were touched.
    pub files: usize,
    /// Files that were changed.
    pub changed: usize,
    /// Commands that were run.
    pub commands: usize,
    /// Runs of tests, builds and checkers.
    pub tests: usize,
    /// Errors that were met.
    pub errors: usize,
    /// Background commands and sub-agents.
    pub jobs: usize,
}

impl RequestCounts {
    /// Counts what a tracker knows.
    pub fn of(tracker: &Tracker) -> Self {
        let mut counts = Self::default();
        for request in tracker.requests().all() {
            match request.state {
                RequestState::Open { .. } => counts.open += 1,
                RequestState::Done(_) => counts.done += 1,
                RequestState::Replaced { .. } => counts.replaced += 1,
            }
        }
        counts
    }
}

impl LedgerCounts {
    /// Counts what a tracker knows.
    pub fn of(tracker: &Tracker) -> Self {
        let summary = tracker.ledger().summary();
        Self {
            files: summary.files.len(),
            changed: tracker.ledger().files().filter(|(_, file)| file.state.is_change()).count(),
            commands: summary.commands.len(),
            tests: summary.tests.len(),
            errors: summary.errors.len(),
            jobs: summary.jobs.len(),
        }
    }
}
