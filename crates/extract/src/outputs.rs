//! Reads outputs and long arguments line by line: to which file a line belongs, and whether it tells of something.

use std::borrow::Cow;
use std::sync::LazyLock;

use longhaul_text::AnyOf;

use super::changes::LINE_END;
use super::lines::{output_lines, strip_line_number};
use super::paths::{found_in_file, patched_file};
use super::statements::{
    count_words, is_balanced, is_boilerplate, is_listing_row, is_trouble, tells_of_trouble,
};

/// A line of an output, or several short ones joined.
pub(crate) struct OutputLine<'t> {
    pub(crate) text: &'t str,
    /// The file that it is from, if the output itself says so.
    pub(crate) file: Option<&'t str>,
    /// True if it tells of trouble or of a value and may be quoted.
    pub(crate) is_notice: bool,
}

/// An output of at most so many lines is short: what it says is said by a command, not shown from a file.
const SHORT: usize = 3;
/// Of one output no more notices than this are looked at.
const MOST_NOTICES: usize = 12;
/// Lines of these lengths may be quoted.
const NOTICE: std::ops::RangeInclusive<usize> = 16..=300;

/// Words for what is counted at the end of a run.
const COUNTED: [&str; 16] = [
    "passed",
    "failed",
    "failures",
    "failing",
    "passing",
    "skipped",
    "tests",
    "errors",
    "warnings",
    "examples",
    "assertions",
    "insertions",
    "deletions",
    "changed",
    "compiled",
    "built",
];
/// A line that sums up a run is no longer than this.
const SUMMARY: usize = 200;
/// A line that is trouble says so within so many bytes.
const TROUBLE_BEGINS: usize = 40;

/// Calls `found` with the lines of an output: notices by themselves, others joined until they say something.
pub(crate) fn each_output_line<'t>(text: &'t str, found: &mut impl FnMut(OutputLine<'_>)) {
    let is_short = text.lines().nth(SHORT).is_none();
    let mut notices = 0;
    let mut file: Option<&'t str> = None;
    // The lines since the last one that stood by itself are cut together.
    let mut from = 0;
    let mut at = 0;
    let flush = |from: usize, to: usize, file: Option<&str>, found: &mut dyn FnMut(OutputLine<'_>)| {
        output_lines(&text[from..to], &mut |text| found(OutputLine { text, file, is_notice: false }));
    };
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        if let Some(path) = patched_file(bare) {
            flush(from, start, file, found);
            (file, from) = (Some(path), start);
        } else if file.is_none()
            && let Some((path, rest)) = found_in_file(bare)
        {
            flush(from, start, file, found);
            output_lines(rest, &mut |text| found(OutputLine { text, file: Some(path), is_notice: false }));
            from = end;
        } else if file.is_none() && notices < MOST_NOTICES && is_notice(bare, is_short) {
            flush(from, start, file, found);
            found(OutputLine { text: bare, file: None, is_notice: true });
            notices += 1;
            from = end;
        }
    }
    flush(from, text.len(), file, found);
}

/// A text in JSON is looked at from so many bytes on, and up to so many.
const TEXT_IN_DATA: std::ops::RangeInclusive<usize> = 200..=40_000;

/// Calls `found` with each text of several lines that stands as a string in JSON: what an issue says, or a page.
pub(crate) fn each_text_in_data(text: &str, found: &mut impl FnMut(&str)) {
    const FIELD: &str = "\": \"";
    const DENSE_FIELD: &str = "\":\"";
    if !text.contains("\\n") {
        return;
    }
    for line in text.lines().filter(|line| line.len() >= *TEXT_IN_DATA.start()) {
        let mut rest = line;
        while let Some(open) = rest
            .find(FIELD)
            .map(|at| at + FIELD.len())
            .into_iter()
            .chain(rest.find(DENSE_FIELD).map(|at| at + DENSE_FIELD.len()))
            .min()
        {
            let string = &rest[open - 1..];
            let Some(length) = string_end(string) else { break };
            if TEXT_IN_DATA.contains(&length)
                && string[..length].contains("\\n")
                && let Ok(text) = serde_json::from_str::<String>(&string[..length])
            {
                found(&text);
            }
            rest = &string[length..];
        }
    }
}

/// The end of the string that a text begins with, behind its last quotation mark.
fn string_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Lines that say nothing: empty ones, and what stands before an output.
const HEADS: [&str; 3] = ["", "Output:", "---"];
fn is_head(line: &str) -> bool {
    HEADS.contains(&line) || line.starts_with("Process exited with code") || is_boilerplate(line)
}

