//! Text replacement, and the explanation for the model if the text does not match. Pure.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::line_endings::{with_endings_of, with_line_feeds};

/// The most lines named in a mismatch.
const MAX_TOLD: usize = 20;

/// The number of occurrences after which counting stops, as each costs as much as the piece is long.
const COUNTING_LIMIT: usize = 100;

/// The most lines compared with a missing one.
const MAX_COMPARED: usize = 20_000;

/// The most characters of a line compared and shown.
const MAX_CHARACTERS: usize = 200;

/// The least similarity of a suggested line, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// The expected number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedCount {
    /// Exactly this many; usually one.
    Times(usize),
    /// At least one, and all are replaced.
    Any,
}

/// The result of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReplacement {
    /// The new text.
    pub text: String,
    /// The lines of the old text at which the replaced pieces started.
    pub lines: Vec<usize>,
}

/// The reason why nothing was replaced. Displays as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceMismatch {
    /// The piece occurs another number of times.
    Count {
        /// The number of occurrences, up to a limit.
        found: usize,
        /// The expected number.
        expected: usize,
        /// The first lines at which it occurs.
        lines: Vec<usize>,
    },
    /// The piece occurs at this line except for whitespace.
    Whitespace {
        /// The line.
        line: usize,
    },
    /// A similar piece occurs.
    Nearest {
        /// The first line that differs.
        line: usize,
        /// The line in the file.
        found: String,
        /// The line in the piece.
        wanted: String,
    },
    /// Nothing similar occurs.
    Absent,
    /// The text would not change.
    Unchanged,
}

/// Replaces `old` by `new` in the text of a file. Line endings are ignored when matching: the new text gets those of
/// the file, and everything else stays the same to the byte.
///
/// # Errors
/// [`ReplaceMismatch`], if `old` does not occur as often as expected.
pub fn replace_text(
    text: &str,
    old: &str,
    new: &str,
    expected: ExpectedCount,
) -> Result<TextReplacement, ReplaceMismatch> {
    let plain = LineFeeds::of(text);
    let mut places = plain.find(&with_line_feeds(old), expected);
    if places.is_empty() && old.contains('\r') {
        places = find(text, old, expected);
    }
    let lines = lines_of(text, &places);
    match expected {
        _ if places.is_empty() => return Err(explain_absence(text, old)),
        ExpectedCount::Times(times) if times != places.len() => {
            let lines = lines.into_iter().take(MAX_TOLD).collect();
            return Err(ReplaceMismatch::Count { found: places.len(), expected: times, lines });
        }
        _ => {}
    }
    let new = with_endings_of(text, new);
    let mut replaced = String::with_capacity(text.len() + places.len() * new.len());
    let mut kept = 0;
    for place in &places {
        replaced.push_str(&text[kept..place.start]);
        replaced.push_str(&new);
        kept = place.end;
    }
    replaced.push_str(&text[kept..]);
    match replaced == text {
        true => Err(ReplaceMismatch::Unchanged),
        false => Ok(TextReplacement { text: replaced, lines }),
    }
}

/// A text with LF line endings that maps positions back to the original.
struct LineFeeds<'a> {
    text: Cow<'a, str>,
    /// The positions before which a carriage return was removed, each before a line feed.
    returns: Vec<usize>,
}

impl<'a> LineFeeds<'a> {
    fn of(text: &'a str) -> Self {
        let starts: Vec<usize> = text.match_indices("\r\n").map(|(start, _)| start).collect();
        match starts.is_empty() {
            true => Self { text: text.into(), returns: starts },
            false => {
                let returns = starts.iter().enumerate().map(|(before, start)| start - before).collect();
                Self { text: with_line_feeds(text).into(), returns }
            }
        }
    }

    /// The ranges of a piece in the original text. A line ending at its start or end is included whole.
    fn find(&self, piece: &str, expected: ExpectedCount) -> Vec<Range<usize>> {
        let original = |at: usize| at + self.returns.partition_point(|left_out| *left_out < at);
        let found = find(&self.text, piece, expected).into_iter();
        found.map(|place| original(place.start)..original(place.end)).collect()
    }
}

/// The ranges of a piece. Overlapping ones count if a single one is expected; otherwise each starts after the end of
/// the one before.
fn find(text: &str, piece: &str, expected: ExpectedCount) -> Vec<Range<usize>> {
    let Some(first) = piece.chars().next() else { return Vec::new() };
    if expected != ExpectedCount::Times(1) {
        return text.match_indices(piece).map(|(start, _)| start..start + piece.len()).collect();
    }
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(piece).map(|start| from + start)
        && places.len() < COUNTING_LIMIT
    {
        places.push(start..start + piece.len());
        from = start + first.len_utf8();
    }
    places
}

