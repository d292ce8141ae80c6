//! Checkpoints of files: what stood in a file before a tool changed it, so that going back in a conversation can bring it back.
//!
//! Each change is a line of a journal in the session's folder; contents lie beside it, each once, by their hash, private and within
//! bounds. What commands change is not recorded: nobody knows which files these are.

mod journal;
mod restore;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_conversation::Timestamp;

use self::journal::{Content, Entry, Journal};
use crate::Roots;

pub use restore::{FileRestoration, Restoration, RestorationKind, RestoredFiles};

/// Records what tools change in files, and restores it. Clones share one record.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    roots: Option<Roots>,
    journal: Option<Journal>,
}

impl Checkpoints {
    /// Keeps the checkpoints of a session in this folder from now on; it is made with the first change.
    pub fn keep_in(&self, folder: PathBuf, now: fn() -> Timestamp) {
        self.state().journal = Some(Journal::new(folder, now));
    }

    /// Keeps nothing from now on.
    pub fn stop(&self) {
        self.state().journal = None;
    }

    /// Restores files in these folders only.
    pub fn set_roots(&self, roots: Roots) {
        self.state().roots = Some(roots);
    }

    /// Records that a file is about to be changed. Where that fails, the change goes on: it cannot be restored then.
    pub(crate) fn record(&self, path: &Path, before: Option<&[u8]>, after: &[u8]) {
        if let Some(journal) = &mut self.state().journal {
            let before = before.map_or(Content::Absent, |bytes| journal.save(bytes));
            let after = Content::Unsaved(journal::hash(after));
            // A record that cannot be written is missed only by who wants to go back.
            let _ = journal.append(&Entry::now(journal, path, before, after));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
