//! The summariser that needs no model: deterministic, free, and never at a loss.

use super::{BoxFuture, Fault, Summariser, SummariserKind, Summary, Task};

/// Writes snapshots from what the tracker knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Offline {
    /// Writes the snapshot at once; nothing for a plan that needs none.
    pub(crate) fn write(task: &Task<'_>) -> Option<Summary> {
        let budget = task.plan.compaction()?.snapshot_budget;
        let host = task.host.snapshot(budget, &task.planner.options().estimator);
        let composed = task.planner.summarise(task.plan, &host)?;
        Some(Summary { composed, notes: None })
    }
}

impl Summariser for Offline {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Offline
    }

    fn summarise<'a>(&'a self, task: &'a Task<'a>) -> BoxFuture<'a, Result<Summary, Fault>> {
        Box::pin(async move { Self::write(task).ok_or(Fault::Empty) })
    }
}