/// The line numbers of ascending ranges.
fn lines_of(text: &str, places: &[Range<usize>]) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let at = |place: &Range<usize>| {
        line += text[counted..place.start].matches('\n').count();
        counted = place.start;
        line
    };
    places.iter().map(at).collect()
}

fn explain_absence(text: &str, old: &str) -> ReplaceMismatch {
    if let Some(line) = find_without_whitespace(text, old) {
        return ReplaceMismatch::Whitespace { line };
    }
    let wanted: Vec<&str> = old.lines().skip_while(|line| line.trim().is_empty()).collect();
    let Some(first) = wanted.first() else { return ReplaceMismatch::Absent };
    let lines: Vec<&str> = text.lines().collect();
    let likeness = |line: &str| strsim::sorensen_dice(cut(line.trim()), cut(first.trim()));
    let likest = lines.iter().take(MAX_COMPARED).map(|line| likeness(line)).enumerate();
    // The first of equally similar lines.
    let best = likest.fold(None, |best: Option<(usize, f64)>, (index, likeness)| match best {
        Some((_, most)) if most >= likeness => best,
        _ => Some((index, likeness)),
    });
    let Some((start, _)) = best.filter(|(_, likeness)| *likeness >= MIN_SIMILARITY) else {
        return ReplaceMismatch::Absent;
    };
    let same = lines[start..].iter().zip(&wanted).take_while(|(line, wanted)| line == wanted).count();
    // If all lines are the same, the piece starts or ends inside of a line: that one is reported.
    let same = same.min(wanted.len() - 1).min(lines.len() - start - 1);
    ReplaceMismatch::Nearest {
        line: start + same + 1,
        found: cut(lines[start + same]).to_string(),
        wanted: cut(wanted[same]).to_string(),
    }
}

/// The line at which a piece starts, ignoring whitespace.
fn find_without_whitespace(text: &str, piece: &str) -> Option<usize> {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let piece = squeeze(piece);
    if piece.is_empty() {
        return None;
    }
    let mut left = squeeze(text).find(&piece)?;
    let mut line = 1;
    for character in text.chars() {
        match character {
            '\n' => line += 1,
            character if character.is_whitespace() => {}
            _ if left == 0 => return Some(line),
            character => left -= character.len_utf8(),
        }
    }
    None
}

fn cut(line: &str) -> &str {
    line.char_indices().nth(MAX_CHARACTERS).map_or(line, |(end, _)| &line[..end])
}

