//! Prices of models, and the cost of a call.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::sync::LazyLock;

use longhaul_conversation::{Timestamp, TokenCount, Usage};

use crate::data::entries;

/// An amount of money: millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroDollars(pub u64);

/// The prices of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The usual rates.
    pub usual: Rates,
    /// The rates for requests longer than this many tokens, where they are higher.
    pub long: Option<(TokenCount, Rates)>,
}

/// The price of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Of the request.
    pub input: MicroDollars,
    /// Of the request, where they come from a cache.
    pub cached: Option<MicroDollars>,
    /// Of the request, where they are written to a cache.
    pub writing: Option<CacheWriting>,
    /// Of the answer, hidden reasoning included.
    pub output: MicroDollars,
}

/// The price of writing a million tokens to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheWriting {
    /// For some minutes.
    pub minutes: MicroDollars,
    /// For an hour.
    pub hour: MicroDollars,
}

/// A line of the table.
struct PriceLine {
    name: &'static str,
    prices: Prices,
    /// The start of the day on which other prices took their place.
    until: Option<Timestamp>,
}

/// The published prices, those that ended above those that followed.
static TABLE: LazyLock<Vec<PriceLine>> =
    LazyLock::new(|| entries(include_str!("data/prices.txt")).map(read_line).collect());

fn read_line(line: &'static str) -> PriceLine {
    let (figures, until) = match line.split_once(" until ") {
        Some((figures, date)) => (figures, Some(date.trim())),
        None => (line, None),
    };
    let until =
        until.map(|date| Timestamp::parse(date).unwrap_or_else(|| panic!("expected a date in {line:?}")));
    let words: Vec<&str> = figures.split_whitespace().collect();
    let tokens = |word: &str| {
        TokenCount(word.parse().unwrap_or_else(|_| panic!("expected a number of tokens in {line:?}")))
    };
    match words[..] {
        [name, input, cached, output] => PriceLine {
            name,
            prices: Prices { usual: rates(name, [input, cached, output]), long: None },
            until,
        },
        [name, input, cached, output, "above", above, long_input, long_cached, long_output] => {
            let long = rates(name, [long_input, long_cached, long_output]);
            let usual = rates(name, [input, cached, output]);
            PriceLine { name, prices: Prices { usual, long: Some((tokens(above), long)) }, until }
        }
        _ => panic!("malformed price line: {line:?}"),
    }
}

/// The published prices of a model today, if they are known. A provider before a slash is understood.
///
/// ```
/// use longhaul_providers::{MicroDollars, known_prices};
/// let output = |model| known_prices(model).map(|prices| prices.usual.output);
/// assert_eq!(output("gpt-4o-mini-2024-07-18"), Some(MicroDollars(600_000)));
/// assert_eq!(output("my-model"), None);
/// ```
pub fn known_prices(model: &str) -> Option<Prices> {
    find_line(model, |line| line.until.is_none())
}

/// The published prices of a model at a time, as far back as they are known.
pub fn prices_at(model: &str, at: Timestamp) -> Option<Prices> {
    find_line(model, |line| line.until.is_none_or(|until| at < until))
}

fn find_line(model: &str, holds: impl Fn(&PriceLine) -> bool) -> Option<Prices> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let found = TABLE.iter().find(|line| is_version_of(name, line.name) && holds(line));
    found.map(|line| line.prices)
}

fn rates(name: &str, dollars: [&str; 3]) -> Rates {
    let [input, cached, output] = dollars.map(|word| {
        MicroDollars::from_dollars(
            word.parse().unwrap_or_else(|_| panic!("invalid price {word:?} of {name}")),
        )
    });
    let writing = name.starts_with("claude-").then(|| CacheWriting::of(input));
    Rates { input, cached: Some(cached), writing, output }
}

impl CacheWriting {
    /// Anthropic's rates where a request costs `input`.
    pub fn of(input: MicroDollars) -> Self {
        Self {
            minutes: MicroDollars(input.0.saturating_mul(5) / 4),
            hour: MicroDollars(input.0.saturating_mul(2)),
        }
    }
}

/// The names of the models whose prices are known.
pub fn priced_models() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|line| line.until.is_none()).map(|line| line.name)
}

