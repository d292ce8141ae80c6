//! Values that several commands read from their arguments.

use clap::ValueEnum;
use longhaul_compaction::{Threshold, parse_token_count};
use longhaul_conversation::TokenCount;

/// The writer of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Summariser {
    /// Longhaul itself: no key, no network, the same result every time.
    Offline,
    /// A model.
    Model,
}

/// Reads a part of a whole, such as 0.3 or 30%.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match Threshold::parse(text) {
        Ok(Threshold::Share(share)) => Ok(share),
        // What would be one token elsewhere can only be the whole here.
        _ if text.trim() == "1" => Ok(1.0),
        _ => Err("expected a share above 0 and up to 1, such as 0.3 or 30%".into()),
    }
}

/// Reads a number of tokens of at least 1; k stands for a thousand and m for a million.
pub(crate) fn parse_tokens(text: &str) -> Result<TokenCount, String> {
    let tokens = parse_token_count(text).filter(|tokens| *tokens > TokenCount::ZERO);
    tokens.ok_or_else(|| {
        "expected a whole number of tokens of at least 1, such as 8000, 200k or 1m".to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_point_or_a_sign() {
        assert_eq!(
            ["0.3", "30%", "1.0", "1"].map(|text| parse_share(text).ok()),
            [Some(0.3), Some(0.3), Some(1.0), Some(1.0)]
        );
        for wrong in ["", "3", "0.0", "1.5", "200k", "off", "NaN"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }

    #[track_caller]
    fn check_tokens(text: &str, expected: Option<u64>) {
        assert_eq!(parse_tokens(text).ok().map(|tokens| tokens.0), expected, "{text}");
    }

    #[test]
    fn token_numbers_may_be_short() {
        check_tokens("8000", Some(8_000));
        check_tokens("200k", Some(200_000));
        check_tokens("1M", Some(1_000_000));
        check_tokens("1.5k", Some(1_500));
        check_tokens("1_048_576", Some(1_048_576));
        for wrong in ["", "k", "-5", "0", "0.5", "1e400", "many", "NaN", "١٢"] {
            check_tokens(wrong, None);
        }
    }
}
