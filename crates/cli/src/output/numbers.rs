//! Numbers as people read them.

use longhaul_conversation::Timestamp;

/// A share as `64 %`; what is not quite nothing is `<1 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 {
        "<1 %".into()
    } else if (99.5..100.0).contains(&percent) {
        ">99 %".into()
    } else {
        format!("{percent:.0} %")
    }
}

/// A stretch of time: from when to when, and how long that is.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    let (start, end) = (from.to_minute(), to.to_minute());
    let minutes = (to.as_millis() - from.as_millis()).max(0) / 60_000;
    let long = match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => "<1 min".to_string(),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    };
    if start == end {
        return start;
    }
    let end = if start[..10] == end[..10] { &end[11..] } else { &end[..] };
    format!("{start} – {end} ({long})")
}

/// The age of something, in a few words.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let minutes = (now.as_millis() - then.as_millis()).max(0) / 60_000;
    let of = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match minutes {
        0 => "just now".into(),
        1..60 => of(minutes, "minute"),
        60..1440 => of(minutes / 60, "hour"),
        _ => of(minutes / 1440, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0.0, 0.004, 0.5, 0.994, 0.996, 1.0, 6.19].map(percent),
            ["0 %", "<1 %", "50 %", "99 %", ">99 %", "100 %", "619 %"]
        );
    }

    #[test]
    fn spans_say_how_long() {
        let at = |text: &str| Timestamp::parse(text).expect("a time");
        assert_eq!(span(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:09Z")), "2026-01-02 03:04");
        assert_eq!(
            span(at("2026-01-02T03:04:50Z"), at("2026-01-02T03:05:10Z")),
            "2026-01-02 03:04 – 03:05 (<1 min)"
        );
        assert_eq!(
            span(at("2026-01-02T03:04:00Z"), at("2026-01-02T05:10:00Z")),
            "2026-01-02 03:04 – 05:10 (2 h 6 min)"
        );
        assert_eq!(
            span(at("2026-01-02T03:00:00Z"), at("2026-01-04T05:00:00Z")),
            "2026-01-02 03:00 – 2026-01-04 05:00 (2 d 2 h)"
        );
    }

    #[test]
    fn ages_are_rounded_down() {
        let ago =
            |minutes: i64| ago(Timestamp::from_millis(0), Timestamp::from_millis(minutes * 60_000 + 59_000));
        assert_eq!(
            [0, 1, 59, 60, 1_439, 2_880].map(ago),
            ["just now", "1 minute ago", "59 minutes ago", "1 hour ago", "23 hours ago", "2 days ago"]
        );
        assert_eq!(super::ago(Timestamp::from_millis(9), Timestamp::from_millis(0)), "just now");
    }
}
