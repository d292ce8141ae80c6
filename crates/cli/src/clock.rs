//! The time, for what is recorded and for ages. Only the program itself asks for it.

use std::time::{SystemTime, UNIX_EPOCH};

use longhaul_conversation::Timestamp;

/// The time now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// How long ago something was, in a few words.
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
    fn ages_are_rounded_down() {
        let ago =
            |minutes: i64| ago(Timestamp::from_millis(0), Timestamp::from_millis(minutes * 60_000 + 59_000));
        assert_eq!(
            [0, 1, 59, 60, 1_439, 2_880].map(ago),
            ["just now", "1 minute ago", "59 minutes ago", "1 hour ago", "23 hours ago", "2 days ago"]
        );
        assert_eq!(super::ago(Timestamp::from_millis(9), Timestamp::from_millis(0)), "just now");
        assert!(now() > Timestamp::parse("2024-01-01T00:00:00Z").expect("a time"));
    }
}
