//! The names under which sessions are shown.

use super::list::ListedSession;

/// The most characters of a request that name its session.
const LONGEST: usize = 80;

impl ListedSession {
    /// The title that people see: the summary, else how the first request of the user begins, without control characters;
    /// else `Empty conversation`.
    pub fn display_name(&self) -> String {
        display_name(self.metadata.summary.as_deref(), self.metadata.first_user_message.as_deref())
    }
}

/// The title of a session that begins with this request.
///
/// ```
/// assert_eq!(longhaul_sessions::title_from("  Fix\n the build "), "Fix the build");
/// ```
pub fn title_from(request: &str) -> String {
    shorten(collapse(request, |letter| !is_control(letter)))
}

fn display_name(summary: Option<&str>, first_message: Option<&str>) -> String {
    let is_given = |name: &String| !name.is_empty();
    let summary = summary.map(|summary| collapse(summary, |letter| !is_control(letter)));
    let message = || first_message.map(title_from);
    summary
        .filter(is_given)
        .or_else(|| message().filter(is_given))
        .unwrap_or_else(|| "Empty conversation".to_owned())
}

/// A line of at most [`LONGEST`] characters, cut off between two words where there are some.
fn shorten(line: String) -> String {
    let Some((cut, _)) = line.char_indices().nth(LONGEST) else { return line };
    let whole = line[..cut].rfind(' ').filter(|end| *end > cut / 2).unwrap_or(cut);
    format!("{}…", &line[..whole])
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

/// True if a terminal would obey the character instead of showing it, or show other text out of order.
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
        check(None, Some("naïve café ✓ done"), "naïve café ✓ done");
        check(None, Some("日本語"), "日本語");
        check(None, Some("a\u{1b}[2J\u{202e}b"), "a[2Jb");
        check(None, Some(""), "Empty conversation");
        check(None, None, "Empty conversation");
    }

    #[test]
    fn long_messages_are_cut_off_between_words() {
        let words = "word ".repeat(30);
        check(None, Some(&words), &format!("{}…", "word ".repeat(16).trim_end()));
        check(None, Some(&"漢".repeat(90)), &format!("{}…", "漢".repeat(80)));
        check(None, Some(&"x".repeat(80)), &"x".repeat(80));
    }
}
