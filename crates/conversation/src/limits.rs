//! Context windows of known models.

use crate::TokenCount;

/// The window assumed for an unknown model.
pub const FALLBACK_WINDOW: TokenCount = TokenCount(1_048_576);

/// The source of a window's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// Stated by the user.
    Stated,
    /// From the table.
    Table,
    /// The fallback, because the model is unknown or not named.
    Fallback,
}

/// Exact names; they come before the prefixes, and the first match decides.
const EXACT: &[(&str, u64)] = &[
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-1.5-flash", 1_048_576),
    ("gemini-2.0-flash", 1_048_576),
    ("gemini-2.0-flash-preview-image-generation", 32_000),
    ("gemma-4-31b-it", 256_000),
    ("gemma-4-26b-a4b-it", 256_000),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
];

const BEGINNINGS: &[(&str, u64)] = &[
    ("gemini-", 1_048_576),
    ("claude-fable-5", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-haiku-5-5", 1_000_000),
    ("claude-", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-oss", 131_072),
    ("codex-mini", 200_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
];

/// The context window of a model: stated by the user, else from the table, else [`FALLBACK_WINDOW`].
///
/// A provider before a slash (`anthropic/claude-…`) and the suffix `[1m]` are understood.
///
/// ```
/// use longhaul_conversation::{TokenCount, WindowSource, context_window};
/// assert_eq!(context_window(Some("gemini-1.5-pro"), None).0, TokenCount(2_097_152));
/// assert_eq!(context_window(Some("my-model"), None), (TokenCount(1_048_576), WindowSource::Fallback));
/// assert_eq!(context_window(Some("my-model"), Some(TokenCount(8_000))).0, TokenCount(8_000));
/// ```
pub fn context_window(model: Option<&str>, stated: Option<TokenCount>) -> (TokenCount, WindowSource) {
    if let Some(stated) = stated {
        return (stated, WindowSource::Stated);
    }
    let Some(model) = model else { return (FALLBACK_WINDOW, WindowSource::Fallback) };
    let name = model.rsplit('/').next().unwrap_or(model);
    if let Some(name) = name.strip_suffix("[1m]")
        && name.starts_with("claude-")
    {
        return (TokenCount(1_000_000), WindowSource::Table);
    }
    let exact = EXACT.iter().find(|(known, _)| *known == name);
    let found = exact.or_else(|| BEGINNINGS.iter().find(|(start, _)| name.starts_with(start)));
    match found {
        Some((_, window)) => (TokenCount(*window), WindowSource::Table),
        None => (FALLBACK_WINDOW, WindowSource::Fallback),
    }
}

/// The names and prefixes in the table, with their windows.
pub fn known_models() -> impl Iterator<Item = (&'static str, TokenCount)> {
    EXACT.iter().chain(BEGINNINGS).map(|(name, window)| (*name, TokenCount(*window)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_window(model: &str, expected: u64) {
        assert_eq!(context_window(Some(model), None).0, TokenCount(expected), "{model}");
    }

    #[test]
    fn known_models_have_their_windows() {
        check_window("gemini-1.5-pro", 2_097_152);
        check_window("gemini-2.0-flash-preview-image-generation", 32_000);
        check_window("gemini-2.5-flash-lite", 1_048_576);
        check_window("gemini-3-pro-preview", 1_048_576);
        check_window("gemma-4-31b-it", 256_000);
        check_window("claude-opus-4-5-20251101", 200_000);
        check_window("anthropic/claude-3-opus", 200_000);
        check_window("claude-opus-5-5", 1_000_000);
        check_window("claude-sonnet-4-5[1m]", 1_000_000);
        check_window("gpt-4", 8_192);
        check_window("gpt-4o-mini", 128_000);
        check_window("gpt-4.1-nano", 1_047_576);
    }

    #[test]
    fn an_unknown_or_missing_model_gets_the_fallback() {
        for model in [None, Some(""), Some("llama-99"), Some("<synthetic>")] {
            assert_eq!(context_window(model, None), (FALLBACK_WINDOW, WindowSource::Fallback));
        }
    }

    #[test]
    fn what_the_user_states_wins() {
        let stated = Some(TokenCount(5));
        assert_eq!(context_window(Some("gpt-4"), stated), (TokenCount(5), WindowSource::Stated));
        assert_eq!(context_window(None, stated), (TokenCount(5), WindowSource::Stated));
    }
}