/// True if `name` is `known`, perhaps with a date or a number behind it; other words make it another model.
fn is_version_of(name: &str, known: &str) -> bool {
    let Some(rest) = name.strip_prefix(known) else { return false };
    let is_version =
        |word: &str| word == "latest" || (word.len() != 1 && word.bytes().all(|byte| byte.is_ascii_digit()));
    rest.is_empty() || rest.strip_prefix(['-', '@']).is_some_and(|rest| rest.split('-').all(is_version))
}

/// The cost of a call: hidden reasoning included, and tokens from and for a cache at their own price. `None` without
/// figures.
pub fn cost(usage: &Usage, prices: &Prices) -> Option<MicroDollars> {
    if usage.input.is_none() && usage.output.is_none() {
        return None;
    }
    let all = usage.input.unwrap_or_default();
    let rates = match &prices.long {
        Some((above, long)) if all > *above => long,
        _ => &prices.usual,
    };
    let cached = usage.cached.unwrap_or_default().min(all);
    let written = usage.written.unwrap_or_default().min(all - cached);
    let hour = usage.written_hour.unwrap_or_default().min(written);
    let fresh = all - cached - written + usage.tool.unwrap_or_default();
    let answer = usage.output.unwrap_or_default() + usage.thoughts.unwrap_or_default();
    let charges = [
        (fresh, rates.input),
        (cached, rates.cached.unwrap_or(rates.input)),
        (written - hour, rates.writing.map_or(rates.input, |writing| writing.minutes)),
        (hour, rates.writing.map_or(rates.input, |writing| writing.hour)),
        (answer, rates.output),
    ];
    let total: u128 = charges.iter().map(|(tokens, price)| u128::from(tokens.0) * u128::from(price.0)).sum();
    Some(MicroDollars(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)))
}

