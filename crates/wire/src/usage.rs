//! The token figures that vendors report, in answers and in files. Hidden reasoning is counted apart from the answer, and
//! cached tokens are part of the input, as everywhere in Longhaul.

use longhaul_conversation::{TokenCount, Usage};
use serde_json::Value;

use crate::json::Json;

/// A JSON value, borrowed or owned, that figures are read from.
pub trait Figures {
    /// The value under `key`.
    fn field(&self, key: &str) -> Option<&Self>;

    /// The number that this is.
    fn number(&self) -> Option<u64>;
}

impl Figures for Value {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn number(&self) -> Option<u64> {
        self.as_u64()
    }
}

impl Figures for Json<'_> {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn number(&self) -> Option<u64> {
        self.as_u64()
    }
}

fn tokens(figures: &impl Figures, key: &str) -> Option<TokenCount> {
    figures.field(key)?.number().map(TokenCount)
}

fn stated(usage: Usage) -> Option<Usage> {
    (!usage.is_empty()).then_some(usage)
}

/// Usage as Gemini reports it.
pub fn gemini_usage(usage: &impl Figures) -> Option<Usage> {
    stated(Usage {
        input: tokens(usage, "promptTokenCount"),
        output: tokens(usage, "candidatesTokenCount"),
        cached: tokens(usage, "cachedContentTokenCount"),
        thoughts: tokens(usage, "thoughtsTokenCount"),
        tool: tokens(usage, "toolUsePromptTokenCount"),
        total: tokens(usage, "totalTokenCount"),
        ..Usage::default()
    })
}

/// Usage as chat completions report it.
pub fn chat_usage(usage: &impl Figures) -> Option<Usage> {
    let detail = |of: &str, key: &str| usage.field(of).and_then(|details| tokens(details, key));
    let figures = Usage {
        input: tokens(usage, "prompt_tokens"),
        output: tokens(usage, "completion_tokens"),
        cached: detail("prompt_tokens_details", "cached_tokens")
            .or_else(|| tokens(usage, "prompt_cache_hit_tokens")),
        thoughts: detail("completion_tokens_details", "reasoning_tokens"),
        total: tokens(usage, "total_tokens"),
        ..Usage::default()
    };
    stated(figures.with_thoughts_apart())
}

/// Usage as OpenAI Responses reports it.
pub fn responses_usage(usage: &impl Figures) -> Option<Usage> {
    let detail = |of: &str, key: &str| usage.field(of).and_then(|details| tokens(details, key));
    let figures = Usage {
        input: tokens(usage, "input_tokens"),
        output: tokens(usage, "output_tokens"),
        cached: detail("input_tokens_details", "cached_tokens"),
        thoughts: detail("output_tokens_details", "reasoning_tokens"),
        total: tokens(usage, "total_tokens"),
        ..Usage::default()
    };
    stated(figures.with_thoughts_apart())
}

/// Usage as Anthropic reports it, which counts cached tokens beside the input.
pub fn anthropic_usage(usage: &impl Figures) -> Option<Usage> {
    let cached = tokens(usage, "cache_read_input_tokens");
    let written = tokens(usage, "cache_creation_input_tokens");
    let fresh = tokens(usage, "input_tokens");
    stated(Usage {
        input: fresh.map(|fresh| [Some(fresh), cached, written].into_iter().flatten().sum()),
        output: tokens(usage, "output_tokens"),
        cached,
        written,
        written_hour: usage
            .field("cache_creation")
            .and_then(|created| tokens(created, "ephemeral_1h_input_tokens")),
        ..Usage::default()
    })
}
