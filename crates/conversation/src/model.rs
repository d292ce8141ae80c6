//! The model interface: a request in, a stream of events out.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;

use crate::{Part, Request, Usage, grouped};

/// The events of one response. Dropping the stream cancels the call.
pub type ModelStream<'a> = Pin<Box<dyn Stream<Item = Result<ResponseEvent, ModelError>> + Send + 'a>>;

/// A model that answers requests: a provider over the network, or a script in tests.
pub trait Model: Send + Sync {
    /// Starts one call. Dropping the stream cancels it. The meter of `request` counts every request sent.
    fn stream(&self, request: Request) -> ModelStream<'_>;
}

/// An event of a model's response.
///
/// All text and reasoning arrives as deltas. If a piece of it carries vendor data, such as a signature, a
/// [`ResponseEvent::Part`] with the whole piece follows its deltas and replaces them: a display needs only the deltas,
/// a recorder folds all events into a [`crate::ResponseBuilder`].
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseEvent {
    /// A piece of text.
    TextDelta(String),
    /// A piece of reasoning.
    ThoughtDelta(String),
    /// A complete part: a call, media, something opaque, or a text or thought that replaces its deltas.
    Part(Part),
    /// The provider's figures; a later one replaces an earlier one.
    Usage(Usage),
    /// The end of the response.
    Finished(FinishReason),
}

/// The reason why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The response is complete.
    Stop,
    /// The model wants tools to run.
    ToolCalls,
    /// The output limit was reached: the response is cut off.
    Length,
    /// The provider withheld the response.
    Filtered,
    /// Another reason, in the provider's words.
    Other(String),
}

/// The failure of a call, by what the caller can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Try again, not before the time that the provider gives.
    #[error("the model is busy: {reason}")]
    Busy {
        /// The provider's message.
        reason: String,
        /// The time to wait, if the provider gave one.
        retry_after: Option<Duration>,
    },
    /// Pay, wait for another day, or use another model: retrying soon is useless.
    #[error("{provider} quota exceeded: {reason}")]
    Exhausted {
        /// The provider.
        provider: String,
        /// The provider's message.
        reason: String,
    },
    /// Shorten the request.
    #[error("the request does not fit in the context window")]
    TooLong,
    /// Provide a key.
    #[error("no API key for {provider}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The places searched for a key, such as names of environment variables.
        looked_at: Vec<String>,
    },
    /// Provide another key.
    #[error("{provider} rejected the API key{}", behind_colon(.reason))]
    Unauthorised {
        /// The provider.
        provider: String,
        /// The provider's message, if it helps.
        reason: Option<String>,
    },
    /// Use another model.
    #[error("unknown model {model:?}")]
    UnknownModel {
        /// The requested name.
        model: String,
        /// Similar known names, the most similar first.
        nearest: Vec<String>,
    },
    /// Fix the request: sending it again would fail again.
    #[error("the provider rejected the request: {reason}")]
    Refused {
        /// The provider's message.
        reason: String,
    },
    /// Check the network.
    #[error("could not reach {host}: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// The cause.
        reason: String,
    },
    /// Check the endpoint: something answered, but not a model.
    #[error("{host} {reason}")]
    NotAModel {
        /// The host.
        host: String,
        /// The response received instead, as a predicate: `returned 404: …`.
        reason: String,
    },
    /// Allow longer answers, or ask for a shorter one: the answer exceeded a limit.
    #[error("the response was cut off: {limit}")]
    OverLimit {
        /// The limit.
        limit: AnswerLimit,
    },
    /// The answer broke off; the request may be repeated.
    #[error("the response was interrupted: {reason}")]
    Interrupted {
        /// The cause.
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
    /// Bytes of media and opaque parts.
    Media(u64),
    /// Tool calls.
    Calls(u64),
    /// Bytes received in total, including keep-alives.
    Stream(u64),
    /// Time since the first request.
    Time(Duration),
}

impl AnswerLimit {
    /// The key in settings.json.
    pub(crate) fn setting(&self) -> &'static str {
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
            Self::Text(bytes) => write!(f, "more than {} bytes of text", grouped(*bytes)),
            Self::Thoughts(bytes) => write!(f, "more than {} bytes of thoughts", grouped(*bytes)),
            Self::Arguments(bytes) => {
                write!(f, "more than {} bytes of tool arguments", grouped(*bytes))
            }
            Self::Media(bytes) => write!(f, "more than {} bytes of media", grouped(*bytes)),
            Self::Calls(calls) => write!(f, "more than {} tool calls", grouped(*calls)),
            Self::Stream(bytes) => write!(f, "more than {} bytes streamed", grouped(*bytes)),
            Self::Time(time) => write!(f, "it took longer than {} s", grouped(time.as_secs())),
        }
    }
}

fn behind_colon(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(": {text}")).unwrap_or_default()
}

impl ModelError {
    /// The remedy, for people.
    pub fn hint(&self) -> String {
        match self {
            Self::Busy { retry_after: Some(wait), .. } => {
                format!("try again in {} s, or use another model", wait.as_secs().max(1))
            }
            Self::Busy { .. } => "try again later, or use another model".into(),
            Self::Exhausted { .. } => "check your plan and its limits, or use another model".into(),
            Self::TooLong => "compact the conversation, or use a model with a larger window".into(),
            Self::NoKey { looked_at, .. } if looked_at.is_empty() => "set an API key in settings.json".into(),
            Self::NoKey { looked_at, .. } => format!("set {}", looked_at.join(" or ")),
            Self::Unauthorised { .. } => {
                "check that the key is complete, valid and meant for this endpoint".into()
            }
            Self::UnknownModel { nearest, .. } if nearest.is_empty() => "check the model name".into(),
            Self::UnknownModel { nearest, .. } => format!("did you mean {}?", nearest.join(" or ")),
            Self::Refused { .. } => "change the request: retrying would fail again".into(),
            Self::Unreachable { reason, .. } if reason.contains("unknown authority") => {
                "if the endpoint or a proxy uses its own certificate, pass it with --ca-file".into()
            }
            Self::Unreachable { reason, .. } if reason.contains("its certificate") => {
                "check the endpoint address and this machine's clock".into()
            }
            Self::Unreachable { .. } => "check your network, the endpoint address and any proxy".into(),
            Self::NotAModel { .. } => "check the endpoint address, the model name and any proxy".into(),
            Self::OverLimit { limit } => {
                format!("raise \"{}\" in settings.json, or ask for less", limit.setting())
            }
            Self::Interrupted { .. } => "try again, or use another model".into(),
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
        check_hint(&no_key(Vec::new()), "set an API key in settings.json");
        let unknown = |nearest| ModelError::UnknownModel { model: "gpt5".into(), nearest };
        check_hint(&unknown(names(&["gpt-5"])), "did you mean gpt-5?");
        check_hint(&unknown(Vec::new()), "check the model name");
        let limit = AnswerLimit::Text(4_000_000);
        let over = ModelError::OverLimit { limit };
        assert_eq!(over.to_string(), "the response was cut off: more than 4,000,000 bytes of text");
        check_hint(&over, "raise \"longhaul.answers.textBytes\" in settings.json, or ask for less");
    }
}