impl fmt::Display for ReplaceMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found, expected, lines } => {
                let at_least = if *found >= COUNTING_LIMIT { "at least " } else { "" };
                let more = if *found > lines.len() { " and more" } else { "" };
                let lines = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "old_string is there {at_least}{found} times instead of {expected}: at lines {lines}{more}"
                )?;
                match expected {
                    1 => f.write_str(
                        "; take in more of the lines around it, or set allow_multiple to change all",
                    ),
                    _ => f.write_str("; set expected_replacements to what you mean"),
                }
            }
            Self::Whitespace { line } => write!(
                f,
                "old_string is there at line {line} but for whitespace: spaces, tabs or line breaks differ"
            ),
            Self::Nearest { line, found, wanted } => write!(
                f,
                "old_string is not there; nearest is line {line}, which is {found:?} where old_string has {wanted:?}"
            ),
            Self::Absent => f.write_str("old_string is not there, nor anything like its first line"),
            Self::Unchanged => f.write_str("the file would stay as it is"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONCE: ExpectedCount = ExpectedCount::Times(1);

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, expected: ExpectedCount, result: &str, lines: &[usize]) {
        let replaced = TextReplacement { text: result.into(), lines: lines.to_vec() };
        assert_eq!(replace_text(text, old, new, expected), Ok(replaced));
    }

    #[test]
    fn what_is_there_once_is_replaced() {
        check("a b c", "b", "x", ONCE, "a x c", &[1]);
        check("a\nb\nc\n", "b\n", "", ONCE, "a\nc\n", &[2]);
        check("a\nb", "b", "b\n", ONCE, "a\nb\n", &[2]);
        check("é漢🦀", "漢", "$0\\1", ONCE, "é$0\\1🦀", &[1]);
    }

    #[test]
    fn more_are_replaced_only_when_expected() {
        check("x\nx\nx", "x", "y", ExpectedCount::Any, "y\ny\ny", &[1, 2, 3]);
        check("x\nx", "x", "y", ExpectedCount::Times(2), "y\ny", &[1, 2]);
        check("aaaa", "aa", "b", ExpectedCount::Any, "bb", &[1, 1]);
    }

    #[test]
    fn line_endings_are_those_of_the_file() {
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", ONCE, "x\r\ny\r\nz\r\nc\r\n", &[1]);
        check("a\r\nb\r\nc", "\nb\n", "\n", ONCE, "a\r\nc", &[1]);
        check("a\r\nb\r\n", "b", "b\r\nc", ONCE, "a\r\nb\r\nc\r\n", &[2]);
        check("a\nb\n", "a\r\nb", "x", ONCE, "x\n", &[1]);
        // Mixed endings stay as they are.
        check("a\r\nb\nc\nd\n", "c\nd", "x\ny", ONCE, "a\r\nb\nx\ny\n", &[3]);
        check("a\r\nb\nc\r\n", "b\nc", "x\ny", ONCE, "a\r\nx\r\ny\r\n", &[2]);
        // A carriage return that is not part of a line ending.
        check("a\r\r\nb", "a\r\r\n", "", ONCE, "b", &[1]);
        check("a\rb", "\r", "\n", ONCE, "a\nb", &[1]);
    }

    #[track_caller]
    fn check_refused(text: &str, old: &str, new: &str, expected: ExpectedCount, words: &str) {
        assert_eq!(replace_text(text, old, new, expected).unwrap_err().to_string(), words);
    }

    #[test]
    fn ambiguity_is_told_with_its_lines() {
        let once = "; take in more of the lines around it, or set allow_multiple to change all";
        let words = format!("old_string is there 3 times instead of 1: at lines 1, 2, 4{once}");
        check_refused("x\nx\n\nx", "x", "y", ONCE, &words);
        let words = format!("old_string is there 2 times instead of 1: at lines 1, 1{once}");
        check_refused("aaa", "aa", "b", ONCE, &words);
        check_refused(
            "x\nx",
            "x",
            "y",
            ExpectedCount::Times(3),
            "old_string is there 2 times instead of 3: at lines 1, 2; set expected_replacements to what you mean",
        );
        let many = replace_text(&"x\n".repeat(5_000), "x", "y", ONCE).unwrap_err();
        assert!(matches!(&many, ReplaceMismatch::Count { found: 100, lines, .. } if lines.len() == 20));
        assert!(many.to_string().contains("at least 100 times") && many.to_string().contains(" and more;"));
    }

    #[test]
    fn absence_is_told_with_what_is_nearest() {
        let whitespace =
            "old_string is there at line 2 but for whitespace: spaces, tabs or line breaks differ";
        check_refused("fn a() {\n    b();\n}\n", "  b() ;\n}", "", ONCE, whitespace);
        check_refused("a\n\tlet x = 1;\n", "    let x = 1;", "", ONCE, whitespace);
        check_refused(
            "one\ntwo three four\nfive\n",
            "two three for\n",
            "",
            ONCE,
            "old_string is not there; nearest is line 2, which is \"two three four\" where old_string has \"two three for\"",
        );
        check_refused(
            "begin\nmiddle\nend\n",
            "begin\nmuddle\nend",
            "",
            ONCE,
            "old_string is not there; nearest is line 2, which is \"middle\" where old_string has \"muddle\"",
        );
        let absent = "old_string is not there, nor anything like its first line";
        check_refused("one\n", "something else", "", ONCE, absent);
        check_refused("", "something", "", ONCE, absent);
        check_refused("abc", "\n\n", "", ONCE, absent);
        check_refused("a", "a", "a", ONCE, "the file would stay as it is");
        check_refused("a\r\n", "a\n", "a\n", ExpectedCount::Any, "the file would stay as it is");
    }

    proptest! {
        #[test]
        fn a_unique_piece_alone_is_changed(
            // A carriage return at its end would become part of a line ending.
            before in "([ab\r\n ]{0,40}[ab\n ])?",
            old in "[ab\n]{0,6}~[ab\n]{0,6}",
            after in "[ab\r\n ]{0,40}",
            new in "[ab~\n]{0,12}",
        ) {
            prop_assume!(old != new);
            let text = format!("{before}{old}{after}");
            let replaced = replace_text(&text, &old, &new, ONCE).expect("it is there once");
            let middle = replaced.text.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after));
            prop_assert_eq!(with_line_feeds(middle.expect("the rest is as it was")), new);
        }

        #[test]
        fn nothing_panics(text in any::<String>(), old in any::<String>(), new in any::<String>(), times in 0..3_usize) {
            for expected in [ExpectedCount::Times(times), ExpectedCount::Any] {
                if let Err(mismatch) = replace_text(&text, &old, &new, expected) {
                    prop_assert!(!mismatch.to_string().is_empty());
                }
            }
        }

        #[test]
        fn all_are_replaced(pieces in prop::collection::vec("[a-c\n]{0,5}", 2..6)) {
            let replaced = replace_text(&pieces.join("#"), "#", "<>", ExpectedCount::Any).expect("it is there");
            prop_assert_eq!(replaced.text, pieces.join("<>"));
            prop_assert_eq!(replaced.lines.len(), pieces.len() - 1);
        }
    }
}
