//! Picks numbers out of lines by the words beside them.

/// The digits at the start.
pub(super) fn leading_digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}

/// The number at the start.
pub(super) fn leading_number(text: &str) -> Option<u32> {
    leading_digits(text).parse().ok()
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
        assert_eq!(leading_number("99999999999"), None);
        assert_eq!(leading_digits("12ab"), "12");
    }
}
