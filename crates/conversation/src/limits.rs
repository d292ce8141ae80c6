//! Context windows of known models.

use std::sync::LazyLock;

use crate::TokenCount;

/// The window assumed for an unknown model: what most servers of one's own hold.
pub const FALLBACK_WINDOW: TokenCount = TokenCount(32_000);

/// The usual sizes of windows.
const USUAL_WINDOWS: &[u64] =
    &[32_000, 65_536, 131_072, 200_000, 262_144, 400_000, 1_000_000, 1_048_576, 2_097_152];

/// The source of a window's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// Stated by the user.
    Stated,
    /// From the table.
    Table,
    /// Stated by the server that offers the model.
    Server,
    /// Raised, because the provider counted more than the window was thought to hold.
    Counted,
    /// The fallback, because the model is unknown or not named.
    Fallback,
}

/// A line of the table.
struct Window {
    /// A name, or the beginning of names.
    name: &'static str,
    is_beginning: bool,
    tokens: TokenCount,
}

/// The lines of `data/windows.txt`.
static TABLE: LazyLock<Vec<Window>> = LazyLock::new(|| {
    let lines = include_str!("data/windows.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(read_line).collect()
});

fn read_line(line: &'static str) -> Window {
    let (name, tokens) =
        line.split_once(' ').unwrap_or_else(|| panic!("expected a model and its window, found {line:?}"));
    let tokens = tokens.trim().replace('_', "").parse();
    Window {
        name: name.trim_end_matches('*'),
        is_beginning: name.ends_with('*'),
        tokens: TokenCount(tokens.unwrap_or_else(|_| panic!("expected a number of tokens in {line:?}"))),
    }
}

/// The context window of a model: stated by the user, else from the table, else [`FALLBACK_WINDOW`].
///
/// A provider before a slash (`anthropic/claude-…`) and the suffix `[1m]` are understood.
///
/// ```
/// use longhaul_conversation::{TokenCount, WindowSource, context_window};
/// assert_eq!(context_window(Some("gemini-1.5-pro"), None).0, TokenCount(2_097_152));
/// assert_eq!(context_window(Some("my-model"), None), (TokenCount(32_000), WindowSource::Fallback));
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
    let exact = TABLE.iter().find(|known| !known.is_beginning && known.name == name);
    let begins = || TABLE.iter().find(|known| known.is_beginning && name.starts_with(known.name));
    match exact.or_else(begins) {
        Some(known) => (known.tokens, WindowSource::Table),
        None => (FALLBACK_WINDOW, WindowSource::Fallback),
    }
}

/// The smallest usual window that holds what a provider counted, for a model whose window was thought to be smaller.
///
/// ```
/// use longhaul_conversation::{TokenCount, window_for};
/// assert_eq!(window_for(TokenCount(250_000)), TokenCount(262_144));
/// assert_eq!(window_for(TokenCount(9_000_000)), TokenCount(9_000_000));
/// ```
pub fn window_for(counted: TokenCount) -> TokenCount {
    let usual = USUAL_WINDOWS.iter().find(|size| **size >= counted.0);
    TokenCount(usual.copied().unwrap_or(counted.0))
}

/// The names and prefixes in the table, with their windows.
pub fn known_models() -> impl Iterator<Item = (&'static str, TokenCount)> {
    TABLE.iter().map(|known| (known.name, known.tokens))
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
