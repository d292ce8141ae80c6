//! Summarisers: the writers of drafts, offline or by a model.

mod answer;
mod by_model;
mod calls;
mod history;
mod offline;
mod prompts;
mod refusal;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use longhaul_compaction::{Draft, Input, Plan};
use longhaul_conversation::{Consumption, ModelError, SpendMeter};

use crate::{Event, Spend, SpendCaps, Verify};

pub use by_model::ByModel;
pub use offline::Offline;

/// A future that may be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Writes the draft for a plan to compact.
pub trait Summariser: Send + Sync {
    /// The kind of summariser.
    fn kind(&self) -> SummariserKind;

    /// The model it asks, if any.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Writes the draft. Dropping the future cancels it; nothing has happened then but what the meter of the task counted.
    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>>;

    /// The same summariser as a value of its own, which can work beside a turn; none where it cannot.
    fn detached(&self) -> Option<Arc<dyn Summariser>> {
        None
    }

    /// The cost of having consumed this.
    fn spend(&self, consumed: &Consumption) -> Spend {
        Spend::of(consumed, None)
    }
}

/// The kind of a summariser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SummariserKind {
    /// Works from the tracker alone.
    Offline,
    /// A model, which may fail and costs something.
    Model,
}

/// The task of a summariser.
#[derive(Clone, Copy)]
pub struct SummaryTask<'a> {
    /// The conversation.
    pub input: &'a Input<'a>,
    /// A plan to compact.
    pub plan: &'a Plan,
    /// The verification of a model's summary.
    pub verify: Verify,
    /// The limit of what may be spent.
    pub left: SpendCaps,
    /// The meter of every request that is sent.
    pub meter: &'a SpendMeter,
    /// The time since some moment.
    pub clock: &'a (dyn Fn() -> Duration + Send + Sync),
    /// The receiver of events.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
}

/// The reason why there is no draft.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// The model could not be asked, or broke off.
    #[error("could not get a summary from the model: {0}")]
    Model(#[from] ModelError),
    /// The answer was cut off again and again.
    #[error("the model's summary hit the output limit")]
    CutOff,
    /// The model stopped for a reason of its own.
    #[error("the model stopped before finishing its summary: {0}")]
    Stopped(String),
    /// The answer says nothing.
    #[error("the model's summary is empty")]
    Empty,
    /// The model would not, or could not, write one.
    #[error("the model refused to write a summary: {0}")]
    Refused(String),
    /// It was waited for long enough.
    #[error("the model took longer than {} s to write its summary", .0.as_secs())]
    TooSlow(Duration),
    /// The conversation is too long for the model, even in parts.
    #[error("the conversation is too long for the model to summarise")]
    TooLong,
    /// The caps would not allow it.
    #[error("a summary would exceed the remaining budget")]
    TooExpensive,
}

impl SummaryError {
    /// True if it tells against the model, so that it should not be asked again and again.
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