/// Of a longer output the last lines are shown, at most so many of them and so many bytes.
const ENDING: (usize, usize) = (3, 240);

/// The last lines of a longer output, where programs tell how it ended.
pub(crate) fn ending(text: &str) -> Option<String> {
    if text.len() <= WHOLE.1 && text.lines().count() <= WHOLE.0 {
        return None;
    }
    let mut lines: Vec<&str> =
        text.lines().rev().map(str::trim).filter(|line| !is_head(line)).take(ENDING.0).collect();
    lines.reverse();
    let tells = |line: &str| line.bytes().any(|byte| byte.is_ascii_digit()) || count_words(line, 3) >= 3;
    while lines.first().is_some_and(|line| !tells(line) || !is_balanced(line)) {
        lines.remove(0);
    }
    let is_code = |line: &str| line.ends_with(['{', '}', ';', ',', '(', '[']) || is_listing_row(line);
    let ending = lines.join(LINE_END);
    // Where an output begins with what was done, that is told, too.
    let first = text.lines().map(str::trim).find(|line| !is_head(line)).filter(|line| {
        line.len() <= FIRST
            && line.starts_with(char::is_alphanumeric)
            && (count_words(line, 2) >= 2 || tells(line) && line.contains(' '))
            && !is_code(line)
            && is_balanced(line)
            && !lines.contains(line)
    });
    let is_said = lines.iter().any(|line| count_words(line, 3) >= 3 || is_summary(&line.to_lowercase()));
    let is_told = is_said && ending.len() <= ENDING.1 && !lines.iter().any(|line| is_code(line));
    (is_told && is_balanced(&ending)).then(|| match first {
        Some(first) => format!("{first}{LEFT_OUT}{ending}"),
        None => format!("… {ending}"),
    })
}

/// Stands between the first and the last lines of an output.
const LEFT_OUT: &str = " ⏎ … ⏎ ";
/// The first line of an output is told up to this length.
const FIRST: usize = 100;

/// Returns true if a text is an output of which something is left out.
pub(crate) fn is_ending(text: &str) -> bool {
    text.starts_with('…') || text.contains(LEFT_OUT)
}

/// An output with at most so many lines and bytes is shown whole.
const WHOLE: (usize, usize) = (14, 420);

/// A text without the numbers that a reading tool put before its lines.
pub(crate) fn unnumbered(text: &str) -> Cow<'_, str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_numbered =
        |line: Option<&str>| line.is_some_and(|line| strip_line_number(line).len() < line.len());
    if !is_numbered(lines.next()) || !is_numbered(lines.next()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.lines().map(strip_line_number).collect::<Vec<_>>().join("\n"))
}

/// A short output on one line, unless it says nothing.
pub(crate) fn whole_output(text: &str) -> Option<String> {
    let reminders = ["<system-reminder>", "<system_reminder>"];
    let own = reminders.iter().filter_map(|tag| text.find(tag)).min().map_or(text, |start| &text[..start]);
    if own.len() > 2 * WHOLE.1 {
        return None;
    }
    let lines: Vec<&str> = own.lines().map(str::trim).filter(|line| !is_head(line)).collect();
    // A line that tells something by itself is quoted as such.
    let is_told = lines.len() < 2 && lines.iter().all(|line| is_notice(line, true));
    if is_told || lines.len() > WHOLE.0 || lines.iter().any(|line| is_listing_row(line)) {
        return None;
    }
    let whole = lines.join(LINE_END);
    let says = whole.len() >= 12 && whole.chars().filter(|sign| sign.is_alphanumeric()).count() >= 8;
    (says && whole.len() <= WHOLE.1 && is_balanced(&whole)).then_some(whole)
}

/// Returns true if a line tells of trouble, or of a value where the output is short.
fn is_notice(line: &str, is_short: bool) -> bool {
    if !NOTICE.contains(&line.len())
        || strip_line_number(line).len() != line.len()
        || line.starts_with([
            '{', '}', '<', '+', '-', '|', '(', '/', '*', '#', '>', '$', '"', '\'', ')', ';', '@', '.',
        ])
        || line.ends_with(['{', '}', ';', ',', '(', '\\', '['])
    {
        return false;
    }
    let has_value =
        is_short && (line.contains("://") || line.bytes().filter(u8::is_ascii_digit).count() >= 2);
    let lower = line.to_lowercase();
    // A long output has many lines that only speak of trouble; its own begins with it.
    let head = &lower[..lower.floor_char_boundary(TROUBLE_BEGINS)];
    let is_case = line.starts_with("FAILED ") && line.contains("::");
    (has_value || is_case || is_short && tells_of_trouble(&lower) || is_trouble(head) || is_summary(&lower))
        && count_words(line, 4) >= if has_value || is_case || is_summary(&lower) { 2 } else { 4 }
        && is_balanced(line)
        && !is_boilerplate(line)
}

