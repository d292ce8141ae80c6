//! Removes colours from outputs.

use std::borrow::Cow;

/// The text without colours.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    let Some(mut next) = text.find(ESCAPE) else { return Cow::Borrowed(text) };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        plain.push_str(&rest[..next]);
        rest = without_escape(&rest[next + 1..]);
        match rest.find(ESCAPE) {
            Some(found) => next = found,
            None => break,
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The text behind the escape sequence whose first byte stands before `text`; it ends with its line at the latest.
fn without_escape(text: &str) -> &str {
    if text.starts_with('[') {
        let last = text.bytes().position(|byte| byte == b'\n' || byte.is_ascii_alphabetic());
        let rest = &text[last.unwrap_or(text.len())..];
        rest.strip_prefix(|c: char| c != '\n').unwrap_or(rest)
    } else {
        text.strip_prefix(|c: char| c != '\n').unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_plain(text: &str, expected: &str) {
        assert_eq!(plain(text), expected, "{text:?}");
    }

    #[test]
    fn colours_are_taken_off() {
        check_plain("no colours", "no colours");
        check_plain("\u{1b}[1;31mred\u{1b}[0m and \u{1b}[Kplain\u{1b}", "red and plain");
        check_plain("\u{1b}[31\nred", "\nred");
        check_plain("\u{1b}\nred\u{1b}é\u{1b}[é", "\nred");
    }

    proptest::proptest! {
        #[test]
        fn colours_end_with_their_line(text in "[a0\\[\u{1b}\r\n é]{0,20}") {
            let plain_text = plain(&text);
            let whole: Vec<_> = plain_text.split('\n').map(str::trim_end).collect();
            let by_line: Vec<_> = text.split('\n').map(|line| plain(line.trim_end()).trim_end().to_string()).collect();
            proptest::prop_assert_eq!(whole, by_line);
        }
    }
}
