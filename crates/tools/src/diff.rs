//! What a change to a file looks like.

use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::text::with_line_feeds;

/// After this the rest is shown as removed and added instead of compared: some texts would take minutes.
const PATIENCE: Duration = Duration::from_millis(500);

/// A change, and how large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diff {
    /// As a unified diff, with line feeds alone.
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl Diff {
    /// The change from something that is no text.
    pub(crate) fn of_binary(path: &Path, after: &str) -> Self {
        let path = path.to_string_lossy();
        let text =
            format!("--- a/{path}\n+++ b/{path}\nThe file is no text so far, and is replaced as a whole.\n");
        Self { text, added: after.lines().count(), removed: 0 }
    }
}

/// The change from one text of a file to another; from nothing if the file is new.
pub(crate) fn unified_diff(path: &Path, before: Option<&str>, after: &str) -> Diff {
    let is_new = before.is_none();
    let (before, after) = (with_line_feeds(before.unwrap_or_default()), with_line_feeds(after));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&before, &after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let path = path.to_string_lossy();
    let old = if is_new { "/dev/null".to_string() } else { format!("a/{path}") };
    let text = diff.unified_diff().context_radius(3).header(&old, &format!("b/{path}")).to_string();
    Diff { text, added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: &str, expected: &str, added: usize, removed: usize) {
        let diff = unified_diff(Path::new("src/a.rs"), before, after);
        assert_eq!(diff, Diff { text: expected.into(), added, removed });
    }

    #[test]
    fn changes_are_unified() {
        check(
            Some("a\nb\n"),
            "a\nc\n",
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
            1,
            1,
        );
        check(None, "x\n", "--- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1 @@\n+x\n", 1, 0);
        check(Some("a\r\n"), "a\r\nb\r\n", "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1,2 @@\n a\n+b\n", 1, 0);
        let no_end = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n";
        check(Some("a\n"), "a", no_end, 1, 1);
        check(Some("a\n"), "a\n", "", 0, 0);
    }

    #[test]
    fn texts_that_share_nothing_do_not_take_for_ever() {
        let lines =
            |step: usize| (0..60_000).map(|line| format!("{}\n", line * step % 59_999)).collect::<String>();
        let diff = unified_diff(Path::new("a"), Some(&lines(7)), &lines(11));
        assert!(diff.added > 0 && diff.removed > 0);
    }
}
