//! Restores the ledger from an earlier snapshot, where the messages that it stands for are lost.

use longhaul_conversation::Ordinal;
use longhaul_snapshot::{Section, Snapshot};

use super::entries::{CommitEntry, FileChange, FileEntry, FileRead, FileState, FileStep, LineRange};
use crate::ledger::Ledger;
use crate::paths;

impl Ledger {
    /// Restores what the lines of a snapshot that [`Ledger::render_lines`] wrote tell: the directory, the files and the commits.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let through = snapshot.through().unwrap_or(Ordinal(self.messages));
        self.messages = self.messages.max(through.0);
        // Paths are seen from the folder, so that comes first.
        for section in [Section::FileSystemState, Section::ArtifactTrail] {
            for entry in snapshot.entries(section) {
                let at = entry.marks().last().copied().unwrap_or(through);
                entry.lines().iter().for_each(|line| self.restore_line(line, at));
            }
        }
    }

    fn restore_line(&mut self, line: &str, at: Ordinal) {
        if let Some(directory) = line.strip_prefix("CWD: ") {
            let (root, shell) = directory.split_once(", shell in ").unwrap_or((directory, ""));
            self.learn_root(root);
            self.directory = self.seen_from_root(shell);
        } else if let Some(commit) = read_commit(line, at) {
            self.commits.push(commit);
        } else if let Some(files) = read_group(line, at) {
            files.into_iter().for_each(|file| self.restore_file(file));
        } else if let Some(file) = read_file(line, at) {
            self.restore_file(file);
        }
    }

    fn restore_file(&mut self, file: FileEntry) {
        let key = self.key(&file.path);
        match self.files.get_mut(&key) {
            Some(known) => known.merge(file),
            None => {
                self.files.insert(key, file);
            }
        }
    }
}

/// Reads `modified in src/api: a.rs, b.rs` and `created: a.rs, b.rs`.
fn read_group(line: &str, at: Ordinal) -> Option<Vec<FileEntry>> {
    let states = [FileState::Created, FileState::Modified, FileState::Deleted];
    states.into_iter().find_map(|state| {
        let rest = line.strip_prefix(state.as_str())?;
        let (folder, names) = match rest.strip_prefix(" in ") {
            Some(rest) => rest.split_once(": ")?,
            None => ("", rest.strip_prefix(": ")?),
        };
        let files = names.split(", ").filter_map(|name| {
            let change = FileChange { edits: 1, last: Some(at), ..FileChange::default() };
            let change = Some(change).filter(|_| state != FileState::Deleted);
            let steps = vec![FileStep { at, state: state.clone(), change: change.clone() }];
            Some(FileEntry { change, steps, ..file(&paths::join(folder, name), state.clone(), at)? })
        });
        Some(files.collect())
    })
}

/// Reads `committed 1a2b3c4: Fix the upload`.
fn read_commit(line: &str, at: Ordinal) -> Option<CommitEntry> {
    let (hash, message) = line.strip_prefix("committed")?.split_once(": ")?;
    let hash = hash.trim();
    let is_hash = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| CommitEntry {
        hash: Some(hash.to_string()).filter(|hash| !hash.is_empty()),
        message: message.to_string(),
        at,
    })
}

/// Reads `src/a.rs modified (3 edits, +40 -5; parse, render)`, `src/b.rs read lines 10-40` and the like. Lines about whole
/// folders are not read.
fn read_file(line: &str, at: Ordinal) -> Option<FileEntry> {
    if let Some((path, to)) = line.split_once(" moved to ") {
        return file(path, FileState::Moved { to: to.to_string() }, at);
    }
    if let Some(path) = line.strip_suffix(" deleted") {
        return file(path, FileState::Deleted, at);
    }
    for state in [FileState::Created, FileState::Modified, FileState::Restored] {
        if let Some((path, extent)) = split_behind(line, state.as_str(), " (") {
            let change = read_extent(extent.trim_start().trim_matches(['(', ')']), at);
            let steps = vec![FileStep { at, state: state.clone(), change: Some(change.clone()) }];
            return Some(FileEntry { change: Some(change), steps, ..file(path, state, at)? });
        }
    }
    let (path, ranges) = split_behind(line, FileState::Read.as_str(), " lines ")?;
    let ranges: Vec<LineRange> =
        ranges.strip_prefix(" lines ").unwrap_or_default().split(", ").filter_map(read_range).collect();
    let read = FileRead { whole: ranges.is_empty(), ranges, times: 1, last: at };
    Some(FileEntry { existed: true, read: Some(read), ..file(path, FileState::Read, at)? })
}

