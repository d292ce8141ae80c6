//! The whole ledger as a value to print as JSON.

use longhaul_conversation::Ordinal;
use serde::Serialize;

use super::entries::{
    CommandEntry, CommitEntry, ErrorEntry, FileChange, FileEntry, FileRead, FileState, JobEntry, RunEntry,
    TaskStep,
};
use crate::ledger::Ledger;

/// Everything the ledger knows, in the form that `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerSummary<'l> {
    /// The project's folder, where known.
    pub directory: Option<&'l str>,
    /// Files, in order of their paths.
    pub files: Vec<FileSummary<'l>>,
    /// Commands, in order.
    pub commands: &'l [CommandEntry],
    /// Runs of tests, builds and checkers, in order.
    pub tests: &'l [RunEntry],
    /// Errors, in order.
    pub errors: &'l [ErrorEntry],
    /// Background commands and sub-agents, in order.
    pub jobs: &'l [JobEntry],
    /// Commits, in order.
    pub commits: &'l [CommitEntry],
    /// The steps of the plan.
    pub plan: &'l [TaskStep],
}

/// One file of a [`LedgerSummary`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileSummary<'l> {
    /// The path as seen from the project.
    pub path: &'l str,
    /// The path as it was written, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<&'l str>,
    /// Its state.
    #[serde(flatten)]
    pub state: StateSummary<'l>,
    /// The message that touched it first.
    pub first: Ordinal,
    /// The message that touched it last.
    pub last: Ordinal,
    /// The parts that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<&'l FileRead>,
    /// The size of its changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<&'l FileChange>,
    /// A hash of its content when it was last read or written whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<&'l str>,
}

/// A file's state as two flat fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateSummary<'l> {
    /// `read`, `created`, `modified`, `restored`, `deleted` or `moved`.
    pub state: &'static str,
    /// The new path of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<&'l str>,
}

impl Ledger {
    /// Everything the ledger knows.
    pub fn summary(&self) -> LedgerSummary<'_> {
        LedgerSummary {
            directory: self.root(),
            files: self.files().map(|(path, file)| file_summary(path, file)).collect(),
            commands: &self.commands,
            tests: &self.runs,
            errors: &self.errors,
            jobs: &self.jobs,
            commits: &self.commits,
            plan: &self.plan.steps,
        }
    }
}

fn file_summary<'l>(path: &'l str, file: &'l FileEntry) -> FileSummary<'l> {
    let moved_to = if let FileState::Moved { to } = &file.state { Some(to.as_str()) } else { None };
    FileSummary {
        path,
        written: (file.path != path).then_some(file.path.as_str()),
        state: StateSummary { state: file.state.as_str(), moved_to },
        first: file.first,
        last: file.last,
        read: file.read.as_ref(),
        change: file.change.as_ref(),
        hash: file.hash.as_deref(),
    }
}

impl FileState {
    /// The word used in output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Restored => "restored",
            Self::Deleted => "deleted",
            Self::Moved { .. } => "moved",
        }
    }
}
