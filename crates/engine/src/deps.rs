//! The dependencies of a compaction: summariser, files, counter, hook, events, clock.

use std::time::Duration;

use longhaul_compaction::Trigger;
use longhaul_conversation::{Message, ModelError, SpendMeter, TokenCount};

use crate::summarise::{BoxFuture, Summariser};
use crate::{Event, Files};

/// The dependencies of a compaction, which the application brings.
#[derive(Clone, Copy)]
pub struct CompactionDeps<'a> {
    /// Writes snapshots.
    pub summariser: &'a dyn Summariser,
    /// Saves texts that are left out.
    pub files: &'a dyn Files,
    /// Counts exactly, where a setting asks for it.
    pub counter: Option<&'a dyn Counter>,
    /// The hook before a compaction.
    pub pre_compress: Option<&'a dyn PreCompress>,
    /// Hears of what happens.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    /// Tells how much time has passed since some moment.
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

/// What is run before a compaction. It can neither prevent nor change it.
pub trait PreCompress: Send + Sync {
    /// Runs the hook to its end.
    fn run(&self, trigger: CompressTrigger) -> BoxFuture<'_, ()>;
}

/// Who wants a compaction, in the words of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressTrigger {
    /// The user.
    Manual,
    /// The size of the request.
    Auto,
}

impl CompressTrigger {
    /// The word that hooks match.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        }
    }
}

impl From<Trigger> for CompressTrigger {
    fn from(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Forced => Self::Manual,
            Trigger::Automatic => Self::Auto,
        }
    }
}
