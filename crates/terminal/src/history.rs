//! The history of typed lines, kept across sessions.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The most bytes read from the end of the history file.
const MAX_BYTES: u64 = 512 << 10;

/// The typed lines, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputHistory {
    entries: Vec<String>,
    /// The index of the entry on display, and the draft it replaced.
    shown: Option<(usize, String)>,
}

impl InputHistory {
    pub(crate) fn new(entries: Vec<String>) -> Self {
        Self { entries, shown: None }
    }

    /// Loads the history from its file, if there is one.
    pub(crate) fn load(file: Option<&HistoryFile>) -> Self {
        Self::new(file.map(HistoryFile::load).unwrap_or_default())
    }

    /// Adds a line; returns false if it is blank or repeats the last one.
    pub(crate) fn add(&mut self, text: &str) -> bool {
        self.shown = None;
        let is_new = !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text);
        if is_new {
            self.entries.push(text.to_string());
        }
        is_new
    }

    /// The entry before the one on display; `typed` is kept as the draft to return to.
    pub(crate) fn older(&mut self, typed: &str) -> Option<&str> {
        let place = match &self.shown {
            Some((place, _)) => place.checked_sub(1)?,
            None => self.entries.len().checked_sub(1)?,
        };
        let typed = self.shown.take().map_or_else(|| typed.to_string(), |(_, typed)| typed);
        self.shown = Some((place, typed));
        self.entries.get(place).map(String::as_str)
    }

    /// The entry after the one on display, or the draft.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (place, typed) = self.shown.take()?;
        match self.entries.get(place + 1) {
            Some(entry) => {
                self.shown = Some((place + 1, typed));
                Some(entry.clone())
            }
            None => Some(typed),
        }
    }

    /// The newest entry before index `before` that contains `wanted`, ignoring case.
    pub(crate) fn find(&self, wanted: &str, before: usize) -> Option<(usize, &str)> {
        let wanted = wanted.to_lowercase();
        let entries = self.entries.iter().enumerate().take(before).rev();
        let mut found = entries.filter(|(_, entry)| entry.to_lowercase().contains(&wanted));
        found.next().map(|(place, entry)| (place, entry.as_str()))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The history file: one JSON string a line.
#[derive(Clone, Debug)]
pub(crate) struct HistoryFile(PathBuf);

impl HistoryFile {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Loads the newest entries. A missing or broken file yields fewer.
    pub(crate) fn load(&self) -> Vec<String> {
        read_end(&self.0).map(|bytes| parse(&String::from_utf8_lossy(&bytes))).unwrap_or_default()
    }

    /// Appends an entry. Only the user can read the file.
    pub(crate) fn append(&self, text: &str) -> io::Result<()> {
        if let Some(folder) = self.0.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let line = serde_json::Value::from(text).to_string() + "\n";
        options.open(&self.0)?.write_all(line.as_bytes())
    }
}

fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> InputHistory {
        InputHistory::new(vec!["first".into(), "second".into(), "Third thing".into()])
    }

    #[test]
    fn entries_are_gone_through_and_back() {
        let mut history = history();
        assert_eq!(history.older("typing"), Some("Third thing"));
        assert_eq!(history.older("Third thing"), Some("second"));
        assert_eq!(history.newer().as_deref(), Some("Third thing"));
        assert_eq!(history.newer().as_deref(), Some("typing"));
        assert_eq!(history.newer(), None);
        history.older("");
        history.older("");
        assert_eq!(history.older(""), Some("first"));
        assert_eq!(history.older(""), None);
    }

    #[test]
    fn the_same_is_not_kept_twice_in_a_row() {
        let mut history = history();
        assert!(!history.add("Third thing"));
        assert!(!history.add("  "));
        assert!(history.add("first"));
        assert_eq!(history.len(), 4);
    }

    #[test]
    fn entries_are_found() {
        let history = history();
        assert_eq!(history.find("th", usize::MAX), Some((2, "Third thing")));
        assert_eq!(history.find("s", 2), Some((1, "second")));
        assert_eq!(history.find("s", 1), Some((0, "first")));
        assert_eq!(history.find("nothing", usize::MAX), None);
    }

    #[test]
    fn a_file_keeps_them_privately() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/history.jsonl");
        let file = HistoryFile::at(path.clone());
        assert_eq!(file.load(), [] as [String; 0]);
        for text in ["one", "two\nlines \"quoted\""] {
            file.append(text).expect("written");
        }
        std::fs::write(&path, std::fs::read_to_string(&path).expect("read") + "{torn").expect("written");
        assert_eq!(file.load(), ["one", "two\nlines \"quoted\""]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        }
    }
}
