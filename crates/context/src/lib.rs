//! Longhaul's context engine.

mod ledger;

pub use ledger::{
    CommandEntry, CommandPurpose, CommitEntry, ErrorEntry, FileChange, FileEntry, FileRead, FileState,
    FileSummary, JobEntry, JobKind, Ledger, LedgerLine, LedgerSection, LedgerSummary, LineRange, RunEntry,
    StateSummary, StepStatus, TaskList, TaskStep, WorkOutcome,
};
