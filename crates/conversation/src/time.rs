//! Timestamps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment, to the millisecond, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

const DAY: i64 = 86_400_000;

impl Timestamp {
    /// From milliseconds since 1970.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From a number of seconds, milliseconds, microseconds or nanoseconds since 1970, distinguished by its size.
    pub fn from_number(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        let millis = match number.abs() {
            n if n < 1e11 => number * 1e3,
            n if n < 1e14 => number,
            n if n < 1e17 => number / 1e3,
            n if n < 1e20 => number / 1e6,
            _ => return None,
        };
        Some(Self(millis.round() as i64))
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses `2026-02-06T15:04:05.678Z` and variants: a space for the `T`, an offset such as `+02:00`, no zone (taken
    /// as UTC), any number of decimals, no seconds, or a date alone.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut fields = TimeParser { rest: text.as_bytes() };
        let year = fields.number(4)?;
        fields.expect(b"-")?;
        let month = fields.number(2)?;
        fields.expect(b"-")?;
        let day = fields.number(2)?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let mut millis = days_from_civil(year, month, day) * DAY;
        if fields.rest.is_empty() {
            return Some(Self(millis));
        }
        fields.expect(b"Tt ")?;
        let hour = fields.number(2)?;
        fields.expect(b":-")?;
        let minute = fields.number(2)?;
        let second = if fields.expect(b":").is_some() { fields.number(2)? } else { 0 };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        millis += (hour * 3600 + minute * 60 + second) * 1000;
        if fields.expect(b".,").is_some() {
            millis += fields.decimals()?;
        }
        millis -= fields.offset()?;
        Some(Self(millis))
    }

    /// The date and time of day: year, month, day, hour, minute, second, millisecond.
    fn civil(self) -> (i64, i64, i64, i64, i64, i64, i64) {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY));
        let in_day = self.0.rem_euclid(DAY);
        let seconds = in_day / 1000;
        (year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, in_day % 1000)
    }

    /// Formats as `2026-02-06 15:04`, for people.
    pub fn to_minute(self) -> String {
        let (year, month, day, hour, minute, ..) = self.civil();
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// Formats as `2026-02-06T15:04:05.678Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second, millis) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

struct TimeParser<'a> {
    rest: &'a [u8],
}

impl TimeParser<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        number
            .iter()
            .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    }

    fn expect(&mut self, any_of: &[u8]) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        any_of.contains(first).then(|| self.rest = rest)
    }

    /// Decimals of a second as milliseconds; further digits are truncated.
    fn decimals(&mut self) -> Option<i64> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let mut millis = 0;
        for place in 0..3 {
            let digit = if place < count { i64::from(self.rest[place] - b'0') } else { 0 };
            millis = millis * 10 + digit;
        }
        self.rest = &self.rest[count..];
        Some(millis)
    }

    fn offset(&mut self) -> Option<i64> {
        let sign = match self.rest {
            [] | [b'Z' | b'z'] => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let hours = self.number(2)?;
        self.expect(b":");
        let minutes = if self.rest.is_empty() { 0 } else { self.number(2)? };
        (self.rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
    }
}

/// The days since 1970 of a date in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_parse(text: &str, expected: Option<&str>) {
        assert_eq!(Timestamp::parse(text).map(|time| time.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_forms_that_sessions_use_are_read() {
        check_parse("2026-02-06T15:04:05.678Z", Some("2026-02-06T15:04:05.678Z"));
        check_parse("2025-01-20T20:29:13.519638", Some("2025-01-20T20:29:13.519Z"));
        check_parse("2024-02-29 23:59:60", Some("2024-03-01T00:00:00.000Z"));
        check_parse("2026-02-06T15:04:05+02:00", Some("2026-02-06T13:04:05.000Z"));
        check_parse("2026-02-06T15:04:05-0530", Some("2026-02-06T20:34:05.000Z"));
        check_parse("2026-02-06", Some("2026-02-06T00:00:00.000Z"));
        check_parse("1969-12-31T23:59:59.999Z", Some("1969-12-31T23:59:59.999Z"));
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for text in
            ["", "yesterday", "2026", "2026-13-01", "2026-02-06T25:00", "2026-02-06T15:04:05.Z", "２０２６"]
        {
            check_parse(text, None);
        }
    }

    #[test]
    fn numbers_are_read_by_their_size() {
        let expected = Timestamp::from_millis(1_757_015_046_707);
        for number in [1_757_015_046.707, 1_757_015_046_707.0, 1_757_015_046_707_000.0] {
            assert_eq!(Timestamp::from_number(number), Some(expected));
        }
        assert_eq!(Timestamp::from_number(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn written_times_are_read_back(millis in -62_000_000_000_000i64..253_000_000_000_000) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }
}
