//! What a model is to Longhaul: requests in, a stream of events out.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;

use crate::{Part, Request, Usage, grouped};

/// The events of one answer, as they arrive. Dropping the stream cancels the call.
pub type ModelStream<'a> = Pin<Box<dyn Stream<Item = Result<ResponseEvent, ModelError>> + Send + 'a>>;

/// Something that answers requests: a provider over the network, or a script in tests.
pub trait Model: Send + Sync {
    /// Starts one call. Dropping the stream cancels it. Every request that is sent is counted by the meter of `request`.
    fn stream(&self, request: Request) -> ModelStream<'_>;
}

/// One thing that happens while a model answers.
///
/// All text and reasoning arrives as deltas. Where a piece of it carries something of its vendor's, such as a
/// signature, a [`ResponseEvent::Part`] with the whole piece follows its deltas and stands for them: who shows an
/// answer needs only the deltas, who keeps it folds all events into an [`crate::Answer`].
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseEvent {
    /// A piece of the answer's text.
    TextDelta(String),
    /// A piece of the reasoning.
    ThoughtDelta(String),
    /// A part is complete: a call, media, something opaque, or a text or thought in place of its deltas.
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
    #[error("the model is busy: {reason}")]
    Busy {
        /// What the provider said.
        reason: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// Pay, wait for another day, or use another model: trying again soon is of no use.
    #[error("{provider} allows no further requests: {reason}")]
    Exhausted {
        /// Who refused.
        provider: String,
        /// What the provider said.
        reason: String,
    },
    /// Shorten the request.
    #[error("the request does not fit in the context window")]
    TooLong,
    /// Give a key.
    #[error("there is no key for {provider}")]
    NoKey {
        /// Who wants a key.
        provider: String,
        /// Where one was looked for, such as the names of environment variables.
        looked_at: Vec<String>,
    },
    /// Give another key.
    #[error("{provider} did not accept the key{}", behind_colon(.reason))]
    Unauthorised {
        /// Who refused.
        provider: String,
        /// What the provider said, where that helps.
        reason: Option<String>,
    },
    /// Name another model.
    #[error("there is no model {model:?}")]
    UnknownModel {
        /// The name that was asked for.
        model: String,
        /// Known names that are like it, the most alike first.
        nearest: Vec<String>,
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
    /// Check the endpoint: something answered, but not as a model does.
    #[error("what answered at {host} is not a model: {reason}")]
    NotAModel {
        /// The host that was called.
        host: String,
        /// What came instead of an answer.
        reason: String,
    },
    /// Allow longer answers, or ask for a shorter one: what had arrived was more than one answer may have.
    #[error("the answer was cut off: {limit}")]
    OverLimit {
        /// The limit that it ran into.
        limit: AnswerLimit,
    },
    /// The answer broke off; it may be asked for again.
    #[error("the answer broke off: {reason}")]
    Interrupted {
        /// What went wrong.
        reason: String,
    },
}

/// A limit of one answer, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerLimit {
    /// Bytes of text.
    Text(u64),
    /// Bytes of reasoning.
    Thoughts(u64),
    /// Bytes of the arguments of all calls.
    Arguments(u64),
    /// Bytes of media and of what only its vendor understands.
    Media(u64),
    /// Calls of tools.
    Calls(u64),
    /// Bytes that were sent for it, keep-alives and all.
    Stream(u64),
    /// Time from the first request on.
    Time(Duration),
}

impl AnswerLimit {
    /// The key in settings.json that sets it.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::Text(_) => "longhaul.answers.textBytes",
            Self::Thoughts(_) => "longhaul.answers.thoughtBytes",
            Self::Arguments(_) => "longhaul.answers.argumentBytes",
            Self::Media(_) => "longhaul.answers.mediaBytes",
            Self::Calls(_) => "longhaul.answers.calls",
            Self::Stream(_) => "longhaul.answers.streamBytes",
            Self::Time(_) => "longhaul.answers.seconds",
        }
    }
}

