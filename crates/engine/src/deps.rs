//! Dependencies of a compaction that a host brings: summariser, files, counter, hook, events and clock.

use std::time::Duration;

use longhaul_conversation::{Message, ModelError, SpendMeter, TokenCount, Trigger};

use crate::summarise::{BoxFuture, Summariser};
use crate::{Event, Files};

/// Dependencies of a compaction.
#[derive(Clone, Copy)]
pub struct CompactionDeps<'a> {
    /// The writer of drafts.
    pub summariser: &'a dyn Summariser,
    /// The place for texts that are left out.
    pub files: &'a dyn Files,
    /// The exact counter, where a setting asks for one.
    pub counter: Option<&'a dyn Counter>,
    /// The hook before a compaction.
    pub pre_compress: Option<&'a dyn PreCompress>,
    /// The receiver of events.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    /// The time since some moment.
    pub clock: &'a (dyn Fn() -> Duration + Send + Sync),
}

/// Counts the tokens of a request as its provider does.
pub trait Counter: Send + Sync {
    /// Counts a request with these messages, system instruction and tools included. `meter` counts what is sent for that.
    fn count<'a>(
        &'a self,
        messages: &'a [Message],
        meter: &'a SpendMeter,
    ) -> BoxFuture<'a, Result<TokenCount, ModelError>>;
}

/// The hook before a compaction. It can neither prevent nor change it.
pub trait PreCompress: Send + Sync {
    /// Runs the hook to its end.
    fn run(&self, trigger: Trigger) -> BoxFuture<'_, ()>;
}
