//! Time words in queries: *yesterday*, *last week*, *3 days ago*, *in August*, *2026-08-04*.
//!
//! They prefer what was said then; they exclude nothing. Days are those of UTC.

use longhaul_conversation::Timestamp;

const DAY: i64 = 86_400_000;

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first moment in it.
    pub start: Timestamp,
    /// The first moment after it.
    pub end: Timestamp,
}

impl TimeRange {
    /// True if a moment is in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }

    fn days(first: i64, count: i64) -> Self {
        Self {
            start: Timestamp::from_millis(first * DAY),
            end: Timestamp::from_millis((first + count) * DAY),
        }
    }
}

/// The time that lowercase words name, with the words that name nothing else.
pub(crate) fn find_time(words: &[&str], now: Timestamp) -> Option<(TimeRange, Vec<usize>)> {
    let today = now.as_millis().div_euclid(DAY);
    (0..words.len()).find_map(|at| {
        let (range, length) = time_at(&words[at..], today)?;
        Some((range, (at..at + length).collect()))
    })
}

/// The time that starts at the first word, and the words it takes from the query.
fn time_at(words: &[&str], today: i64) -> Option<(TimeRange, usize)> {
    let second = words.get(1).copied().unwrap_or_default();
    // The Monday of this week; day 0 was a Thursday.
    let monday = today - (today + 3).rem_euclid(7);
    let (year, month, _) = date_of(today);
    let month_range = |year: i64, month: i64| {
        let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
        let next = if month == 12 { day_of(year + 1, 1, 1) } else { day_of(year, month + 1, 1) };
        let first = day_of(year, month, 1);
        TimeRange::days(first, next - first)
    };
    let found = match (words[0], second) {
        ("today", _) => (TimeRange::days(today, 1), 1),
        ("yesterday", _) => (TimeRange::days(today - 1, 1), 1),
        ("last" | "previous", "week") => (TimeRange::days(monday - 7, 7), 2),
        ("this", "week") => (TimeRange::days(monday, 7), 2),
        ("last" | "previous", "month") => (month_range(year, month - 1), 2),
        ("this", "month") => (month_range(year, month), 2),
        ("last" | "previous", "year") => {
            (TimeRange::days(day_of(year - 1, 1, 1), day_of(year, 1, 1) - day_of(year - 1, 1, 1)), 2)
        }
        (count, unit) if words.get(2) == Some(&"ago") => {
            let count: i64 =
                if count == "a" { 1 } else { count.parse().ok().filter(|count| *count < 5_000)? };
            match unit {
                "day" | "days" => (TimeRange::days(today - count, 1), 3),
                "week" | "weeks" => (TimeRange::days(monday - 7 * count, 7), 3),
                "month" | "months" => (month_range(year, month - count), 3),
                _ => return None,
            }
        }
        // Dates may stand in the text, too, and stay words of the query.
        (in_, name) if in_ == "in" || in_ == "since" => {
            let number = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
            let named =
                words.get(2).and_then(|year| year.parse().ok()).filter(|year| (1970..2200).contains(year));
            (month_range(named.unwrap_or(if number > month { year - 1 } else { year }), number), 0)
        }
        (date, _) => {
            let day = parse_date(date)?;
            (TimeRange::days(day, 1), 0)
        }
    };
    Some(found)
}

fn parse_date(text: &str) -> Option<i64> {
    let is_date = text.len() == 10 && text.bytes().filter(|byte| *byte == b'-').count() == 2;
    let at = is_date.then(|| Timestamp::parse(&format!("{text}T00:00:00Z"))).flatten()?;
    Some(at.as_millis().div_euclid(DAY))
}

/// The number of a day since 1970.
fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day of a day since 1970.
fn date_of(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the range of a query asked on Wednesday, the 18th of November 2026.
    #[track_caller]
    fn check(query: &str, expected: Option<(&str, &str)>) {
        let now = Timestamp::parse("2026-11-18T20:00:00Z").expect("a time");
        let words: Vec<&str> = query.split(' ').collect();
        let found = find_time(&words, now)
            .map(|(range, _)| [range.start, range.end].map(|at| at.to_minute()[..10].to_owned()));
        let expected = expected.map(|(start, end)| [start.to_owned(), end.to_owned()]);
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn time_words_name_ranges() {
        check("which port yesterday", Some(("2026-11-17", "2026-11-18")));
        check("the crash last week", Some(("2026-11-09", "2026-11-16")));
        check("this week", Some(("2026-11-16", "2026-11-23")));
        check("last month", Some(("2026-10-01", "2026-11-01")));
        check("last year", Some(("2025-01-01", "2026-01-01")));
        check("3 days ago", Some(("2026-11-15", "2026-11-16")));
        check("a week ago", Some(("2026-11-09", "2026-11-16")));
        check("11 months ago", Some(("2025-12-01", "2026-01-01")));
        check("in august", Some(("2026-08-01", "2026-09-01")));
        check("in december", Some(("2025-12-01", "2026-01-01")));
        check("in may 2023", Some(("2023-05-01", "2023-06-01")));
        check("on 2026-08-04 we", Some(("2026-08-04", "2026-08-05")));
        check("last commit", None);
        check("may fail", None);
        check("99999999999999999999 days ago", None);
    }

    proptest! {
        #[test]
        fn days_have_one_date(day in -700_000_i64..700_000) {
            let (year, month, of_month) = date_of(day);
            prop_assert_eq!(day_of(year, month, of_month), day);
        }
    }
}