impl MicroDollars {
    /// From dollars; what is no amount of money is nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        // A negative or huge number stops at the end of the range.
        Self((dollars * 1e6).round() as u64)
    }

    /// In dollars.
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for MicroDollars {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MicroDollars {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for MicroDollars {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// `$1.25`, or with more places where it is less than a cent.
impl fmt::Display for MicroDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("$0"),
            1..10_000 => write!(f, "${:.4}", self.as_dollars().max(0.0001)),
            _ => write!(f, "${:.2}", self.as_dollars()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_to_a_cache_costs_more() {
        let written = |minutes: u64, hour: u64| Usage {
            input: Some(TokenCount(minutes + hour + 1_000)),
            written: Some(TokenCount(minutes + hour)),
            written_hour: (hour > 0).then_some(TokenCount(hour)),
            ..Usage::default()
        };
        check_cost("claude-sonnet-4-5", written(0, 0), Some(3_000));
        check_cost("claude-sonnet-4-5", written(100_000, 0), Some(3_000 + 375_000));
        check_cost("claude-sonnet-4-5", written(0, 100_000), Some(3_000 + 600_000));
        check_cost("claude-sonnet-4-5", written(50_000, 50_000), Some(3_000 + 187_500 + 300_000));
        // Above 200,000 tokens everything costs twice as much.
        check_cost("claude-sonnet-4-5", written(100_000, 100_000), Some(2 * (3_000 + 375_000 + 600_000)));
        check_cost("claude-haiku-5-5", written(9_000, 0), Some(100 + 1_125));
        check_cost("claude-haiku-5-5", written(199_000, 0), Some(500 + 124_375));
        // Nobody else charges for it.
        check_cost("gpt-4o", written(1_000, 0), Some(5_000));
    }

    fn usage(input: u64, cached: u64, output: u64, thoughts: u64) -> Usage {
        let count = |tokens| (tokens > 0).then_some(TokenCount(tokens));
        Usage {
            input: count(input),
            cached: count(cached),
            output: count(output),
            thoughts: count(thoughts),
            ..Usage::default()
        }
    }

    #[track_caller]
    fn check_cost(model: &str, usage: Usage, expected: Option<u64>) {
        let prices = known_prices(model).expect(model);
        assert_eq!(cost(&usage, &prices), expected.map(MicroDollars), "{model}");
    }

    #[test]
    fn cached_and_thinking_tokens_have_their_prices() {
        check_cost("gemini-2.5-flash", usage(1_000_000, 0, 0, 0), Some(300_000));
        check_cost("gemini-2.5-flash", usage(1_000_000, 900_000, 0, 0), Some(30_000 + 27_000));
        check_cost("gemini-2.5-flash", usage(0, 0, 1_000, 3_000), Some(10_000));
        check_cost("gemini-2.5-pro", usage(100_000, 0, 0, 0), Some(125_000));
        check_cost("gemini-2.5-pro", usage(300_000, 0, 1_000, 0), Some(750_000 + 15_000));
        check_cost("gpt-5-nano", usage(1, 0, 0, 0), Some(1));
        check_cost("gpt-5", Usage::default(), None);
    }

    #[test]
    fn every_line_of_the_table_counts() {
        for line in TABLE.iter() {
            let at = line.until.map_or(i64::MAX, |until| until.as_millis() - 1);
            let found = prices_at(line.name, Timestamp::from_millis(at));
            assert_eq!(found, Some(line.prices), "{} is hidden by an earlier line", line.name);
            assert!(line.prices.usual.input < line.prices.usual.output, "{}", line.name);
            assert!(known_prices(line.name).is_some(), "{} ended and nothing followed", line.name);
        }
    }

    #[test]
    fn a_call_has_the_prices_of_its_day() {
        let check = |model: &str, at: &str, expected: f64| {
            let prices = prices_at(model, Timestamp::parse(at).expect("a time")).expect(model);
            assert_eq!(prices.usual.output.as_dollars(), expected, "{model} at {at}");
        };
        check("o3", "2025-06-09T23:59:59Z", 40.0);
        check("o3", "2025-06-10T00:00:00Z", 8.0);
        check("openai/o3-2025-04-16", "2025-05-01T12:00:00Z", 40.0);
        check("claude-3-5-haiku-20241022", "2024-11-05T00:00:00Z", 5.0);
        check("gpt-4o", "2024-09-01T00:00:00Z", 15.0);
        check("gpt-4o-2024-05-13", "2026-09-01T00:00:00Z", 15.0);
        check("gpt-4o-2024-08-06", "2024-09-01T00:00:00Z", 10.0);
        let long = |at: &str| {
            let prices = prices_at("claude-sonnet-4-6", Timestamp::parse(at).expect("a time"));
            prices.expect("known").long.map(|(_, rates)| rates.input.as_dollars())
        };
        assert_eq!((long("2026-03-12T00:00:00Z"), long("2026-03-13T00:00:00Z")), (Some(6.0), None));
        assert_eq!(known_prices("o3").map(|prices| prices.usual.output.as_dollars()), Some(8.0));
    }

    #[track_caller]
    fn check_input(model: &str, expected: Option<f64>) {
        assert_eq!(known_prices(model).map(|prices| prices.usual.input.as_dollars()), expected, "{model}");
    }

    #[test]
    fn versions_are_known_and_other_models_are_not() {
        check_input("claude-sonnet-4-5-20250929", Some(3.0));
        check_input("claude-sonnet-4-20250514", Some(3.0));
        check_input("claude-opus-4-5", Some(5.0));
        check_input("claude-opus-4-20250514", Some(15.0));
        check_input("claude-opus-4-9", None);
        check_input("claude-opus-5", Some(5.0));
        check_input("claude-opus-5-5", Some(4.0));
        check_input("anthropic/claude-3-5-haiku-latest", Some(0.8));
        check_input("gpt-5", Some(1.25));
        check_input("gpt-5-2025-08-07", Some(1.25));
        check_input("gpt-5-pro", None);
        check_input("gpt-4o-audio-preview", None);
        check_input("llama-3", None);
    }

    #[test]
    fn money_is_shown_with_the_places_it_needs() {
        let shown = |dollars| MicroDollars::from_dollars(dollars).to_string();
        assert_eq!(
            ["0", "0.00001", "0.0042", "1.256"].map(|d| shown(d.parse().expect("a number"))),
            ["$0", "$0.0001", "$0.0042", "$1.26"]
        );
        assert_eq!(MicroDollars::from_dollars(-1.0), MicroDollars(0));
        assert_eq!(MicroDollars::from_dollars(f64::NAN), MicroDollars(0));
    }
}
