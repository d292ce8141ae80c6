//! What a model is to Longhaul: requests in, a stream of events out.

use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;

use crate::{Part, Request, Usage};

/// The events of one answer, as they arrive. Dropping the stream cancels the call.
pub type ModelStream<'a> = Pin<Box<dyn Stream<Item = Result<ResponseEvent, ModelError>> + Send + 'a>>;

/// Something that answers requests: a provider over the network, or a script in tests.
pub trait Model: Send + Sync {
    /// Starts one call. Dropping the stream cancels it.
    fn stream(&self, request: Request) -> ModelStream<'_>;
}

/// One thing that happens while a model answers.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseEvent {
    /// A piece of the answer's text.
    TextDelta(String),
    /// A piece of the reasoning.
    ThoughtDelta(String),
    /// A part is complete: a call, a signed thought, media or something opaque.
    Part(Part),
    /// The provider told what the call consumed; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    Finished(FinishReason),
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// It said all it wanted to.
    Stop,
    /// It wants tools to run.
    ToolCalls,
    /// It ran into its output limit: the answer is cut off.
    Length,
    /// The provider withheld the answer.
    Filtered,
    /// Another reason, in the provider's word.
    Other(String),
}

/// Why a call failed, divided by what the caller can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Try again, not before the time the provider gives.
    #[error("the model is busy")]
    Busy {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// Shorten the request.
    #[error("the request does not fit in the context window")]
    TooLong,
    /// Give a key, or another one.
    #[error("{provider} did not accept the key")]
    Unauthorised {
        /// Who refused.
        provider: String,
    },
    /// Name another model.
    #[error("there is no model {model:?}")]
    UnknownModel {
        /// The name that was asked for.
        model: String,
    },
    /// Mend the request: sending it again would fail again.
    #[error("the provider refused the request: {reason}")]
    Refused {
        /// What the provider said.
        reason: String,
    },
    /// Check the network.
    #[error("could not reach {host}: {reason}")]
    Unreachable {
        /// The host that was called.
        host: String,
        /// What went wrong.
        reason: String,
    },
    /// The answer broke off; it may be asked for again.
    #[error("the answer broke off: {reason}")]
    Interrupted {
        /// What went wrong.
        reason: String,
    },
}
