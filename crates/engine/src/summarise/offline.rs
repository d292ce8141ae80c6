//! The summariser that needs no model: deterministic, free, and never at a loss.

use longhaul_compaction::{Draft, summarise};

use super::{BoxFuture, Summariser, SummariserKind, SummaryError, SummaryTask};

/// Writes drafts from what the tracker knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Summariser for Offline {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Offline
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        Box::pin(async move { Ok(summarise(task.input, task.plan)) })
    }
}
