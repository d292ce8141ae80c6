//! Context windows: stated, learned from refusals, or from the table of models.

use std::collections::HashMap;

use longhaul_app::settings::Settings;
use longhaul_conversation::{TokenCount, context_window};

use crate::chain::ChainHash;
use crate::family::Family;

/// Windows that providers named when they refused a request, by tenant, model and kind of window.
#[derive(Debug, Default)]
pub(crate) struct LearnedWindows(HashMap<(ChainHash, String, bool), (u64, i64)>);

/// The life of what was learned, in milliseconds: an hour.
const HOLDS: i64 = 3_600_000;

impl LearnedWindows {
    /// Notes what a provider said.
    pub(crate) fn learn(&mut self, tenant: ChainHash, model: &str, is_long: bool, window: u64, now: i64) {
        self.0.retain(|_, (_, until)| *until > now);
        self.0.insert((tenant, model.to_string(), is_long), (window, now + HOLDS));
    }

    pub(crate) fn get(&self, tenant: ChainHash, model: &str, is_long: bool, now: i64) -> Option<u64> {
        let (window, until) = self.0.get(&(tenant, model.to_string(), is_long))?;
        (*until > now).then_some(*window)
    }
}

/// The window of a model by what the user states and the table says; `is_long` is true where the client asked for the long one.
pub(crate) fn known_window(user: &Settings, stated: Option<TokenCount>, model: &str, is_long: bool) -> u64 {
    const LONG: u64 = 1_000_000;
    if let Some(stated) = stated.or_else(|| user.window(model)) {
        return stated.0;
    }
    let (window, _) = context_window(Some(model), None);
    if is_long { window.0.max(LONG) } else { window.0 }
}

/// The most tokens that a request may have in a window: room for the answer is left, and for what the estimate misses.
pub(crate) fn request_limit(family: Family, window: u64, max_output: Option<u64>) -> f64 {
    /// Clients that compact by themselves reckon with as much.
    const MOST_RESERVED: u64 = 20_000;
    const UNSTATED: u64 = 8_000;
    const MARGIN: f64 = 0.95;
    // Gemini's windows are for the input alone.
    let wanted = if family == Family::Gemini { 0 } else { max_output.unwrap_or(UNSTATED) };
    let reserved = wanted.min(MOST_RESERVED).min(window / 5);
    window.saturating_sub(reserved) as f64 * MARGIN
}

/// The size of a refused request and the window, as a provider's refusal names them.
pub(crate) fn parse_overflow(message: &str) -> Option<(u64, u64)> {
    let lower = message.to_ascii_lowercase();
    let numbers = |text: &str| -> Vec<u64> {
        let plain: String = text.chars().filter(|c| *c != ',').collect();
        plain.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    let after = |phrase: &str| Some(numbers(&message[lower.find(phrase)? + phrase.len()..]));
    let sound = |size: u64, window: u64| (size > window && window >= 1_000).then_some((size, window));
    if let Some(found) = after("prompt is too long:").or_else(|| after("input token count"))
        && let [size, window, ..] = found[..]
    {
        return sound(size, window);
    }
    if let Some(found) = after("maximum context length is")
        && let [window, size, ..] = found[..]
    {
        return sound(size, window);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_window() {
        for (message, expected) in [
            ("prompt is too long: 205123 tokens > 200000 maximum", Some((205_123, 200_000))),
            (
                "The input token count (1,050,000) exceeds the maximum number of tokens allowed (1048576).",
                Some((1_050_000, 1_048_576)),
            ),
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
                Some((130_001, 128_000)),
            ),
            ("prompt is too long", None),
            ("max_tokens: 9 > 8", None),
            ("prompt is too long: 5 tokens > 9 maximum", None),
        ] {
            assert_eq!(parse_overflow(message), expected, "{message}");
        }
    }

    #[test]
    fn what_was_learned_ends() {
        let mut windows = LearnedWindows::default();
        let tenant = ChainHash([1; 16]);
        windows.learn(tenant, "m", false, 5_000, 0);
        assert_eq!(windows.get(tenant, "m", false, 10), Some(5_000));
        assert_eq!(windows.get(tenant, "m", true, 10), None);
        assert_eq!(windows.get(tenant, "m", false, HOLDS + 1), None);
    }

    #[test]
    fn room_is_left_for_the_answer() {
        assert_eq!(request_limit(Family::Anthropic, 200_000, Some(32_000)), 180_000.0 * 0.95);
        assert_eq!(request_limit(Family::Anthropic, 8_000, Some(32_000)), 6_400.0 * 0.95);
        assert_eq!(request_limit(Family::Gemini, 1_000_000, Some(64_000)), 950_000.0);
    }
}
