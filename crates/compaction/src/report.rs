//! What a compaction did, as a plain value that every front end shows in its own way.

use std::time::Duration;

use longhaul_conversation::TokenCount;
use longhaul_directives::AskState;
use serde::Serialize;

use crate::Status;
use crate::tracker::Tracker;

/// What was done to a conversation, what it cost and what survived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// Why, in words.
    pub reason: String,
    /// The rung of the ladder that was planned.
    pub rung: &'static str,
    /// Who wrote the snapshot.
    pub summariser: &'static str,
    /// What the model can take.
    pub window: TokenCount,
    /// The threshold, unless it is off.
    pub threshold: Option<TokenCount>,
    /// What the request took before.
    pub before: TokenCount,
    /// What it takes now, by the same yardstick.
    pub after: TokenCount,
    /// What the snapshot and its acknowledgement take.
    pub added: TokenCount,
    /// What the snapshot could have taken.
    pub snapshot_budget: TokenCount,
    /// How many messages there were.
    pub messages_before: usize,
    /// How many there are.
    pub messages_after: usize,
    /// How many standing instructions the conversation says.
    pub pins_kept: usize,
    /// How many hold.
    pub pins: usize,
    /// Whether the standing instructions alone take more than the snapshot's budget.
    pub pins_exceed_budget: bool,
    /// The asks by what became of them.
    pub asks: AskCounts,
    /// How much the record of work knows.
    pub ledger: LedgerCounts,
    /// The share of what later work may need that is still there, where something was compacted.
    pub coverage: Option<f64>,
    /// How many texts were moved to files.
    pub files_saved: usize,
    /// How many faults were repaired.
    pub repairs: usize,
    /// How long it took; set by whoever has a clock.
    pub duration: Option<Duration>,
}

/// The asks by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AskCounts {
    /// To be done.
    pub open: usize,
    /// Done.
    pub done: usize,
    /// Given up for something else.
    pub replaced: usize,
}

/// How much the record of work knows.
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

impl Report {
    /// The share of the request that is gone.
    pub fn gained(&self) -> f64 {
        (self.before - self.after).share_of(self.before)
    }
}

impl AskCounts {
    /// Counts what a tracker knows.
    pub fn of(tracker: &Tracker) -> Self {
        let mut counts = Self::default();
        for ask in tracker.asks().all() {
            match ask.state {
                AskState::Open { .. } => counts.open += 1,
                AskState::Done(_) => counts.done += 1,
                AskState::Replaced { .. } => counts.replaced += 1,
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
