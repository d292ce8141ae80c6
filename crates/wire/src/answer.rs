//! The state of a response while it arrives: its size, its progress and its faults.

use serde_json::Value;

use crate::sse::SseTooLong;

/// The size of an answer so far, by what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSize {
    /// Bytes of text.
    pub text: u64,
    /// Bytes of reasoning.
    pub thoughts: u64,
    /// Bytes of the arguments of all calls.
    pub arguments: u64,
    /// Bytes of media and of what only its vendor understands.
    pub media: u64,
    /// Calls of tools.
    pub calls: u64,
}

impl AnswerSize {
    /// All bytes together.
    pub fn bytes(&self) -> u64 {
        let parts = [self.text, self.thoughts, self.arguments, self.media];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more.
    More,
    /// The sender said that this was all.
    Done,
}

/// A fault that ends the reading of a response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StreamFault {
    /// The provider sent an error in place of the rest.
    #[error("the provider returned an error")]
    Error(Value),
    /// Something arrived that is no JSON.
    #[error("invalid JSON in the stream: {0}")]
    Garbled(String),
    /// One event is larger than allowed.
    #[error(transparent)]
    TooLong(#[from] SseTooLong),
    /// The bytes ended before the answer did.
    #[error("the stream ended mid-response")]
    CutOff,
}
