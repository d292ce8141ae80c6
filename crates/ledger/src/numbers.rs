//! Picks numbers out of lines by the words beside them.

/// Whether a number stands first, spaces before it.
pub(super) fn starts_with_number(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// The number at the start.
pub(super) fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// What stands behind the number at the start.
pub(super) fn after_number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let rest = &text[end..];
    if rest.starts_with('%') { Some(rest) } else { rest.strip_prefix(' ') }
}

/// The number directly before `words`.
pub(super) fn number_before(text: &str, words: &str) -> Option<u32> {
    let before = &text[..text.find(words)?];
    let start = before
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    before[start..].parse().ok()
}

/// The number behind `words`, spaces between.
pub(super) fn number_after(text: &str, words: &str) -> Option<u32> {
    leading_number(text[text.find(words)? + words.len()..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_beside_words() {
        assert_eq!(number_before("3 failed, 20 passed", " passed"), Some(20));
        assert_eq!(number_before("é3 failed", " failed"), Some(3));
        assert_eq!(number_before("all passed", " passed"), None);
        assert_eq!(number_after("Failed:   1, Passed: 9", "Passed:"), Some(9));
        assert_eq!(number_after("errors=", "errors="), None);
        assert_eq!(after_number("90% tests passed"), Some("% tests passed"));
        assert_eq!(after_number("4 passing"), Some("passing"));
        assert_eq!(after_number("4passing"), None);
        assert_eq!(leading_number("99999999999"), None);
        assert!(starts_with_number("  1 failed") && !starts_with_number("x1"));
    }
}
