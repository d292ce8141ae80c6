//! Unified diffs, to show a change before it is made.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// After this the rest is shown as removed and added instead of compared: some texts would take minutes.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// A change, and how large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// As a unified diff; empty if nothing changes.
    pub text: String,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}

/// The change from one text to another, under these names.
pub fn unified_diff((old, before): (&str, &str), (new, after): (&str, &str)) -> Diff {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let text = diff.unified_diff().context_radius(AROUND).header(old, new).to_string();
    Diff { text, added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str, added: usize, removed: usize) {
        let expected =
            if expected.is_empty() { String::new() } else { format!("--- old\n+++ new\n{expected}") };
        assert_eq!(unified_diff(("old", before), ("new", after)), Diff { text: expected, added, removed });
    }

    #[test]
    fn changes_are_shown_with_a_few_lines_around_them() {
        check("a\n", "a\n", "", 0, 0);
        check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0);
        check("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n", 1, 0);
        check("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n", 0, 1);
        check("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", 1, 1);
    }

    #[test]
    fn texts_that_share_nothing_do_not_take_for_ever() {
        let lines =
            |step: usize| (0..60_000).map(|line| format!("{}\n", line * step % 59_999)).collect::<String>();
        let diff = unified_diff(("a", &lines(7)), ("b", &lines(11)));
        assert!(diff.added > 0 && diff.removed > 0);
    }
}
