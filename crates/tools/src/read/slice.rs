//! Line ranges of a text.

use std::borrow::Cow;

/// The most lines shown, unless a range has an end.
pub(crate) const MAX_LINES: usize = 2000;

/// The most characters of a line shown.
pub(crate) const MAX_LINE_CHARACTERS: usize = 2000;

/// The end of a truncated line.
const SHORTENED: &str = "... [truncated]";

/// A range of lines, starting at 1. A range with an end may be longer than 2000 lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRange {
    /// The first line; none for the start of the file.
    pub start: Option<usize>,
    /// The last line; none for the line limit.
    pub end: Option<usize>,
}

/// Lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The lines, separated by line feeds.
    pub text: String,
    /// The number of the first line; larger than `last` if there is none.
    pub first: usize,
    /// The number of the last line.
    pub last: usize,
    /// The number of lines of the whole text. Text after the last line feed counts as a line even if it is empty.
    pub total: usize,
    /// True if a line was truncated.
    pub is_shortened: bool,
}

/// The lines of a range, each within [`MAX_LINE_CHARACTERS`].
pub(crate) fn slice_lines(text: &str, range: ReadRange) -> Slice {
    let total = text.split('\n').count();
    let from = range.start.unwrap_or(1).saturating_sub(1).min(total);
    let to = range.end.unwrap_or(from.saturating_add(MAX_LINES)).clamp(from, total);
    let mut is_shortened = false;
    let mut shown = String::new();
    for (index, line) in text.split('\n').skip(from).take(to - from).enumerate() {
        if index > 0 {
            shown.push('\n');
        }
        let line = shorten(line.strip_suffix('\r').unwrap_or(line));
        is_shortened |= matches!(line, Cow::Owned(_));
        shown.push_str(&line);
    }
    Slice { text: shown, first: from + 1, last: to, total, is_shortened }
}

fn shorten(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(MAX_LINE_CHARACTERS) {
        Some((end, _)) => format!("{}{SHORTENED}", &line[..end]).into(),
        None => line.into(),
    }
}

impl Slice {
    /// The text for the model: the notice, if there is one, and the lines.
    pub fn to_text(&self) -> String {
        match self.notice() {
            Some(notice) => format!("{notice}\n---\n{}", self.text),
            None => self.text.clone(),
        }
    }

    /// As many of these lines as fit into `most` characters, at least the beginning of the first; `None` if all do.
    pub fn within(&self, most: usize) -> Option<Self> {
        let mut left = most;
        let mut end = 0;
        let mut lines = 0;
        for line in self.text.split_inclusive('\n') {
            let Some(rest) = left.checked_sub(line.chars().count()) else {
                return Some(self.cut_at(end, lines, most));
            };
            (left, end, lines) = (rest, end + line.len(), lines + 1);
        }
        None
    }

    fn cut_at(&self, end: usize, lines: usize, most: usize) -> Self {
        if lines > 0 {
            let text = self.text[..end].trim_end_matches('\n').to_string();
            return Self { text, last: self.first + lines - 1, ..*self };
        }
        let first = self.text.split('\n').next().unwrap_or_default();
        let start: String = first.chars().take(most).collect();
        Self { text: format!("{start}{SHORTENED}"), last: self.first, is_shortened: true, ..*self }
    }

