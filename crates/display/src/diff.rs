//! Unified diffs in colour.

use crate::style::{Style, StyledLine};

/// Styles a line of a unified diff.
pub fn line(text: &str) -> StyledLine {
    let style = match text.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Style::BOLD,
        [b'@', b'@', ..] => Style::CYAN,
        [b'+', ..] => Style::GREEN,
        [b'-', ..] => Style::RED,
        [b'\\', ..] => Style::FAINT,
        _ => Style::PLAIN,
    };
    StyledLine::new(text, style)
}

/// Styles and wraps a unified diff.
pub fn lines(diff: &str, width: usize) -> Vec<StyledLine> {
    diff.lines().flat_map(|text| line(text).wrap(width, 1)).collect()
}

/// The number of added and removed lines, such as `+3 −1`.
pub fn summary(diff: &str) -> String {
    let count = |sign: char, name: &str| {
        diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(name)).count()
    };
    format!("+{} −{}", count('+', "+++ "), count('-', "--- "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_coloured_and_counted() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n+more\n";
        let styles: Vec<Style> =
            lines(diff, 40).iter().map(|line| line.spans.first().map_or(Style::PLAIN, |s| s.style)).collect();
        let expected =
            [Style::BOLD, Style::BOLD, Style::CYAN, Style::PLAIN, Style::RED, Style::GREEN, Style::GREEN];
        assert_eq!(styles, expected);
        assert_eq!(summary(diff), "+2 −1");
    }
}
