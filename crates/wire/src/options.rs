//! Options of a request that is encoded to be sent.

use longhaul_conversation::TokenCount;

/// What a request is encoded with besides its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Whether the answer is to come in pieces. Gemini says this in the address instead.
    pub streams: bool,
    /// The most the answer may have; Anthropic, which wants a limit, is told the usual one without one.
    pub max_output: Option<TokenCount>,
    /// What the server calls that limit; only OpenAI's format has two names.
    pub limit_name: LimitName,
    /// Whether to mark what Anthropic is to cache, where the request has no marks of its own.
    pub marks_cache: bool,
}

/// What an OpenAI-compatible server calls the limit of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitName {
    /// `max_tokens`: what nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: what OpenAI's own newer models insist on.
    MaxCompletionTokens,
}
