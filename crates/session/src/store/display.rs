//! The names under which sessions are shown.

use super::list::ListedSession;

impl ListedSession {
    /// What people see: the summary without control characters, else how the first message of the user begins, in
    /// printable ASCII, else `Empty conversation`.
    pub fn display_name(&self) -> String {
        display_name(self.metadata.summary.as_deref(), self.metadata.first_user_message.as_deref())
    }
}

fn display_name(summary: Option<&str>, first_message: Option<&str>) -> String {
    let summary = summary.map(|summary| collapse(summary, |letter| !is_control(letter)));
    let message = || first_message.map(|message| collapse(message, |letter| matches!(letter, ' '..='~')));
    let is_given = |name: &String| !name.is_empty();
    summary
        .filter(is_given)
        .or_else(|| message().filter(is_given))
        .unwrap_or_else(|| "Empty conversation".to_owned())
}

/// The text on one line, with only the letters that are `allowed`.
fn collapse(text: &str, allowed: impl Fn(char) -> bool) -> String {
    let mut name = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let before = name.len();
        name.extend(word.chars().filter(|letter| allowed(*letter)));
        if name.len() > before && before > 0 {
            name.insert(before, ' ');
        }
    }
    name
}

/// Whether a terminal would obey the character instead of showing it, or show other text out of order.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(summary: Option<&str>, message: Option<&str>, expected: &str) {
        assert_eq!(display_name(summary, message), expected);
    }

    #[test]
    fn the_summary_comes_first() {
        check(Some("Fix the build"), Some("hi"), "Fix the build");
        check(Some("A\u{1b}[31m red\u{7} title\n"), None, "A[31m red title");
        check(Some("Übersicht 日本"), None, "Übersicht 日本");
        check(Some("safe\u{202e}evil"), None, "safeevil");
        check(Some(" \u{7}\n"), Some("hi"), "hi");
    }

    #[test]
    fn then_the_first_message() {
        check(None, Some("  Fix\n\n the\t build  "), "Fix the build");
        check(None, Some("naïve café ✓ done"), "nave caf done");
        check(None, Some("日本語"), "Empty conversation");
        check(None, Some(""), "Empty conversation");
        check(None, None, "Empty conversation");
    }
}
