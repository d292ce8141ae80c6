//! What happens during a turn, told as it happens, and how a turn ends.

use longhaul_conversation::{FinishReason, ModelError, TokenCount, Usage};

/// One thing that happens during a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A piece of the answer.
    TextDelta(String),
    /// A piece of the model's reasoning.
    ThoughtDelta(String),
    /// The conversation is being shortened.
    Compaction(longhaul_engine::Event),
    /// The request would not fit, and nothing more could be done about it.
    Overflow(Overflow),
    /// What the model was asked did not fit after all; it is asked once more with less.
    AskedAgain,
    /// What a call consumed.
    Usage(Usage),
    /// Something that the user should know.
    Warning(String),
    /// The turn is over.
    Ended(TurnEnd),
}

/// How a turn ended. The session can go on after each of these.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The model answered.
    Finished(FinishReason),
    /// The request would not fit. What the user typed is in the session; nothing was sent.
    Overflow(Overflow),
    /// The model could not be asked, or broke off. What had arrived is in the session.
    Failed(ModelError),
    /// Somebody stopped it. What had arrived is in the session.
    Cancelled,
}

/// A request that would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// What the new message takes.
    pub request: TokenCount,
    /// What is left for it beside everything else.
    pub remaining: TokenCount,
    /// What a request may take in all: the model's window without what is kept for the answer.
    pub window: TokenCount,
}
