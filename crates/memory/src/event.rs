//! The event of a change to memory.

use std::path::PathBuf;

use crate::loaded::Memory;

/// Something that happened to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryEvent {
    /// Memory was loaded anew.
    MemoryChanged {
        /// The number of files.
        file_count: usize,
        /// Files that are new, gone or say something else; none if it was only loaded again.
        changed: Vec<PathBuf>,
    },
}

impl MemoryEvent {
    /// The change from one load to the next.
    pub fn between(before: &Memory, after: &Memory) -> Self {
        let texts = |memory: &Memory| {
            memory.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect::<Vec<_>>()
        };
        let (before, after) = (texts(before), texts(after));
        let gone = before.iter().filter(|file| !after.contains(file));
        let new = after.iter().filter(|file| !before.contains(file));
        let mut changed: Vec<PathBuf> = gone.chain(new).map(|(path, _)| path.clone()).collect();
        changed.sort();
        changed.dedup();
        Self::MemoryChanged { file_count: after.len(), changed }
    }
}
