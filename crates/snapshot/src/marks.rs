//! Reads and writes marks: `[m12]`, or `[m3, m9]` for a line that several messages said.

use std::fmt;
use std::ops::Range;

use longhaul_conversation::Ordinal;

/// A mark at the beginning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) ordinals: Vec<Ordinal>,
    /// Its range in the line, brackets included.
    pub(super) range: Range<usize>,
}

/// The mark that a line begins with, after white space and a list marker.
pub(super) fn leading_mark(line: &str) -> Option<Mark> {
    let content = line.trim_start();
    let content = content[item_marker(content).unwrap_or(0)..].trim_start();
    let start = line.len() - content.len();
    let inside = content.strip_prefix('[')?;
    let length = inside.find(']')?;
    let ordinals = parse_ordinals(&inside[..length])?;
    Some(Mark { ordinals, range: start..start + length + 2 })
}

/// Takes all marks off the beginning of a line and gives what is left; nothing if the line has no mark.
///
/// Nothing may cling to a mark: `[m1](address)` is a link.
pub(super) fn split_marks(line: &str) -> Option<(Vec<Ordinal>, &str)> {
    let mut ordinals = Vec::new();
    let mut rest = line;
    while let Some(mark) = leading_mark(rest) {
        let behind = &rest[mark.range.end..];
        if !behind.is_empty() && !behind.starts_with(|next: char| next.is_whitespace() || next == '[') {
            break;
        }
        ordinals.extend(mark.ordinals);
        rest = behind;
    }
    (!ordinals.is_empty()).then_some((ordinals, rest.trim_start()))
}

/// Writes a mark.
pub(super) fn write_mark(out: &mut impl fmt::Write, ordinals: &[Ordinal]) -> fmt::Result {
    let mut before = '[';
    for ordinal in ordinals {
        out.write_char(before)?;
        if before == ',' {
            out.write_char(' ')?;
        }
        write!(out, "{ordinal}")?;
        before = ',';
    }
    out.write_char(']')
}

/// Returns true if brackets around this text would make a mark.
pub(super) fn inner_mark(inside: &str) -> bool {
    parse_ordinals(inside).is_some()
}

fn parse_ordinals(list: &str) -> Option<Vec<Ordinal>> {
    list.split([',', ';']).map(|word| parse_ordinal(word.trim())).collect()
}

/// Reads `m12`. Messages are counted from 1, so `m0` is none.
fn parse_ordinal(word: &str) -> Option<Ordinal> {
    let digits = word.strip_prefix(['m', 'M'])?;
    let number = parse_digits(digits)?;
    (number > 0).then_some(Ordinal(number))
}

/// As `str::parse`, but without a sign.
pub(super) fn parse_digits(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Words in checkboxes, in lower case.
const BOXES: [&str; 5] = ["x", " ", "done", "in progress", "todo"];

/// Returns true if a line begins a list item, a heading or a checkbox, without indentation.
pub(super) fn begins_item(line: &str) -> bool {
    let is_heading = || line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let is_box = || {
        let inside = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        inside.is_some_and(|(inside, _)| BOXES.iter().any(|word| word.eq_ignore_ascii_case(inside)))
    };
    item_marker(line).is_some() || is_heading() || is_box()
}

/// The length of the list marker that `content` begins with: a bullet or a number, and a space.
fn item_marker(content: &str) -> Option<usize> {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let sign = content[digits..].chars().next()?;
    let is_marker = match digits {
        0 => matches!(sign, '-' | '*' | '+' | '•' | '–' | '·'),
        1..=3 => matches!(sign, '.' | ')'),
        _ => false,
    };
    let length = digits + sign.len_utf8();
    (is_marker && content[length..].starts_with([' ', '\t'])).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, ordinals: &[u32], rest: &str) {
        let ordinals: Vec<_> = ordinals.iter().copied().map(Ordinal).collect();
        assert_eq!(split_marks(line), Some((ordinals, rest)), "{line}");
    }

    #[track_caller]
    fn check_none(line: &str) {
        assert_eq!(split_marks(line), None, "{line}");
    }

    #[test]
    fn marks_are_read() {
        check("[m12] text", &[12], "text");
        check("[m3, m9] text", &[3, 9], "text");
        check("[m3,m9;M10]  text", &[3, 9, 10], "text");
        check("[m12]", &[12], "");
        check("  [m12]\ttext", &[12], "text");
        check("- [m12] text", &[12], "text");
        check("2. [m12] text [m13]", &[12], "text [m13]");
        check("[m1] [m2][m3] text", &[1, 2, 3], "text");
        check("[m1] [m2](there)", &[1], "[m2](there)");
        check("[m4294967295] text", &[u32::MAX], "text");
    }

    #[test]
    fn other_brackets_are_no_marks() {
        for line in ["", "[", "[]", "[m]", "[12] text", "[m12", "m12] x", "[m+1] x", "[m0] x", "[m1, x] y"] {
            check_none(line);
        }
        check_none("[m4294967296] more than there can be");
        check_none("[m12](link)");
        check_none("[m12]: reference");
        check_none("text [m12]");
    }

    #[test]
    fn marks_are_written_as_they_are_read() {
        for text in ["[m1]", "[m3, m9]", "[m1, m2, m3]"] {
            let mut written = String::new();
            write_mark(&mut written, &split_marks(text).unwrap().0).unwrap();
            assert_eq!(written, text);
        }
    }

    #[test]
    fn items_are_told_from_other_lines() {
        for line in
            ["- a", "* a", "+ a", "• a", "1. a", "12) a", "# a", "### a", "[DONE] a", "[ ] a", "[x] a"]
        {
            assert!(begins_item(line), "{line}");
        }
        for line in ["", "a", "-a", "-", "--flag", "1.5 MB", "1234. a", " - a", "#a", "[a] b", "**a**", "日"]
        {
            assert!(!begins_item(line), "{line}");
        }
    }
}
