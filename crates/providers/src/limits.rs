//! Limits of one answer: how much of it is read, and for how long.

use std::time::Duration;

use longhaul_conversation::{AnswerLimit, TokenCount};
use longhaul_wire::AnswerSize;

/// The limits that a user states for answers. What is not stated follows from the model's longest answer where that is
/// known, else it is generous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Bytes of text.
    pub text: Option<u64>,
    /// Bytes of reasoning.
    pub thoughts: Option<u64>,
    /// Bytes of the arguments of all calls.
    pub arguments: Option<u64>,
    /// Bytes of media and of what only its vendor understands.
    pub media: Option<u64>,
    /// Calls of tools.
    pub calls: Option<u64>,
    /// Bytes that are sent for it, keep-alives and all.
    pub stream: Option<u64>,
    /// Time, from the first request on.
    pub time: Option<Duration>,
}

/// The limits of one answer, each with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerBudget {
    pub(crate) text: u64,
    pub(crate) thoughts: u64,
    pub(crate) arguments: u64,
    pub(crate) media: u64,
    pub(crate) calls: u64,
    pub(crate) stream: u64,
    pub(crate) time: Duration,
}

/// The usual limits where nothing is known of the model.
const USUAL: AnswerBudget = AnswerBudget {
    text: 4_000_000,
    thoughts: 8_000_000,
    arguments: 16_000_000,
    media: 64_000_000,
    calls: 1_000,
    stream: 256_000_000,
    time: Duration::from_secs(30 * 60),
};

/// The bytes that a token of output may have: the longest usual ones have 8, and servers may count differently from us.
const BYTES_PER_TOKEN: u64 = 16;

/// No limit that follows from a model's longest answer is below this: some servers give an answer a little more room than
/// they were told to.
const LEAST: u64 = 64_000;

impl AnswerLimits {
    /// The limits of an answer that may have so many tokens, where that is known.
    pub(crate) fn budget(&self, max_output: Option<TokenCount>) -> AnswerBudget {
        let derived = |usual: u64| match max_output {
            Some(tokens) => tokens.0.saturating_mul(BYTES_PER_TOKEN).max(LEAST).min(usual),
            None => usual,
        };
        AnswerBudget {
            text: self.text.unwrap_or_else(|| derived(USUAL.text)),
            thoughts: self.thoughts.unwrap_or_else(|| derived(USUAL.thoughts)),
            arguments: self.arguments.unwrap_or_else(|| derived(USUAL.arguments)),
            media: self.media.unwrap_or(USUAL.media),
            calls: self.calls.unwrap_or(USUAL.calls),
            stream: self.stream.unwrap_or(USUAL.stream),
            time: self.time.unwrap_or(USUAL.time),
        }
    }
}

impl AnswerBudget {
    /// The limit that an answer of this size has passed, if any.
    pub(crate) fn passed_by(&self, size: &AnswerSize) -> Option<AnswerLimit> {
        let passed =
            |size: u64, limit: u64, name: fn(u64) -> AnswerLimit| (size > limit).then(|| name(limit));
        passed(size.text, self.text, AnswerLimit::Text)
            .or_else(|| passed(size.thoughts, self.thoughts, AnswerLimit::Thoughts))
            .or_else(|| passed(size.arguments, self.arguments, AnswerLimit::Arguments))
            .or_else(|| passed(size.media, self.media, AnswerLimit::Media))
            .or_else(|| passed(size.calls, self.calls, AnswerLimit::Calls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(stated: Option<u64>, max_output: Option<u64>, expected: u64) {
        let limits = AnswerLimits { text: stated, ..AnswerLimits::default() };
        assert_eq!(limits.budget(max_output.map(TokenCount)).text, expected);
    }

    #[test]
    fn limits_are_stated_or_follow_from_the_longest_answer() {
        check_text(None, None, 4_000_000);
        check_text(None, Some(10_000), 160_000);
        check_text(None, Some(77), 64_000);
        check_text(None, Some(u64::MAX), 4_000_000);
        check_text(Some(10), Some(10_000), 10);
        check_text(Some(9_000_000), Some(10_000), 9_000_000);
    }

    #[track_caller]
    fn check_passed(size: AnswerSize, expected: Option<AnswerLimit>) {
        assert_eq!(USUAL.passed_by(&size), expected);
    }

    #[test]
    fn each_limit_is_named() {
        let none = AnswerSize::default();
        check_passed(none, None);
        check_passed(AnswerSize { text: USUAL.text, ..none }, None);
        check_passed(AnswerSize { text: USUAL.text + 1, ..none }, Some(AnswerLimit::Text(4_000_000)));
        check_passed(AnswerSize { thoughts: u64::MAX, ..none }, Some(AnswerLimit::Thoughts(8_000_000)));
        check_passed(AnswerSize { arguments: u64::MAX, ..none }, Some(AnswerLimit::Arguments(16_000_000)));
        check_passed(AnswerSize { media: u64::MAX, ..none }, Some(AnswerLimit::Media(64_000_000)));
        check_passed(AnswerSize { calls: 1_001, ..none }, Some(AnswerLimit::Calls(1_000)));
    }
}
