//! The summary for the next compaction that a model is writing, and what it has cost so far.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use longhaul_conversation::SpendMeter;
use longhaul_engine::{PreparedDraft, Spend, Summariser, SummaryError};
use tokio::task::JoinSet;

/// The draft of the next compaction: at most one is written at a time. Dropping this ends the request to the model.
#[derive(Debug, Default)]
pub(crate) struct DraftAhead {
    pub(super) running: Option<Box<RunningDraft>>,
    /// The state of the conversation in which a draft failed: it is not tried again before that changes.
    pub(super) failed_at: Option<u64>,
}

/// A draft that a model is writing.
pub(super) struct RunningDraft {
    pub(super) task: JoinSet<Result<PreparedDraft, SummaryError>>,
    pub(super) summariser: Arc<dyn Summariser>,
    pub(super) meter: SpendMeter,
    /// The changes that the conversation had seen.
    pub(super) generation: u64,
    pub(super) messages: usize,
    pub(super) since: Instant,
}

impl fmt::Debug for RunningDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningDraft").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl RunningDraft {
    /// The spend so far.
    pub(super) fn spend(&self) -> Spend {
        self.summariser.spend(&self.meter.total())
    }
}
