//! Reads outputs and long arguments line by line: to which file a line belongs, and whether it tells of something.

use super::lines::{output_lines, strip_line_number};
use super::paths::{found_in_file, patched_file};
use super::statements::{count_words, is_balanced, is_boilerplate, is_trouble, tells_of_trouble};

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
    (has_value || is_short && tells_of_trouble(&lower) || is_trouble(head))
        && count_words(line, 4) >= if has_value { 2 } else { 4 }
        && is_balanced(line)
        && !is_boilerplate(line)
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
    fn trouble_and_values_are_told() {
        check(
            "warning: field `retry_count` is never read in the upload module",
            &[("warning: field `retry_count` is never read in the upload module", None, true)],
        );
        check(
            "Created pull request https://example.org/pull/12",
            &[("Created pull request https://example.org/pull/12", None, true)],
        );
        check("if failed { return Err(error); }", &[("if failed { return Err(error); }", None, false)]);
    }
}
