//! The journal of file changes: one line each, and the contents beside it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{create_private_folder, write_private_atomically};
use serde::{Deserialize, Serialize};

/// The largest file of which the content is kept.
const LARGEST: usize = 5 << 20;

/// The most bytes of contents that are kept for a session.
const MOST: u64 = 200 << 20;

/// The journal of a session's file changes.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    now: fn() -> Timestamp,
    /// The bytes of contents so far; none before they are counted.
    kept: Option<u64>,
}

/// The content of a file at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// There was no file.
    Absent,
    /// The content of this hash, which is kept.
    Saved(String),
    /// The content of this hash, which is not kept.
    Unsaved(String),
}

/// One change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) path: PathBuf,
    pub(super) before: Content,
    pub(super) after: Content,
    /// The restoration that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) restored: Option<u64>,
}

impl Content {
    /// The hash, if there was a file.
    pub(super) fn hash(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::Saved(hash) | Self::Unsaved(hash) => Some(hash),
        }
    }
}

impl Entry {
    pub(super) fn now(journal: &Journal, path: &Path, before: Content, after: Content) -> Self {
        Self { at: (journal.now)(), path: path.to_path_buf(), before, after, restored: None }
    }
}

/// The hash of a content.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

impl Journal {
    pub(super) fn new(folder: PathBuf, now: fn() -> Timestamp) -> Self {
        Self { folder, now, kept: None }
    }

    /// Keeps a content, unless it is too large, or too much is kept already.
    pub(super) fn save(&mut self, bytes: &[u8]) -> Content {
        let hash = hash(bytes);
        let path = self.content_path(&hash);
        if path.is_file() {
            return Content::Saved(hash);
        }
        let kept = *self.kept.get_or_insert_with(|| size_of(&self.folder));
        let size = bytes.len() as u64;
        let is_kept = bytes.len() <= LARGEST
            && kept + size <= MOST
            && create_private_folder(&self.folder).is_ok()
            && write_private_atomically(&path, bytes).is_ok();
        if is_kept {
            self.kept = Some(kept + size);
        }
        if is_kept { Content::Saved(hash) } else { Content::Unsaved(hash) }
    }

    /// The content of this hash, if it is kept and whole.
    pub(super) fn load(&self, hash_of: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.content_path(hash_of)).ok()?;
        (hash(&bytes) == hash_of).then_some(bytes)
    }

    pub(super) fn append(&self, entry: &Entry) -> io::Result<()> {
        create_private_folder(&self.folder).map_err(io::Error::other)?;
        let path = self.journal_path();
        if !path.exists() {
            write_private_atomically(&path, b"").map_err(io::Error::other)?;
        }
        let line = serde_json::to_string(entry).map_err(io::Error::other)? + "\n";
        let mut file = OpenOptions::new().read(true).append(true).open(&path)?;
        // A torn line must not take the next one with it.
        let line = if ends_torn(&path) { format!("\n{line}") } else { line };
        file.write_all(line.as_bytes())
    }

    /// All changes, the oldest first. A line that cannot be read is skipped.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let bytes = fs::read(self.journal_path()).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    fn content_path(&self, hash: &str) -> PathBuf {
        // A hash that was changed by hand leads nowhere else.
        let name: String = hash.chars().filter(char::is_ascii_hexdigit).take(64).collect();
        self.folder.join(name)
    }
}

fn ends_torn(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'))
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}
