//! Diffs of file changes.

use std::path::Path;

use longhaul_workspace::{Diff, unified_diff};

use crate::line_endings::with_line_feeds;

/// The diff of a binary file that becomes text.
pub(crate) fn diff_of_binary(path: &Path, after: &str) -> Diff {
    let path = path.to_string_lossy();
    let text =
        format!("--- a/{path}\n+++ b/{path}\nThe file is no text so far, and is replaced as a whole.\n");
    Diff { text, added: after.lines().count(), removed: 0 }
}

/// The diff between two texts with LF line endings; `before` is none for a new file.
pub(crate) fn diff_of_text(path: &Path, before: Option<&str>, after: &str) -> Diff {
    let path = path.to_string_lossy();
    let old = if before.is_some() { format!("a/{path}") } else { "/dev/null".to_string() };
    let (before, after) = (with_line_feeds(before.unwrap_or_default()), with_line_feeds(after));
    unified_diff((&old, &before), (&format!("b/{path}"), &after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: &str, expected: &str, added: usize, removed: usize) {
        let diff = diff_of_text(Path::new("src/a.rs"), before, after);
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
}
