//! Reads what patches do to files: Codex's patch language and unified diffs.

use super::effect::{FileEffect, FileOperation};
use super::entries::FileChange;
use super::paths::file_name;
use super::symbols::symbol_in;

/// The effects of a patch, file by file. Text that is no patch has none.
pub(super) fn read_patch(patch: &str) -> Vec<FileEffect> {
    let mut reader = PatchReader::default();
    for line in patch.lines() {
        reader.line(line);
    }
    reader.end_file();
    reader.effects
}

/// The kind of change to the file at hand.
#[derive(Clone, Copy, Default, PartialEq)]
enum PatchKind {
    #[default]
    Update,
    Add,
    Delete,
}

#[derive(Default)]
struct PatchReader {
    effects: Vec<FileEffect>,
    path: Option<String>,
    kind: PatchKind,
    moved_to: Option<String>,
    change: FileChange,
    /// True if the lines at hand belong to a hunk: there `---` is a line that goes, and no header.
    in_hunk: bool,
}

impl PatchReader {
    fn line(&mut self, line: &str) {
        let line = line.trim_end_matches('\r');
        if let Some(directive) = line.strip_prefix("*** ") {
            return self.directive(directive);
        }
        match line.as_bytes() {
            _ if line.starts_with("diff --git ") => {
                self.end_file();
                self.in_hunk = false;
            }
            _ if line.starts_with("--- ") && !self.in_hunk || is_header(line, "--- a/") => {
                self.end_file();
                self.in_hunk = false;
                match header_path(&line[4..]) {
                    Some(path) => self.path = Some(path),
                    None => self.kind = PatchKind::Add,
                }
            }
            _ if line.starts_with("+++ ") && !self.in_hunk => match header_path(&line[4..]) {
                Some(path) => self.path = Some(path),
                None => self.kind = PatchKind::Delete,
            },
            _ if line.starts_with("rename from ") => self.path = Some(line[12..].to_string()),
            _ if line.starts_with("rename to ") => self.moved_to = Some(line[10..].to_string()),
            _ if line.starts_with("@@") => {
                self.in_hunk = true;
                let context = line.trim_start_matches('@').rsplit("@@").next().unwrap_or_default();
                self.note_symbol(context);
            }
            [b'+', ..] if self.path.is_some() => {
                self.change.added = self.change.added.saturating_add(1);
                self.note_symbol(&line[1..]);
            }
            [b'-', ..] if self.path.is_some() => {
                self.change.removed = self.change.removed.saturating_add(1);
            }
            _ => {}
        }
    }

    /// A line of Codex's patch language.
    fn directive(&mut self, directive: &str) {
        let Some((verb, path)) = directive.split_once(": ") else {
            return self.end_file();
        };
        let path = file_name(path).map(str::to_string);
        match verb {
            "Move to" => self.moved_to = path,
            "Update File" | "Add File" | "Delete File" => {
                self.end_file();
                self.path = path;
                self.in_hunk = true;
                self.kind = match verb {
                    "Add File" => PatchKind::Add,
                    "Delete File" => PatchKind::Delete,
                    _ => PatchKind::Update,
                };
            }
            _ => {}
        }
    }

    fn note_symbol(&mut self, line: &str) {
        const MOST: usize = 6;
        if let Some(symbol) = symbol_in(line)
            && self.change.symbols.len() < MOST
            && !self.change.symbols.iter().any(|known| known == symbol)
        {
            self.change.symbols.push(symbol.to_string());
        }
    }

    fn end_file(&mut self) {
        let change = FileChange { edits: 1, ..std::mem::take(&mut self.change) };
        let kind = std::mem::take(&mut self.kind);
        let moved_to = self.moved_to.take();
        let Some(path) = self.path.take() else { return };
        let act = match kind {
            PatchKind::Delete => FileOperation::Delete,
            PatchKind::Add => FileOperation::Create { change, hash: None },
            PatchKind::Update => FileOperation::Edit { change },
        };
        let is_empty =
            matches!(&act, FileOperation::Edit { change } if change.added == 0 && change.removed == 0);
        if moved_to.is_none() || !is_empty {
            self.effects.push(FileEffect::new(path.clone(), act));
        }
        if let Some(to) = moved_to {
            self.effects.push(FileEffect::new(path, FileOperation::Move { to }));
        }
    }
}

fn is_header(line: &str, start: &str) -> bool {
    line.starts_with(start) && !line[start.len()..].contains(' ')
}

/// The path in a header line, nothing for `/dev/null`.
fn header_path(header: &str) -> Option<String> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    file_name(path).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, expected: &[&str]) {
        let seen: Vec<String> = read_patch(patch)
            .iter()
            .map(|effect| match &effect.act {
                FileOperation::Edit { change } => {
                    format!(
                        "edit {} +{} -{} {}",
                        effect.path,
                        change.added,
                        change.removed,
                        change.symbols.join(",")
                    )
                }
                FileOperation::Create { change, .. } => format!("create {} +{}", effect.path, change.added),
                FileOperation::Delete => format!("delete {}", effect.path),
                FileOperation::Move { to } => format!("move {} {to}", effect.path),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(seen.iter().map(|line| line.trim_end()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_patch_language_is_read() {
        check(
            "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn one()\n-old\n+new\n+more\n*** Add File: b.txt\n+text\n*** Delete File: c.txt\n*** End Patch",
            &["edit src/a.rs +2 -1 one", "create b.txt +1", "delete c.txt"],
        );
        check("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch", &["move a b"]);
        check("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", &["edit a +1 -1", "move a b"]);
    }

    #[test]
    fn unified_diffs_are_read() {
        check(
            "diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def run():\n-a\n+b\n",
            &["edit x.py +1 -1 run"],
        );
        check("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x", &["create new.py +1"]);
        check("--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x", &["delete old.py"]);
        check("diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b", &["move a b"]);
    }

    #[test]
    fn a_removed_line_of_dashes_is_no_header() {
        check("--- a/x.sql\n+++ b/x.sql\n@@ -1 +1 @@\n--- remark\n+-- remark", &["edit x.sql +1 -1"]);
    }

    #[test]
    fn other_text_does_nothing() {
        check("hello\n+ not a patch\n- at all", &[]);
        check("", &[]);
    }
}