impl fmt::Display for AnswerLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(bytes) => write!(f, "it has more than {} bytes of text", grouped(*bytes)),
            Self::Thoughts(bytes) => write!(f, "it has more than {} bytes of thoughts", grouped(*bytes)),
            Self::Arguments(bytes) => {
                write!(f, "it has more than {} bytes of tool arguments", grouped(*bytes))
            }
            Self::Media(bytes) => write!(f, "it has more than {} bytes of media", grouped(*bytes)),
            Self::Calls(calls) => write!(f, "it has more than {} tool calls", grouped(*calls)),
            Self::Stream(bytes) => write!(f, "its stream has more than {} bytes", grouped(*bytes)),
            Self::Time(time) => write!(f, "it took longer than {} s", grouped(time.as_secs())),
        }
    }
}

fn behind_colon(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(": {text}")).unwrap_or_default()
}

impl ModelError {
    /// What a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Busy { retry_after: Some(wait), .. } => {
                format!("try again in {} s, or use another model", wait.as_secs().max(1))
            }
            Self::Busy { .. } => "try again in a little while, or use another model".into(),
            Self::Exhausted { .. } => "look at the plan and its limits, or use another model".into(),
            Self::TooLong => "compact the conversation, or use a model with a larger window".into(),
            Self::NoKey { looked_at, .. } if looked_at.is_empty() => "set a key in settings.json".into(),
            Self::NoKey { looked_at, .. } => format!("set {}", looked_at.join(" or ")),
            Self::Unauthorised { .. } => {
                "check that the key is whole, still valid and meant for this endpoint".into()
            }
            Self::UnknownModel { nearest, .. } if nearest.is_empty() => "check the model's name".into(),
            Self::UnknownModel { nearest, .. } => format!("did you mean {}?", nearest.join(" or ")),
            Self::Refused { .. } => "change the request: the same one would be refused again".into(),
            Self::Unreachable { reason, .. } if reason.contains("vouches for its certificate") => {
                "if that is its own certificate, or a proxy's, name a file with it by --ca-file".into()
            }
            Self::Unreachable { reason, .. } if reason.contains("its certificate") => {
                "check the endpoint's address, and the date of this machine".into()
            }
            Self::Unreachable { .. } => "check the network, the endpoint's address and any proxy".into(),
            Self::NotAModel { .. } => "check the endpoint's address and any proxy in between".into(),
            Self::OverLimit { limit } => {
                format!("raise \"{}\" in settings.json, or ask for less", limit.setting())
            }
            Self::Interrupted { .. } => "ask again, or another model".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_hint(error: &ModelError, expected: &str) {
        assert_eq!(error.hint(), expected, "{error}");
    }

    #[test]
    fn hints_name_what_the_error_knows() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let busy = |seconds| ModelError::Busy {
            reason: "overloaded".into(),
            retry_after: Some(Duration::from_millis(seconds)),
        };
        check_hint(&busy(7_000), "try again in 7 s, or use another model");
        check_hint(&busy(200), "try again in 1 s, or use another model");
        let no_key = |looked_at| ModelError::NoKey { provider: "Gemini".into(), looked_at };
        check_hint(
            &no_key(names(&["GEMINI_API_KEY", "GOOGLE_API_KEY"])),
            "set GEMINI_API_KEY or GOOGLE_API_KEY",
        );
        check_hint(&no_key(Vec::new()), "set a key in settings.json");
        let unknown = |nearest| ModelError::UnknownModel { model: "gpt5".into(), nearest };
        check_hint(&unknown(names(&["gpt-5"])), "did you mean gpt-5?");
        check_hint(&unknown(Vec::new()), "check the model's name");
        let limit = AnswerLimit::Text(4_000_000);
        let over = ModelError::OverLimit { limit };
        assert_eq!(over.to_string(), "the answer was cut off: it has more than 4,000,000 bytes of text");
        check_hint(&over, "raise \"longhaul.answers.textBytes\" in settings.json, or ask for less");
    }
}
