//! Options of a request that is encoded to be sent.

use longhaul_conversation::TokenCount;

/// Options for encoding a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// True if the answer is to come in pieces. Gemini says this in the address instead.
    pub streams: bool,
    /// The most the answer may have; Anthropic, which wants a limit, is told the usual one without one.
    pub max_output: Option<TokenCount>,
    /// The server's name for that limit; only OpenAI's format has two.
    pub limit_name: LimitName,
    /// True if cache marks for Anthropic are added where the request has none of its own.
    pub marks_cache: bool,
}

/// The name of the output limit at an OpenAI-compatible server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitName {
    /// `max_tokens`: what nearly every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: what OpenAI's own newer models insist on.
    MaxCompletionTokens,
}
