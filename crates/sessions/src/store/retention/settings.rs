//! The settings `general.sessionRetention`.

use std::time::Duration;

const DEFAULT_MAX_AGE: &str = "30d";
const DEFAULT_MIN_RETENTION: &str = "1d";
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// The configuration under `general.sessionRetention`. Missing keys have the values of
/// [`RetentionConfig::default`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionConfig {
    /// True if old sessions are deleted.
    pub enabled: bool,
    /// The age from which a session is deleted, such as `30d`.
    pub max_age: Option<String>,
    /// The number of sessions to keep.
    pub max_count: Option<i64>,
    /// The shortest age that may be given as the limit, such as `1d`.
    pub min_retention: Option<String>,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            max_age: Some(DEFAULT_MAX_AGE.to_owned()),
            max_count: None,
            min_retention: Some(DEFAULT_MIN_RETENTION.to_owned()),
        }
    }
}

/// The sessions to delete, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retention {
    /// The user wants none deleted.
    Off,
    /// None is deleted, for the settings make no sense.
    Disabled {
        /// The warning for the user.
        warning: String,
    },
    /// Those beyond the limits are deleted.
    On(RetentionLimits),
}

/// Beyond what sessions are deleted. At least one limit is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// The age from which a session is deleted.
    pub max_age: Option<Duration>,
    /// The number of sessions to keep.
    pub max_count: Option<usize>,
}

impl RetentionConfig {
    /// The effective settings. Where they are invalid, nothing is deleted.
    pub fn check(&self) -> Retention {
        if !self.enabled {
            return Retention::Off;
        }
        match self.limits() {
            Ok(limits) => Retention::On(limits),
            Err(reason) => {
                Retention::Disabled { warning: format!("session retention is disabled: {reason}") }
            }
        }
    }

    fn limits(&self) -> Result<RetentionLimits, String> {
        let max_age = self.max_age.as_deref().map(|text| period("maxAge", text)).transpose()?;
        let min_retention = self.min_retention.as_deref().unwrap_or(DEFAULT_MIN_RETENTION);
        let least = period("minRetention", min_retention)?;
        let max_count = match self.max_count {
            None => None,
            Some(count) => match usize::try_from(count) {
                Ok(count @ 1..) => Some(count),
                _ => return Err(format!("maxCount is {count}, but must be at least 1")),
            },
        };
        match max_age {
            Some(age) if age < least => Err(format!(
                "maxAge ({}) is shorter than minRetention ({min_retention})",
                self.max_age.as_deref().unwrap_or_default()
            )),
            None if max_count.is_none() => Err("neither maxAge nor maxCount is set".to_owned()),
            _ => Ok(RetentionLimits { max_age, max_count }),
        }
    }
}

fn period(key: &str, text: &str) -> Result<Duration, String> {
    let fault =
        || format!("{key} is {text:?}, but must be a number followed by h, d, w or m, such as \"30d\"");
    parse_period(text).ok_or_else(fault)
}

/// Reads a span of time: a whole number above zero and `h`, `d`, `w` or `m`, a month having 30 days.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(longhaul_sessions::parse_period("12h"), Some(Duration::from_secs(12 * 3600)));
/// assert_eq!(longhaul_sessions::parse_period("0d"), None);
/// ```
pub fn parse_period(text: &str) -> Option<Duration> {
    let unit = match text.as_bytes().last()? {
        b'h' => HOUR,
        b'd' => DAY,
        b'w' => 7 * DAY,
        b'm' => 30 * DAY,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    // Milliseconds must fit into a time stamp.
    (1..=i64::MAX as u64 / 1000).contains(&seconds).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_period(text: &str, hours: Option<u64>) {
        assert_eq!(parse_period(text), hours.map(|hours| Duration::from_secs(hours * HOUR)), "{text:?}");
    }

    #[test]
    fn periods_are_numbers_with_a_unit() {
        check_period("30d", Some(720));
        check_period("12h", Some(12));
        check_period("2w", Some(336));
        check_period("1m", Some(720));
        check_period("007d", Some(168));
        for text in [
            "",
            "d",
            "0d",
            "00h",
            "30",
            "30 d",
            " 30d",
            "30D",
            "30days",
            "-1d",
            "+1d",
            "1.5d",
            "1y",
            "٣d",
            "1é",
            "99999999999999999999d",
            "9223372036854775807m",
        ] {
            check_period(text, None);
        }
    }

    /// Settings as `maxAge maxCount minRetention`, each `-` where it is not given.
    #[track_caller]
    fn check(settings: [&str; 3], expected: Result<(Option<u64>, Option<usize>), &str>) {
        let given = |text: &str| (text != "-").then(|| text.to_owned());
        let config = RetentionConfig {
            enabled: true,
            max_age: given(settings[0]),
            max_count: given(settings[1]).map(|count| count.parse().expect("a number")),
            min_retention: given(settings[2]),
        };
        match (config.check(), expected) {
            (Retention::On(limits), Ok((days, count))) => {
                let days = days.map(|days| Duration::from_secs(days * DAY));
                assert_eq!((limits.max_age, limits.max_count), (days, count));
            }
            (Retention::Disabled { warning }, Err(part)) => assert!(warning.contains(part), "{warning}"),
            (other, _) => panic!("{settings:?}: {other:?}"),
        }
    }

    #[test]
    fn good_settings_are_limits() {
        check(["30d", "-", "1d"], Ok((Some(30), None)));
        check(["30d", "50", "-"], Ok((Some(30), Some(50))));
        check(["-", "1", "1d"], Ok((None, Some(1))));
        check(["1d", "-", "1d"], Ok((Some(1), None)));
        check(["1d", "-", "24h"], Ok((Some(1), None)));
        let default = RetentionConfig::default().check();
        let month = Duration::from_secs(30 * DAY);
        assert_eq!(default, Retention::On(RetentionLimits { max_age: Some(month), max_count: None }));
    }

    #[test]
    fn bad_settings_disable_with_a_warning() {
        check(["12h", "-", "1d"], Err("maxAge (12h) is shorter than minRetention (1d)"));
        check(["12h", "-", "-"], Err("shorter than minRetention (1d)"));
        check(["-", "-", "1d"], Err("neither maxAge nor maxCount"));
        check(["0d", "-", "1d"], Err("maxAge is \"0d\""));
        check(["soon", "5", "1d"], Err("maxAge is \"soon\""));
        check(["30d", "-", "x"], Err("minRetention is \"x\""));
        check(["30d", "0", "1d"], Err("maxCount is 0"));
        check(["30d", "-3", "1d"], Err("maxCount is -3"));
    }

    #[test]
    fn a_user_may_keep_everything() {
        let config =
            RetentionConfig { enabled: false, max_age: Some("x".into()), ..RetentionConfig::default() };
        assert_eq!(config.check(), Retention::Off);
    }
}
