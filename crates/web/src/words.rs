//! Numbers and times in few words.

use longhaul_conversation::Timestamp;

const MINUTE: i64 = 60_000;

/// The age of something, as short as it can be told.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let minutes = (now.as_millis() - then.as_millis()).max(0) / MINUTE;
    match minutes {
        0 => "just now".into(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..86_400 => format!("{} d ago", minutes / 1440),
        _ => then.to_minute()[..10].to_string(),
    }
}

/// A number of tokens in three digits: 950, 12.3k, 1.02M.
pub(crate) fn short(count: u64) -> String {
    let scaled = |by: f64, unit: &str| {
        let value = count as f64 / by;
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        format!("{value:.digits$}{unit}")
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => scaled(1e3, "k"),
        _ => scaled(1e6, "M"),
    }
}

/// A share as `64%`; what is not quite nothing is `<1%`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => "<1%".into(),
        percent => format!("{percent:.0}%"),
    }
}

/// The first line of a text, at most so many characters.
pub(crate) fn first_line(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(line, most)
}

/// At most so many characters of a text; `…` stands for the rest.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_numbers_are_short() {
        let minutes = |count: i64| ago(Timestamp::from_millis(0), Timestamp::from_millis(count * MINUTE));
        assert_eq!([0, 5, 61, 3_000].map(minutes), ["just now", "5 min ago", "1 h ago", "2 d ago"]);
        assert_eq!(minutes(90_000), "1970-01-01");
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 999_499, 999_999, 1_024_000].map(short),
            ["0", "999", "1.00k", "12.3k", "123k", "999k", "1.00M", "1.02M"]
        );
        assert_eq!([0.0, 0.004, 0.5, 1.2].map(percent), ["0%", "<1%", "50%", "120%"]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(first_line("\n  héllo wörld \nnext", 5), "héllo…");
        assert_eq!(first_line("", 5), "");
        assert_eq!(cut("short", 5), "short");
    }
}
