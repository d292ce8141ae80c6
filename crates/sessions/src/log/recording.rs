//! The recording state of a log: complete, pending, or not at all.

use std::error::Error;

use super::LogError;

/// The recording state of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Everything is in the file.
    Complete,
    /// The newest records could not be written. They wait in memory, and every later write tries them first.
    Pending(PendingRecords),
    /// The log has no file, by choice: its conversation is kept in memory alone.
    Off,
}

/// Records that wait in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRecords {
    /// Whole lines.
    pub(super) lines: String,
    reason: String,
}

impl PendingRecords {
    pub(super) fn new(lines: String, error: &LogError) -> Self {
        let error: &dyn Error = error;
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let reason = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self { lines, reason }
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.lines.lines().count()
    }

    /// The error of the last attempt to write them, in words for people.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
