//! Who writes a snapshot: the offline summariser, or a model.

mod answer;
mod by_model;
mod calls;
mod history;
mod offline;
mod prompts;

use std::pin::Pin;
use std::time::Duration;

use longhaul_compaction::{Composed, Plan, Planner, SummaryNotes};
use longhaul_conversation::{Consumption, ModelError, SpendMeter};

use crate::{Event, HostState, Spend, SpendCaps, Verify};

pub use by_model::ByModel;
pub use offline::Offline;

/// A future that may be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Writes the snapshot for a plan to compact.
pub trait Summariser: Send + Sync {
    /// What it works with.
    fn kind(&self) -> SummariserKind;

    /// The model it asks, if any.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Writes the snapshot. Dropping the future cancels it; nothing has happened then but what the meter of the task counted.
    fn summarise<'a>(&'a self, task: &'a Task<'a>) -> BoxFuture<'a, Result<Summary, Fault>>;

    /// What it costs to have consumed this.
    fn spend(&self, consumed: &Consumption) -> Spend {
        Spend::of(consumed, None)
    }
}

/// What a summariser works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SummariserKind {
    /// Nothing but what the tracker knows.
    Offline,
    /// A model, which may fail and costs something.
    Model,
}

/// What a summariser is to do.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Knows the conversation.
    pub planner: &'a Planner<'a>,
    /// A plan to compact.
    pub plan: &'a Plan,
    /// What the host knows.
    pub host: &'a HostState,
    /// How a summary is checked.
    pub verify: Verify,
    /// What may be spent.
    pub left: SpendCaps,
    /// Counts every request that is sent.
    pub meter: &'a SpendMeter,
    /// Tells how much time has passed since some moment.
    pub clock: &'a (dyn Fn() -> Duration + Send + Sync),
    /// Hears of what happens.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
}

/// A snapshot and how it came about.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The snapshot.
    pub composed: Composed,
    /// What became of a model's lines.
    pub notes: Option<SummaryNotes>,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The model could not be asked, or broke off.
    #[error("the model could not be asked for a summary: {0}")]
    Model(#[from] ModelError),
    /// The answer was cut off again and again.
    #[error("the model's summary was cut off at its limit")]
    CutOff,
    /// The model stopped for a reason of its own.
    #[error("the model stopped before its summary was complete: {0}")]
    Stopped(String),
    /// The answer says nothing.
    #[error("the model's summary is empty")]
    Empty,
    /// The answer says something, but nothing that could be kept.
    #[error("the model's answer holds no snapshot")]
    NoSnapshot,
    /// It was waited for long enough.
    #[error("the model did not write its summary within {} s", .0.as_secs())]
    TooSlow(Duration),
    /// The result would have been larger than before.
    #[error("the model's summary makes the request larger")]
    Inflated,
    /// The conversation is too long for the model, even in parts.
    #[error("the conversation is too long for the model to summarise")]
    TooLong,
    /// What may be spent would not be enough.
    #[error("a summary would cost more than is left to spend")]
    TooExpensive,
}

impl Fault {
    /// Whether it tells against the model, so that it should not be asked again and again.
    pub fn is_failure(&self) -> bool {
        *self != Self::TooExpensive
    }
}

impl SummariserKind {
    /// The stable word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Model => "model",
        }
    }
}
