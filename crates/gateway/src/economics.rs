//! The price of rewriting a history: what it costs and saves where the provider caches prompts.

use std::time::Duration;

use crate::family::Family;

/// Prices of a provider's prompt cache, as multiples of a token's usual price, and how long an entry lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CacheRates {
    /// Of a token that is read from the cache.
    pub(crate) read: f64,
    /// Of a token that is written to it.
    pub(crate) write: f64,
    /// The time without use after which an entry is gone.
    pub(crate) lifetime: Duration,
}

/// Sizes in tokens that decide whether a rewrite pays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RewriteSizes {
    /// The history that gives way.
    pub(crate) history: f64,
    /// The snapshot in its place.
    pub(crate) snapshot: f64,
    /// The text behind it, which must be written anew.
    pub(crate) tail: f64,
}

impl CacheRates {
    /// The rates of a model. `is_long_lived` says that the client asked for the longer lifetime.
    pub(crate) fn of(family: Family, model: &str, is_long_lived: bool) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let of = |read, write, lifetime| Self { read, write, lifetime };
        match family {
            Family::Anthropic if is_long_lived => of(0.1, 2.0, minutes(60)),
            Family::Anthropic => of(0.1, 1.25, minutes(5)),
            _ if name.starts_with("claude") => of(0.1, 1.25, minutes(5)),
            Family::Gemini => of(0.1, 1.0, minutes(5)),
            Family::Responses | Family::Chat => match name {
                _ if name.starts_with("gpt-4o") => of(0.5, 1.0, minutes(10)),
                _ if name.starts_with("gpt-4.1") => of(0.25, 1.0, minutes(10)),
                _ if name.starts_with("gpt-6")
                    || ["gpt-5.6", "gpt-5.7", "gpt-5.8", "gpt-5.9"]
                        .iter()
                        .any(|new| name.starts_with(new)) =>
                {
                    of(0.1, 1.25, minutes(30))
                }
                _ => of(0.1, 1.0, minutes(10)),
            },
        }
    }

    /// The number of further requests after which a rewrite is repaid; none if it never is.
    ///
    /// Rewriting costs `w(s+T) − r(H+T)` once and saves `r(H−s)` with every later request.
    pub(crate) fn repaid_after(self, sizes: RewriteSizes) -> Option<f64> {
        let RewriteSizes { history, snapshot, tail } = sizes;
        let saved = self.read * (history - snapshot);
        let cost = self.write * (snapshot + tail) - self.read * (history + tail);
        (saved > 0.0).then(|| (cost / saved).max(0.0))
    }

    /// True if nothing of a conversation that rested so long is in the cache any more.
    pub(crate) fn is_cold(self, idle: Duration) -> bool {
        idle > self.lifetime + self.lifetime / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rates: CacheRates, history: f64, expected: f64) {
        let sizes = RewriteSizes { history, snapshot: 6_000.0, tail: 20_000.0 };
        let found = rates.repaid_after(sizes).expect("a saving");
        assert!((found - expected).abs() < 0.06, "{found} for {expected}");
    }

    /// The table of the published cache prices, for a snapshot of 6,000 tokens and a tail of 20,000.
    #[test]
    fn large_histories_are_repaid_soon() {
        let minutes = CacheRates::of(Family::Anthropic, "claude-opus-5", false);
        for (history, after) in [(30e3, 11.5), (60e3, 4.5), (100e3, 2.2), (200e3, 0.5), (400e3, 0.0)] {
            check(minutes, history, after);
        }
        let hour = CacheRates::of(Family::Anthropic, "claude-opus-5", true);
        for (history, after) in [(30e3, 19.6), (60e3, 8.1), (100e3, 4.3), (200e3, 1.5), (400e3, 0.3)] {
            check(hour, history, after);
        }
        let older = CacheRates::of(Family::Responses, "gpt-5.1-codex", false);
        for (history, after) in [(30e3, 8.8), (60e3, 3.3), (100e3, 1.5), (200e3, 0.2), (400e3, 0.0)] {
            check(older, history, after);
        }
        check(CacheRates::of(Family::Chat, "gpt-4o-mini", false), 30e3, 0.1);
    }

    #[test]
    fn a_snapshot_as_long_as_the_history_never_pays() {
        let sizes = RewriteSizes { history: 5_000.0, snapshot: 6_000.0, tail: 1_000.0 };
        assert_eq!(CacheRates::of(Family::Gemini, "gemini-3-pro", false).repaid_after(sizes), None);
    }

    #[test]
    fn a_cache_is_cold_behind_its_lifetime() {
        let rates = CacheRates::of(Family::Anthropic, "claude-sonnet-5", false);
        assert!(!rates.is_cold(Duration::from_secs(300)) && rates.is_cold(Duration::from_secs(331)));
    }
}
