//! Shows what changed between two texts, as one hunk.

/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;

/// A unified diff from one text to another; empty if they are the same. Everything between the first and the last line
/// that differs is in one hunk: changes to memory are small.
pub(crate) fn unified_diff(before: &str, after: &str, before_name: &str, after_name: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let same_head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let room = old.len().min(new.len()) - same_head;
    let same_tail =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(old, new)| old == new).count();
    let head = &old[same_head.saturating_sub(AROUND)..same_head];
    let tail = &old[old.len() - same_tail..(old.len() - same_tail + AROUND).min(old.len())];
    let (gone, added) = (&old[same_head..old.len() - same_tail], &new[same_head..new.len() - same_tail]);
    let range = |count: usize| {
        let lines = head.len() + count + tail.len();
        let first = same_head - head.len() + usize::from(lines > 0);
        format!("{first},{lines}")
    };
    let mut diff = format!(
        "--- {before_name}\n+++ {after_name}\n@@ -{} +{} @@\n",
        range(gone.len()),
        range(added.len())
    );
    for (mark, lines) in [(' ', head), ('-', gone), ('+', added), (' ', tail)] {
        for line in lines {
            diff.push(mark);
            diff.push_str(line);
            if !line.ends_with('\n') {
                diff.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let diff = unified_diff(before, after, "a", "b");
        assert_eq!(diff.strip_prefix("--- a\n+++ b\n").unwrap_or(&diff), expected);
    }

    #[test]
    fn changes_are_shown_with_a_few_lines_around_them() {
        check("a\n", "a\n", "");
        check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n", "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n");
        check("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n");
        check("a\na\n", "a\n", "@@ -1,2 +1,1 @@\n a\n-a\n");
        check("a", "b\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n");
    }
}
