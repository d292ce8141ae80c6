//! A meter for the consumption of model calls, including failed requests and retries.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{TokenCount, Usage};

/// A counter of the requests actually sent.
///
/// A [`crate::Request`] carries it to the model, which counts at the moment it sends; the caller keeps a clone and reads the
/// total at any time, even if the response failed or was abandoned. Calls that share a meter follow each other.
///
/// ```
/// use longhaul_conversation::{SpendMeter, TokenCount, Usage};
///
/// let meter = SpendMeter::expecting(TokenCount(1_000));
/// meter.sent();
/// meter.sent();
/// meter.reported(Usage { input: Some(TokenCount(990)), output: Some(TokenCount(7)), ..Usage::default() });
/// let consumed = meter.total();
/// assert_eq!((consumed.requests, consumed.input(), consumed.estimated_input), (2, TokenCount(1_990), TokenCount(1_000)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpendMeter {
    /// The estimated size of a request, for those that the provider reports nothing about.
    expected: TokenCount,
    tally: Arc<Mutex<Tally>>,
}

/// The consumption as reported by the provider, and by estimate where it reported nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumption {
    /// The number of requests sent, including retries.
    pub requests: u32,
    /// The sum of the reported figures; none if nothing was reported.
    pub usage: Option<Usage>,
    /// The estimated input of requests whose input was not reported.
    pub estimated_input: TokenCount,
    /// The estimated output of requests whose output was not reported.
    pub estimated_output: TokenCount,
}

#[derive(Debug, Default)]
struct Tally {
    closed: Consumption,
    open: Option<OpenRequest>,
}

/// The request sent last.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    expected: TokenCount,
    usage: Usage,
    received: u64,
}

/// The bytes of an answer per estimated token.
const BYTES_PER_TOKEN: u64 = 4;

impl SpendMeter {
    /// A meter for requests of about this size.
    pub fn expecting(expected: TokenCount) -> Self {
        Self { expected, ..Self::default() }
    }

    /// The same meter for a further call with requests of about this size.
    #[must_use]
    pub fn for_call(&self, expected: TokenCount) -> Self {
        Self { expected, tally: Arc::clone(&self.tally) }
    }

    /// Counts a request that is sent now.
    pub fn sent(&self) {
        let mut tally = self.tally();
        tally.close();
        tally.open = Some(OpenRequest { expected: self.expected, usage: Usage::default(), received: 0 });
    }

    /// Uncounts the last request, which never reached the provider.
    pub fn unsent(&self) {
        self.tally().open = None;
    }

    /// Records that the provider rejected the last request before working on it, which costs no tokens.
    pub fn refused(&self) {
        if let Some(open) = &mut self.tally().open {
            open.expected = TokenCount::ZERO;
        }
    }

    /// Records the provider's figures for the last request, replacing earlier ones.
    pub fn reported(&self, usage: Usage) {
        if let Some(open) = &mut self.tally().open {
            open.usage = usage;
        }
    }

    /// Records that bytes of an answer to the last request arrived.
    pub fn received(&self, bytes: u64) {
        if let Some(open) = &mut self.tally().open {
            open.received = open.received.saturating_add(bytes);
        }
    }

    /// The consumption so far.
    pub fn total(&self) -> Consumption {
        let tally = self.tally();
        tally.open.map_or(tally.closed, |open| tally.closed + open.consumed())
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A meter is not part of the request's content: two requests are equal whatever their meters.
impl PartialEq for SpendMeter {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Tally {
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.closed = self.closed + open.consumed();
        }
    }
}

impl OpenRequest {
    fn consumed(self) -> Consumption {
        let estimate = |reported: Option<TokenCount>, estimated: TokenCount| match reported {
            Some(_) => TokenCount::ZERO,
            None => estimated,
        };
        Consumption {
            requests: 1,
            usage: Some(self.usage).filter(|usage| !usage.is_empty()),
            estimated_input: estimate(self.usage.input, self.expected),
            estimated_output: estimate(
                self.usage.output,
                TokenCount(self.received.div_ceil(BYTES_PER_TOKEN)),
            ),
        }
    }
}

impl Consumption {
    /// The input tokens, reported or estimated.
    pub fn input(&self) -> TokenCount {
        self.usage.and_then(|usage| usage.input).unwrap_or_default() + self.estimated_input
    }

