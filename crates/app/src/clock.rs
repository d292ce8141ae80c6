//! The clock, for what is recorded.

use std::time::{SystemTime, UNIX_EPOCH};

use longhaul_conversation::Timestamp;

/// The time now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs() {
        assert!(now() > Timestamp::parse("2024-01-01T00:00:00Z").expect("a time"));
    }
}