/// Splits a line around a word that stands at its end, or before `more` and all behind it.
fn split_behind<'l>(line: &'l str, word: &str, more: &str) -> Option<(&'l str, &'l str)> {
    line.match_indices(word).find_map(|(start, _)| {
        let path = line[..start].strip_suffix(' ')?;
        let rest = &line[start + word.len()..];
        (rest.is_empty() || rest.starts_with(more)).then_some((path, rest))
    })
}

fn file(path: &str, state: FileState, at: Ordinal) -> Option<FileEntry> {
    let counts_files = path.starts_with(|c: char| c.is_ascii_digit())
        && (path.contains(" file") || path.contains(" more file"));
    let is_path = paths::file_name(path) == Some(path) && !counts_files;
    let existed = !matches!(state, FileState::Created);
    is_path.then(|| FileEntry {
        path: path.to_string(),
        state,
        first: at,
        last: at,
        existed,
        read: None,
        change: None,
        hash: None,
        steps: Vec::new(),
    })
}

/// Reads `3 edits, +40 -5; parse, render`.
fn read_extent(extent: &str, at: Ordinal) -> FileChange {
    let (figures, symbols) = match extent.split_once("; ") {
        Some((figures, symbols)) => (figures, symbols),
        None if extent.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) => (extent, ""),
        None => ("", extent),
    };
    let mut change = FileChange { edits: 1, last: Some(at), ..FileChange::default() };
    let mut words = figures.split([' ', ',']).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        if let Some(added) = word.strip_prefix('+') {
            change.added = added.parse().unwrap_or(0);
        } else if let Some(removed) = word.strip_prefix('-') {
            change.removed = removed.parse().unwrap_or(0);
        } else if words.next_if(|next| next.starts_with("edit")).is_some() {
            change.edits = word.parse().unwrap_or(1);
        }
    }
    change.symbols = symbols.split(", ").filter(|symbol| !symbol.is_empty()).map(str::to_string).collect();
    change
}

fn read_range(range: &str) -> Option<LineRange> {
    let (first, last) = range.split_once('-')?;
    Some(LineRange { first: first.parse().ok()?, last: last.parse().ok() })
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::TokenCount;

    use super::*;

    /// Checks that a ledger restored from these lines writes `expected` again.
    #[track_caller]
    fn check(lines: &[&str], expected: &[&str]) {
        let mut ledger = Ledger::default();
        lines.iter().zip(3..).for_each(|(line, at)| ledger.restore_line(line, Ordinal(at)));
        let rendered: Vec<String> =
            ledger.render_lines(TokenCount(1_000)).into_iter().map(|line| line.text).collect();
        assert_eq!(rendered, expected);
    }

    #[test]
    fn lines_are_written_as_they_were_read() {
        for line in [
            "src/a.rs modified (3 edits, +40 -5; parse, render)",
            "src/a.rs created (+12)",
            "src/a.rs modified (-2)",
            "src/a.rs modified (parse)",
            "src/a b.rs created",
            "src/old.rs moved to src/new.rs",
            "src/old.rs deleted",
            "src/read me.md read",
            "src/a.rs read lines 10-40, 80-",
            "committed 1a2b3c4: Fix the upload: it is late",
            "committed: Fix the upload",
            "CWD: /home/me/app, shell in src",
            "src/a.rs modified",
        ] {
            check(&[line], &[line]);
        }
    }

    #[test]
    fn the_same_file_stands_once() {
        check(
            &["CWD: /home/me/app", "/home/me/app/a.rs read", "a.rs modified (+2)"],
            &["CWD: /home/me/app", "a.rs modified (+2)"],
        );
    }

    #[test]
    fn files_that_are_named_together_are_files() {
        check(
            &["created: a.md, b.md", "modified in src/api: c.rs"],
            &["a.md created", "b.md created", "src/api/c.rs modified"],
        );
    }

    #[test]
    fn other_lines_are_not_files() {
        for line in
            ["14 files under src/api read", "3 more files elsewhere", "he said it was modified since", ""]
        {
            check(&[line], &[]);
        }
    }
}