/// Returns true if a line sums up a run: a number stands right before or behind one of the words for it.
pub(crate) fn is_summary(lower: &str) -> bool {
    static ANY: LazyLock<AnyOf> = LazyLock::new(|| AnyOf::new(&COUNTED));
    if lower.len() > SUMMARY || !lower.bytes().any(|byte| byte.is_ascii_digit()) || !ANY.is_in(lower) {
        return false;
    }
    let words: Vec<&str> = lower
        .split(|sign: char| !sign.is_alphanumeric() && sign != '.')
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let counts = |pair: &[&str]| match pair {
        [one, other] => {
            is_number(one) && COUNTED.contains(other) || COUNTED.contains(one) && is_number(other)
        }
        _ => false,
    };
    words.windows(2).filter(|pair| counts(pair)).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Option<&str>, bool)]) {
        let mut seen: Vec<(String, Option<String>, bool)> = Vec::new();
        each_output_line(text, &mut |line| {
            seen.push((line.text.to_string(), line.file.map(str::to_string), line.is_notice));
        });
        let seen: Vec<_> =
            seen.iter().map(|(text, file, notice)| (text.as_str(), file.as_deref(), *notice)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn lines_of_searches_and_patches_belong_to_their_files() {
        check(
            "src/a.rs:12:fn read_config() -> Config\nsrc/b.rs:3: let config = read_config();",
            &[
                ("fn read_config() -> Config", Some("src/a.rs"), false),
                ("let config = read_config();", Some("src/b.rs"), false),
            ],
        );
        check(
            "*** Begin Patch\n*** Update File: src/a.rs\n+fn read_all() {}\n",
            &[
                ("*** Begin Patch", None, false),
                ("*** Update File: src/a.rs +fn read_all() {}", Some("src/a.rs"), false),
            ],
        );
    }

    #[test]
    fn texts_of_several_lines_are_found_in_json() {
        let texts = |text: &str| {
            let mut found = Vec::new();
            each_text_in_data(text, &mut |text| found.push(text.to_string()));
            found
        };
        let body = format!("The \"parser\" fails.\n{}", "It reads each file twice. ".repeat(10));
        let json = serde_json::json!({"number": 7, "title": "short\nbut two", "body": body});
        assert_eq!(texts(&json.to_string()), std::slice::from_ref(&body));
        assert_eq!(texts(&format!("Output:\n{{\n  \"body\": {}\n}}", serde_json::json!(body))), [body]);
        for broken in ["", "\"a\": \"", &format!("\"a\": \"\\n{}", "x".repeat(400)), "\"a\":\"\\"] {
            assert_eq!(texts(broken), [""; 0]);
        }
    }

    #[test]
    fn an_output_is_told_by_its_first_line_and_its_last_ones() {
        let pull = format!(
            "Updating aeae5a1..62baaca\n{}38 files changed, 1654 insertions(+)",
            " a.rs | 2 +-\n".repeat(40)
        );
        let told = ending(&pull).expect("its end says something");
        assert!(
            told.starts_with("Updating aeae5a1..62baaca ⏎ … ⏎ ") && told.ends_with("insertions(+)"),
            "{told}"
        );
        assert!(is_ending(&told));
        assert_eq!(ending(&format!("{}424\n386\n324", "a line\n".repeat(40))), None);
    }

    #[test]
    fn trouble_and_values_are_told() {
        check(
            "warning: field `retry_count` is never read in the upload module",
            &[("warning: field `retry_count` is never read in the upload module", None, true)],
        );
        check(
            "Created pull request https://example.org/pull/12",
            &[("Created pull request https://example.org/pull/12", None, true)],
        );
        let log = "a\nb\nc\nd\n1 failed, 60 passed in 2.04s for the whole run\n";
        check(
            log,
            &[("a b c d", None, false), ("1 failed, 60 passed in 2.04s for the whole run", None, true)],
        );
        check("if failed { return Err(error); }", &[("if failed { return Err(error); }", None, false)]);
    }
}