    /// The output tokens, including hidden reasoning, reported or estimated.
    pub fn output(&self) -> TokenCount {
        let usage = self.usage.unwrap_or_default();
        usage.output.unwrap_or_default() + usage.thoughts.unwrap_or_default() + self.estimated_output
    }

    /// The estimated part of the total.
    pub fn estimated(&self) -> TokenCount {
        self.estimated_input + self.estimated_output
    }

    /// The figures, with estimates for those that were not reported; none if nothing was consumed.
    pub fn usage_with_estimates(&self) -> Option<Usage> {
        if self.estimated() == TokenCount::ZERO {
            return self.usage;
        }
        let usage = self.usage.unwrap_or_default();
        let input = Some(usage.input.unwrap_or_default() + self.estimated_input);
        let output = Some(usage.output.unwrap_or_default() + self.estimated_output);
        Some(Usage { input, output, ..usage })
    }
}

impl std::ops::Add for Consumption {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            usage: self.usage.into_iter().chain(other.usage).reduce(|sum, usage| sum + usage),
            estimated_input: self.estimated_input + other.estimated_input,
            estimated_output: self.estimated_output + other.estimated_output,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Act {
        Sent,
        Unsent,
        Refused,
        Input(u64),
        Received(u64),
    }
    use Act::{Input, Received, Refused, Sent, Unsent};

    /// Checks requests, reported input, estimated input and estimated output, for requests of an expected size of 100.
    #[track_caller]
    fn check(acts: &[Act], expected: (u32, Option<u64>, u64, u64)) {
        let meter = SpendMeter::expecting(TokenCount(100));
        for act in acts {
            match *act {
                Sent => meter.sent(),
                Unsent => meter.unsent(),
                Refused => meter.refused(),
                Input(tokens) => {
                    meter.reported(Usage { input: Some(TokenCount(tokens)), ..Usage::default() });
                }
                Received(bytes) => meter.received(bytes),
            }
        }
        let Consumption { requests, usage, estimated_input, estimated_output } = meter.total();
        let input = usage.and_then(|usage| usage.input).map(|tokens| tokens.0);
        assert_eq!((requests, input, estimated_input.0, estimated_output.0), expected);
    }

    #[test]
    fn every_request_that_was_sent_counts() {
        check(&[], (0, None, 0, 0));
        check(&[Sent], (1, None, 100, 0));
        check(&[Sent, Sent, Sent], (3, None, 300, 0));
        check(&[Sent, Unsent], (0, None, 0, 0));
        check(&[Sent, Unsent, Sent], (1, None, 100, 0));
        check(&[Sent, Refused, Sent], (2, None, 100, 0));
    }

    #[test]
    fn reports_stand_in_the_place_of_estimates() {
        check(&[Sent, Input(7)], (1, Some(7), 0, 0));
        check(&[Sent, Input(7), Input(9)], (1, Some(9), 0, 0));
        check(&[Sent, Input(7), Sent, Input(9)], (2, Some(16), 0, 0));
        check(&[Sent, Sent, Input(9), Received(5)], (2, Some(9), 100, 2));
    }

    #[test]
    fn calls_share_a_meter_one_after_the_other() {
        let meter = SpendMeter::default();
        meter.for_call(TokenCount(10)).sent();
        meter.for_call(TokenCount(1)).sent();
        let consumed = meter.total();
        assert_eq!((consumed.requests, consumed.input()), (2, TokenCount(11)));
        assert_eq!(consumed.usage_with_estimates().and_then(|usage| usage.input), Some(TokenCount(11)));
    }
}