    /// A note for the model on the shown part and how to read on; none if all is shown.
    pub fn notice(&self) -> Option<String> {
        let Self { first, last, total, .. } = *self;
        let mut sentences = Vec::new();
        if first > 1 || last < total {
            sentences.push(format!("Shown are lines {first} to {last} of {total}."));
        }
        if last < total {
            sentences.push(format!("To read on, use start_line {}.", last + 1));
        }
        if self.is_shortened {
            sentences.push(format!(
                "Lines of more than {MAX_LINE_CHARACTERS} characters are cut and end in {SHORTENED:?}."
            ));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// A short description of the shown part, for the user.
    pub fn summary(&self) -> String {
        let Self { first, last, total, .. } = *self;
        let lines = match (first, last) {
            (1, last) if last == total => format!("{total} {}", if total == 1 { "line" } else { "lines" }),
            _ => format!("lines {first} to {last} of {total}"),
        };
        match self.is_shortened {
            true => format!("{lines}, some shortened"),
            false => lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|line| line.to_string()).collect::<Vec<_>>().join("\n")
    }

    /// Checks the first and the last line shown, and whether something is missing.
    #[track_caller]
    fn check(
        lines: usize,
        (start, end): (Option<usize>, Option<usize>),
        shown: (usize, usize),
        is_truncated: bool,
    ) {
        let slice = slice_lines(&numbered(lines), ReadRange { start, end });
        assert_eq!((slice.first, slice.last, slice.total), (shown.0, shown.1, lines));
        assert_eq!(slice.notice().is_some(), is_truncated);
        let expected: Vec<String> = (shown.0..=shown.1).map(|line| line.to_string()).collect();
        assert_eq!(slice.text, expected.join("\n"));
    }

    #[test]
    fn ranges_are_inclusive_and_count_from_one() {
        check(20, (Some(6), Some(10)), (6, 10), true);
        check(20, (None, None), (1, 20), false);
        check(20, (Some(1), Some(500)), (1, 20), false);
        check(20, (Some(11), None), (11, 20), true);
        check(20, (None, Some(5)), (1, 5), true);
        check(20, (Some(30), None), (21, 20), true);
        check(20, (Some(30), Some(40)), (21, 20), true);
        check(20, (Some(usize::MAX), Some(usize::MAX)), (21, 20), true);
        check(2500, (None, None), (1, 2000), true);
        check(2500, (Some(2), None), (2, 2001), true);
        check(2500, (Some(1), Some(2400)), (1, 2400), true);
        check(2500, (Some(501), None), (501, 2500), true);
    }

    #[track_caller]
    fn check_text(text: &str, expected: &str, total: usize) {
        let slice = slice_lines(text, ReadRange::default());
        assert_eq!((slice.text.as_str(), slice.total), (expected, total));
    }

    #[test]
    fn lines_end_in_line_feeds_and_a_last_one_may_be_empty() {
        check_text("", "", 1);
        check_text("a\r\nb\r\n", "a\nb\n", 3);
        check_text("a\nb", "a\nb", 2);
        check_text("a\rb", "a\rb", 1);
    }

    #[test]
    fn long_lines_are_shortened_by_characters() {
        let exact = "é".repeat(2000);
        check_text(&exact, &exact, 1);
        let long = format!("{exact}x\nshort");
        let slice = slice_lines(&long, ReadRange::default());
        assert_eq!(slice.text, format!("{exact}... [truncated]\nshort"));
        assert!(slice.notice().is_some() && slice.is_shortened);
        assert_eq!(slice.summary(), "2 lines, some shortened");
    }

    #[track_caller]
    fn check_within(text: &str, most: usize, expected: Option<(&str, usize)>) {
        let shorter = slice_lines(text, ReadRange::default()).within(most);
        assert_eq!(shorter.as_ref().map(|slice| (slice.text.as_str(), slice.last)), expected);
    }

    #[test]
    fn fewer_lines_end_at_a_line_and_say_how_to_go_on() {
        check_within("one\ntwo\nthree", 13, None);
        check_within("one\ntwo\nthree", 12, Some(("one\ntwo", 2)));
        check_within("one\ntwo\nthree", 4, Some(("one", 1)));
        check_within("ünnütz\ntwo", 3, Some(("ünn... [truncated]", 1)));
        let slice = slice_lines("one\ntwo\nthree", ReadRange { start: Some(2), end: None });
        let shorter = slice.within(4).expect("two lines are too many");
        assert_eq!(shorter.to_text(), "Shown are lines 2 to 2 of 3. To read on, use start_line 3.\n---\ntwo");
    }

    #[track_caller]
    fn check_notice(text: &str, start: Option<usize>, end: Option<usize>, expected: Option<&str>) {
        assert_eq!(slice_lines(text, ReadRange { start, end }).notice().as_deref(), expected);
    }

    #[test]
    fn the_notice_says_how_to_go_on() {
        let text = numbered(20);
        check_notice(&text, None, None, None);
        let going_on = "Shown are lines 6 to 10 of 20. To read on, use start_line 11.";
        check_notice(&text, Some(6), Some(10), Some(going_on));
        check_notice(&text, Some(6), None, Some("Shown are lines 6 to 20 of 20."));
        let cut = "Lines of more than 2000 characters are cut and end in \"... [truncated]\".";
        check_notice(&"x".repeat(2500), None, None, Some(cut));
        let both = format!("{}\n", "x".repeat(2500)).repeat(2500);
        let all = format!("Shown are lines 1 to 2000 of 2501. To read on, use start_line 2001. {cut}");
        check_notice(&both, None, None, Some(&all));
    }
}
