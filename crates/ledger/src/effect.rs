//! The effect of a call on a file, whichever tool or command has it.

use serde::{Deserialize, Serialize};

use super::entries::{FileChange, LineRange};
use super::symbols::{keys_in, symbols_in};

/// One operation on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEffect {
    /// The file, as seen from the project.
    pub(super) path: String,
    pub(super) act: FileOperation,
}

/// An operation on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileOperation {
    /// It is read; no range means as much as the tool gives.
    Read { range: Option<LineRange> },
    /// Its whole content is given.
    Write { change: FileChange, hash: Option<String> },
    /// It is certainly new.
    Create { change: FileChange, hash: Option<String> },
    /// Something is put behind its content, or it is made.
    Append { change: FileChange },
    /// Parts of it are changed.
    Edit { change: FileChange },
    /// It is removed, and whatever is below it.
    Delete,
    /// It is moved.
    Move { to: String },
    /// Its changes are undone.
    Restore,
}

impl FileEffect {
    pub(crate) fn new(path: impl Into<String>, act: FileOperation) -> Self {
        Self { path: path.into(), act }
    }

    /// A reading of some lines, or of all that the tool gives.
    pub(super) fn read(path: impl Into<String>, range: Option<LineRange>) -> Self {
        Self::new(path, FileOperation::Read { range })
    }

    /// A writing of this whole text.
    pub(super) fn write(path: impl Into<String>, text: Option<&str>) -> Self {
        Self::new(path, FileOperation::Write { change: written(text), hash: text.map(hash_text) })
    }

    /// A replacement of one text by another.
    pub(super) fn replace(path: impl Into<String>, old: &str, new: &str) -> Self {
        Self::new(path, FileOperation::Edit { change: replaced(old, new) })
    }
}

/// The change that writing a whole text makes.
pub(super) fn written(text: Option<&str>) -> FileChange {
    let text = text.unwrap_or_default();
    FileChange { edits: 1, added: lines(text), removed: 0, symbols: symbols_in(text), last: None }
}

/// The change that replacing one text by another makes; lines that both share count neither way.
pub(super) fn replaced(old: &str, new: &str) -> FileChange {
    let before: Vec<&str> = old.lines().collect();
    let after: Vec<&str> = new.lines().collect();
    let same_start = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[same_start..], &after[same_start..]);
    let same_end = before.iter().rev().zip(after.iter().rev()).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[..before.len() - same_end], &after[..after.len() - same_end]);
    let found = [symbols_in(new), symbols_in(old), keys_in(after), keys_in(before)];
    let symbols = found.into_iter().find(|symbols| !symbols.is_empty()).unwrap_or_default();
    FileChange { edits: 1, added: count(after.len()), removed: count(before.len()), symbols, last: None }
}

/// The number of lines of a text.
pub(crate) fn lines(text: &str) -> u32 {
    count(text.lines().count())
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A short hash that tells whether two texts are the same, whether or not a tool has numbered their lines; the first line
/// tells whether it has.
pub(crate) fn hash_text(text: &str) -> String {
    let is_numbered = text.lines().next().is_some_and(|line| without_number(line).len() < line.len());
    let has_returns = text.contains('\r');
    let hash = if is_numbered || has_returns {
        let bare = |line| if is_numbered { without_number(line) } else { line };
        let lines: Vec<&str> = text.lines().map(bare).collect();
        longhaul_text::hash_text(&lines.join("\n"))
    } else {
        longhaul_text::hash_text(text.strip_suffix('\n').unwrap_or(text))
    };
    format!("{hash:016x}")
}

/// The line without the number that tools put before it: `  12→`, `12:`, `12 | `, `  12<tab>`.
pub(super) fn without_number(line: &str) -> &str {
    let past = |from: usize, is_passed: fn(&u8) -> bool| {
        from + line.as_bytes()[from..].iter().take_while(|byte| is_passed(byte)).count()
    };
    let number = past(0, |byte| *byte == b' ');
    let end = past(number, u8::is_ascii_digit);
    if end == number {
        return line;
    }
    let rest = &line[end..];
    ["→", "\t", " | ", " |"].iter().find_map(|sign| rest.strip_prefix(sign)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_replaced(old: &str, new: &str, added: u32, removed: u32) {
        let change = replaced(old, new);
        assert_eq!((change.added, change.removed), (added, removed), "{old:?} -> {new:?}");
    }

    #[test]
    fn only_lines_that_differ_count() {
        check_replaced("a\nb\nc", "a\nx\nc", 1, 1);
        check_replaced("a\nc", "a\nb\nc", 1, 0);
        check_replaced("a\nb", "", 0, 2);
        check_replaced("", "a", 1, 0);
        check_replaced("same", "same", 0, 0);
        check_replaced("a\na", "a\na\na", 1, 0);
    }

    #[test]
    fn numbered_and_bare_texts_hash_alike() {
        let bare = hash_text("fn main() {\n}\n");
        assert_eq!(bare, hash_text("     1→fn main() {\n     2→}\n"));
        assert_eq!(bare, hash_text("1\tfn main() {\n2\t}"));
        assert_ne!(bare, hash_text("fn main() {}\n"));
        assert_ne!(bare, hash_text("}\nfn main() {\n"));
        assert_ne!(bare, hash_text("fn main() {\n}\n\n"));
        assert_eq!(bare, hash_text("fn main() {\r\n}\r\n"));
        assert_eq!(hash_text("a\n\n"), hash_text("1→a\n2→\n"));
        assert_eq!(hash_text("a\n1\tb"), hash_text("1→a\n2→1\tb"));
        assert_eq!(hash_text("a\n1\tb\n"), hash_text("a\r\n1\tb\r\n"));
    }
}
