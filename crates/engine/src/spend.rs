//! Spend of compactions in tokens and money, and its caps.

use longhaul_conversation::{Consumption, TokenCount};
use serde::Serialize;

/// Spend on summaries by models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spend {
    /// The requests that were sent, retries included.
    pub calls: u32,
    /// Tokens of requests and answers together.
    pub tokens: TokenCount,
    /// Those of them that are estimated, because the provider did not report them.
    pub estimated: TokenCount,
    /// Their cost, where prices are known, in the currency of the prices.
    pub money: f64,
}

/// Prices of a model, for a million tokens each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens of the request.
    pub input: f64,
    /// Tokens of the request that came from a cache.
    pub cached: f64,
    /// Tokens of the request that were written to a cache.
    pub written: f64,
    /// Tokens of the answer, reasoning included.
    pub output: f64,
}

/// Caps on what may be spent in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpendCaps {
    /// In tokens.
    pub tokens: Option<TokenCount>,
    /// In money; binds only where prices are known.
    pub money: Option<f64>,
}

impl Spend {
    /// Spend for what was consumed.
    pub fn of(consumed: &Consumption, prices: Option<&Prices>) -> Self {
        let (input, output) = (consumed.input(), consumed.output());
        let usage = consumed.usage.unwrap_or_default();
        let cached = usage.cached.unwrap_or_default().min(input);
        let written = usage.written.unwrap_or_default().min(input - cached);
        let money = prices.map_or(0.0, |prices| prices.of(input - cached - written, cached, written, output));
        Self { calls: consumed.requests, tokens: input + output, estimated: consumed.estimated(), money }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tokens: self.tokens + other.tokens,
            estimated: self.estimated + other.estimated,
            money: self.money + other.money,
        }
    }
}

impl Prices {
    fn of(&self, input: TokenCount, cached: TokenCount, written: TokenCount, output: TokenCount) -> f64 {
        let cost = |tokens: TokenCount, price: f64| tokens.0 as f64 / 1e6 * price;
        cost(input, self.input)
            + cost(cached, self.cached)
            + cost(written, self.written)
            + cost(output, self.output)
    }
}

impl SpendCaps {
    /// Caps that are left after some spend.
    #[must_use]
    pub fn less(self, spent: Spend) -> Self {
        Self {
            tokens: self.tokens.map(|cap| cap - spent.tokens),
            money: self.money.map(|cap| (cap - spent.money).max(0.0)),
        }
    }

    /// The reason why nothing may be spent any more.
    pub(crate) fn why_spent(&self, spent: Spend) -> Option<String> {
        if let Some(cap) = self.tokens.filter(|cap| spent.tokens >= *cap) {
            return Some(format!("this session has used its {cap} tokens for summaries"));
        }
        let cap = self.money.filter(|cap| spent.money >= *cap)?;
        Some(format!("this session has spent its ${cap:.2} for summaries"))
    }

    /// True if a call of this size can be paid. What it costs is known only where prices are.
    pub(crate) fn allow(&self, input: TokenCount, output: TokenCount, prices: Option<&Prices>) -> bool {
        let money = prices.map(|prices| prices.of(input, TokenCount::ZERO, TokenCount::ZERO, output));
        self.tokens.is_none_or(|left| input + output <= left)
            && self.money.is_none_or(|left| money.is_none_or(|money| money <= left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{SpendMeter, Usage};

    const PRICES: Prices = Prices { input: 2.0, cached: 0.5, written: 2.5, output: 10.0 };

    #[track_caller]
    fn check(usage: Usage, tokens: u64, money: f64) {
        let meter = SpendMeter::expecting(TokenCount(1_000));
        meter.sent();
        meter.received(400);
        meter.reported(usage);
        let spend = Spend::of(&meter.total(), Some(&PRICES));
        assert_eq!((spend.calls, spend.tokens), (1, TokenCount(tokens)));
        let reported = usage.input.unwrap_or_default() + usage.thoughts.unwrap_or_default();
        assert_eq!(spend.estimated, TokenCount(tokens) - reported);
        assert!((spend.money - money).abs() < 1e-12, "{}", spend.money);
    }

    #[test]
    fn a_call_costs_what_the_provider_says_or_what_is_estimated() {
        check(Usage::default(), 1_100, 0.003);
        let input = Some(TokenCount(2_000));
        check(Usage { input, ..Usage::default() }, 2_100, 0.005);
        check(Usage { input, cached: Some(TokenCount(1_000)), ..Usage::default() }, 2_100, 0.0035);
        check(Usage { input, written: Some(TokenCount(1_000)), ..Usage::default() }, 2_100, 0.0055);
        check(Usage { thoughts: Some(TokenCount(900)), ..Usage::default() }, 2_000, 0.012);
    }

    #[test]
    fn caps_bind_when_they_are_reached() {
        let spent = Spend { calls: 2, tokens: TokenCount(500), money: 0.5, ..Spend::default() };
        let caps =
            |tokens: u64, money: f64| SpendCaps { tokens: Some(TokenCount(tokens)), money: Some(money) };
        assert_eq!(SpendCaps::default().why_spent(spent), None);
        assert_eq!(caps(501, 0.51).why_spent(spent), None);
        assert!(caps(500, 0.51).why_spent(spent).is_some_and(|why| why.contains("500 tokens")));
        assert!(caps(501, 0.5).why_spent(spent).is_some_and(|why| why.contains("0.50")));
        assert_eq!(caps(700, 0.4).less(spent), caps(200, 0.0));
    }

    #[test]
    fn a_call_that_would_exceed_a_cap_is_not_allowed() {
        let caps = SpendCaps { tokens: Some(TokenCount(1_100)), money: Some(0.003) };
        assert!(caps.allow(TokenCount(1_000), TokenCount(100), Some(&PRICES)));
        assert!(!caps.allow(TokenCount(1_001), TokenCount(100), None));
        assert!(!caps.allow(TokenCount(900), TokenCount(200), Some(&PRICES)));
        assert!(caps.allow(TokenCount(900), TokenCount(200), None));
    }
}
