//! Shortens one tool output to its beginning and its end, with a pointer to the whole.

use std::borrow::Cow;

use longhaul_conversation::{TokenCount, grouped};
use longhaul_text::{Ends, ends, start_of, utf16_len};

/// A line longer than this is folded where an output has few lines.
const FOLD: usize = 120;
/// However full the window, an output keeps this many characters: shortening must not switch itself off.
const LEAST: usize = 1_000;

/// Form of a shortened output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TruncateMode {
    /// A fifth of the characters from the beginning, the rest from the end.
    #[default]
    Characters,
    /// A fifth of so many lines from the beginning, the rest from the end.
    Lines(usize),
}

/// Place of the whole output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullOutput<'a> {
    /// It was saved, or will be, under this name.
    SavedAs(&'a str),
    /// The tool itself left something out, and the rest was saved, or will be.
    PartSavedAs {
        /// The name.
        file: &'a str,
        /// Number of bytes that are in no file.
        left_out: u64,
    },
    /// It could not be saved.
    NotSaved,
}

/// A shortened output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// Text for the model.
    pub text: String,
    /// Text for the file: the whole output, its long lines folded if the text refers to lines.
    pub full: Cow<'a, str>,
}

/// Number of characters that one output may have now: `setting`, or four for each token that is left of the window. `None` where
/// a setting of 0 or less turns shortening off.
pub fn output_limit(setting: i64, window: TokenCount, used: TokenCount) -> Option<usize> {
    let setting = usize::try_from(setting).ok().filter(|setting| *setting > 0)?;
    let left = usize::try_from((window - used).0.saturating_mul(4)).unwrap_or(usize::MAX);
    Some(setting.min(left.max(LEAST)))
}

/// Shortens an output of more than `max` characters; `None` if it is short enough. Explanations come on top of `max`.
pub fn truncate_output<'a>(
    output: &'a str,
    max: usize,
    mode: TruncateMode,
    full: FullOutput<'_>,
) -> Option<Truncated<'a>> {
    if utf16_len(output) <= max {
        return None;
    }
    Some(match mode {
        TruncateMode::Characters => {
            Truncated { text: truncate_characters(output, max, full), full: Cow::Borrowed(output) }
        }
        TruncateMode::Lines(max_lines) => truncate_lines(output, max, max_lines.max(1), full),
    })
}

fn truncate_characters(output: &str, max: usize, full: FullOutput<'_>) -> String {
    let Ends { head, tail, omitted } = ends(output, max);
    let (first, last) = (grouped(utf16_len(head)), grouped(utf16_len(tail)));
    let place = match full {
        FullOutput::SavedAs(file) => format!("Full output: {file}"),
        FullOutput::PartSavedAs { file, left_out } => {
            format!("All but {} bytes of the output: {file}", grouped(left_out))
        }
        FullOutput::NotSaved => "The full output could not be saved.".to_string(),
    };
    let omitted = grouped(omitted);
    format!(
        "Output too large: the first {first} and the last {last} characters follow. {place}\n\
         {head}\n[{omitted} characters omitted]\n{tail}"
    )
}

fn truncate_lines<'a>(output: &'a str, max: usize, max_lines: usize, full: FullOutput<'_>) -> Truncated<'a> {
    let has_few_lines = output.lines().nth(max_lines).is_none();
    let whole = if has_few_lines { Cow::Owned(fold(output)) } else { Cow::Borrowed(output) };
    let lines: Vec<&str> = whole.split('\n').collect();
    let head = max_lines / 5;
    let tail = max_lines - head;
    let shown = if lines.len() > max_lines {
        let first = lines[..head].iter();
        let last = lines[lines.len() - tail..].iter();
        first.chain([&"... [CONTENT TRUNCATED] ..."]).chain(last).copied().collect::<Vec<_>>().join("\n")
    } else {
        whole.clone().into_owned()
    };
    // Few lines may still be long ones.
    let is_long = utf16_len(&shown) > max;
    let shown = if is_long {
        let Ends { head, tail, omitted } = ends(&shown, max);
        format!("{head}\n[{} characters omitted]\n{tail}", grouped(omitted))
    } else {
        shown
    };
    let how = if is_long { ", without the middle of them" } else { "" };
    let text = match full {
        FullOutput::SavedAs(file) => format!(
            "Output too large: it was saved to {file}, which read_file reads from any start_line. \
             The first {head} and the last {tail} lines follow{how}.\n{shown}"
        ),
        FullOutput::PartSavedAs { file, left_out } => format!(
            "Output too large: all but {} bytes of it were saved to {file}, which read_file reads from any start_line. \
             The first {head} and the last {tail} lines follow{how}.\n{shown}",
            grouped(left_out)
        ),
        FullOutput::NotSaved => format!("{shown}\n[The full output could not be saved.]"),
    };
    Truncated { text, full: whole }
}

fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + text.len() / FOLD);
    for (index, mut line) in text.split('\n').enumerate() {
        if index > 0 {
            folded.push('\n');
        }
        loop {
            let start = start_of(line, FOLD);
            folded.push_str(start);
            line = &line[start.len()..];
            if line.is_empty() {
                break;
            }
            folded.push('\n');
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAVED: FullOutput<'_> = FullOutput::SavedAs("out.txt");

    #[track_caller]
    fn check_characters(output: &str, max: usize, expected: Option<&str>) {
        let truncated = truncate_output(output, max, TruncateMode::Characters, SAVED);
        assert_eq!(truncated.map(|t| t.text).as_deref(), expected);
    }

    #[test]
    fn a_fifth_comes_from_the_beginning() {
        let alphabet = "abcdefghijklmnopqrstuvwxyz";
        check_characters(alphabet, 26, None);
        check_characters(
            alphabet,
            10,
            Some(
                "Output too large: the first 2 and the last 8 characters follow. Full output: out.txt\n\
                 ab\n[16 characters omitted]\nstuvwxyz",
            ),
        );
        let text = "x".repeat(50_000);
        let Some(Truncated { text, .. }) = truncate_output(&text, 4_000, TruncateMode::Characters, SAVED)
        else {
            panic!("too long")
        };
        for part in ["first 800 and", "last 3,200 char", "[46,000 char"] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn a_file_that_lacks_something_is_not_called_the_full_output() {
        let part = FullOutput::PartSavedAs { file: "out.txt", left_out: 1_234_567 };
        for mode in [TruncateMode::Characters, TruncateMode::Lines(2)] {
            let text = truncate_output("a\nb\nc\nd\ne\nf", 5, mode, part).expect("too long").text;
            assert!(text.contains("ll but 1,234,567 bytes of") && text.contains("out.txt"), "{text}");
            assert!(!text.contains("Full") && !text.contains("it was saved"), "{text}");
        }
    }

    #[test]
    fn characters_are_never_split() {
        check_characters(
            "😀😀😀😀😀😀",
            5,
            Some(
                "Output too large: the first 0 and the last 4 characters follow. Full output: out.txt\n\
                 \n[8 characters omitted]\n😀😀",
            ),
        );
    }

    #[track_caller]
    fn check_lines(output: &str, max: usize, max_lines: usize, shown: &str, full: &str) {
        let mode = TruncateMode::Lines(max_lines);
        let truncated = truncate_output(output, max, mode, SAVED).expect("too long");
        let (_, text) = truncated.text.split_once('\n').expect("an explanation");
        assert_eq!((text, truncated.full.as_ref()), (shown, full));
        let unsaved = truncate_output(output, max, mode, FullOutput::NotSaved).expect("too long");
        assert_eq!(unsaved.text, format!("{shown}\n[The full output could not be saved.]"));
    }

    #[test]
    fn lines_are_taken_from_both_ends() {
        let lines: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let text = lines.join("\n");
        check_lines(&text, 49, 5, "1\n... [CONTENT TRUNCATED] ...\n17\n18\n19\n20", &text);
        check_lines(&text, 49, 1, "... [CONTENT TRUNCATED] ...\n20", &text);
    }

    #[test]
    fn long_lines_are_folded_where_there_are_few() {
        let line = |c: char, n: usize| c.to_string().repeat(n);
        let text = format!("{}\n{}", line('a', 300), line('b', 130));
        let folded =
            [line('a', 120), line('a', 120), line('a', 60), line('b', 120), line('b', 10)].join("\n");
        let shown = format!("... [CONTENT TRUNCATED] ...\n{}\n{}", line('b', 120), line('b', 10));
        check_lines(&text, 400, 2, &shown, &folded);
    }

    #[test]
    fn many_long_lines_fit_as_well() {
        let text = "y".repeat(10_000) + "\n" + &"z".repeat(10_000) + "\nlast";
        let truncated = truncate_output(&text, 1_000, TruncateMode::Lines(2), SAVED).expect("too long");
        assert!(utf16_len(&truncated.text) < 1_300, "{}", truncated.text.len());
        assert!(truncated.text.ends_with("last"));
    }

    #[track_caller]
    fn check_limit(setting: i64, window: u64, used: u64, expected: Option<usize>) {
        assert_eq!(output_limit(setting, TokenCount(window), TokenCount(used)), expected);
    }

    #[test]
    fn the_limit_shrinks_with_the_window_but_never_vanishes() {
        check_limit(40_000, 1_000_000, 0, Some(40_000));
        check_limit(40_000, 100_000, 95_000, Some(20_000));
        check_limit(40_000, 100_000, 100_000, Some(1_000));
        check_limit(40_000, 100_000, 900_000, Some(1_000));
        check_limit(500, 100_000, 100_000, Some(500));
        check_limit(0, 100_000, 0, None);
        check_limit(-1, 100_000, 0, None);
    }

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (32_000, "32,000"), (1_234_567, "1,234,567")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
    }

    proptest! {
        #[test]
        fn both_ends_fit_and_belong_to_the_text(text in "(?s).{0,300}", max in 0usize..200) {
            let Ends { head, tail, omitted } = ends(&text, max);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(utf16_len(head) + utf16_len(tail) <= max);
            prop_assert_eq!(utf16_len(head) + utf16_len(tail) + omitted, utf16_len(&text));
        }

        #[test]
        fn every_mode_fits(text in "(?s)(.|\n){0,400}", max in 0usize..200, lines in 0usize..9) {
            for mode in [TruncateMode::Characters, TruncateMode::Lines(lines)] {
                if let Some(truncated) = truncate_output(&text, max, mode, SAVED) {
                    prop_assert!(utf16_len(&truncated.text) <= max + 240);
                }
            }
        }
    }
}
