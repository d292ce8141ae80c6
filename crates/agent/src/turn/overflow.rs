//! The guard before a request: what is about to be sent must fit beside what is there already.

use longhaul_compaction::Fixed;
use longhaul_conversation::TokenCount;

use crate::Overflow;

/// The share of what is left that a new message may take: estimates may be a little too low.
pub(crate) const MARGIN: f64 = 0.95;

/// The overflow that a message of `request` tokens would be beside `used` others in this window, if it would be one.
pub(crate) fn find_overflow(request: TokenCount, used: TokenCount, window: TokenCount) -> Option<Overflow> {
    let remaining = window - used;
    // What is used may be too much by itself, however short the message.
    let is_over = used > window || request.0 as f64 > remaining.0 as f64 * MARGIN;
    is_over.then_some(Overflow { request, remaining, window, fixed: Fixed::default() })
}

/// The window that a request has to fit in so that the guard lets it pass, however it is divided.
pub(crate) fn within_margin(window: TokenCount) -> TokenCount {
    TokenCount((window.0 as f64 * MARGIN) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: u64, used: u64, window: u64, remaining: Option<u64>) {
        let found = find_overflow(TokenCount(request), TokenCount(used), TokenCount(window));
        assert_eq!(found.map(|overflow| overflow.remaining.0), remaining);
    }

    #[test]
    fn a_message_may_take_nearly_all_that_is_left() {
        check(95, 900, 1_000, None);
        check(96, 900, 1_000, Some(100));
        check(101, 900, 1_000, Some(100));
        check(0, 1_000, 1_000, None);
        check(0, 1_001, 1_000, Some(0));
        check(1, 1_200, 1_000, Some(0));
    }

    #[test]
    fn what_fits_in_the_margin_passes_however_it_is_divided() {
        let window = TokenCount(1_000);
        let most = within_margin(window);
        for used in 0..=most.0 {
            let used = TokenCount(used);
            assert_eq!(find_overflow(most - used, used, window), None, "{used}");
        }
    }
}
