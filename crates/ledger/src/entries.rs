//! The entries of the ledger, one kind for each kind of work.

use longhaul_conversation::Ordinal;
use serde::{Deserialize, Serialize};

/// One file that the work touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The path as it was first written.
    pub path: String,
    /// The state of the file; the last action decides.
    pub state: FileState,
    /// The message that touched it first.
    pub first: Ordinal,
    /// The message that touched it last.
    pub last: Ordinal,
    /// True if it was there before the work touched it.
    pub existed: bool,
    /// The parts that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<FileRead>,
    /// The size of its changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
    /// A hash of the content when it was last read or written whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its changes, one by one, so that its state at an earlier message can be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<FileStep>,
}

/// One change of a file's content or state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    /// The message that made it.
    pub at: Ordinal,
    /// The state of the file afterwards.
    pub state: FileState,
    /// The size of this change alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
}

/// The state of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Only read.
    Read,
    /// Made by the work.
    Created,
    /// Changed by the work.
    Modified,
    /// Changed, and put back as it was.
    Restored,
    /// Removed.
    Deleted,
    /// Moved to another path.
    Moved {
        /// The new path.
        to: String,
    },
}

/// The parts of a file that were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRead {
    /// True if the whole file was read at once.
    pub whole: bool,
    /// The parts that were read, joined where they touch, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LineRange>,
    /// The number of times it was read.
    pub times: u32,
    /// The message that read it last.
    pub last: Ordinal,
}

/// Lines of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub first: u32,
    /// The last line; open where the reader asked for the rest of the file.
    pub last: Option<u32>,
}

/// The size of the changes to a file, as far as the calls tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The number of edits.
    pub edits: u32,
    /// Lines they put in.
    pub added: u32,
    /// Lines they took out.
    pub removed: u32,
    /// Functions, types and the like that the edits name, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// The message of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Ordinal>,
}

/// One command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEntry {
    /// The command, cut where it is long.
    pub text: String,
    /// The purpose.
    pub purpose: CommandPurpose,
    /// The outcome.
    pub outcome: WorkOutcome,
    /// Its exit code, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The duration in milliseconds, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<u64>,
    /// The message that asked for it.
    pub at: Ordinal,
    /// The message of a later run that passed, where this one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Ordinal>,
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandPurpose {
    /// It only looked at something.
    Look,
    /// Something else.
    Other,
    /// It checked without running: types, lints, formatting.
    Check,
    /// It built.
    Build,
    /// It ran tests.
    Test,
}

/// The outcome of a command, a run or a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// No result yet.
    Running,
    /// It succeeded.
    Passed,
    /// It failed.
    Failed,
    /// It was refused or stopped.
    Cancelled,
    /// It ended, and nothing tells how.
    Unclear,
}

/// One run of tests, a build or a checker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The program, such as `cargo test`.
    pub runner: String,
    /// Tests, build or check.
    pub purpose: CommandPurpose,
    /// The command, cut where it is long.
    pub command: String,
    /// The outcome.
    pub outcome: WorkOutcome,
    /// Tests that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// Tests that failed, or problems that a build or checker reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// Tests that were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u32>,
    /// Names of failing tests, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The message that asked for it.
    pub at: Ordinal,
}

/// One error that was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEntry {
    /// Its name or code, such as `TypeError` or `E0308`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The line that tells it.
    pub message: String,
    /// The file it concerns, where the output says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The command or tool that met it.
    pub source: String,
    /// The message whose call met it.
    pub at: Ordinal,
    /// The message whose call no longer met it: a later run of the same command passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Ordinal>,
}

/// Work in the background: a command in the background, or a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEntry {
    /// The kind of job.
    pub kind: JobKind,
    /// The command, or the task of the sub-agent.
    pub text: String,
    /// The id by which it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The outcome so far.
    pub outcome: WorkOutcome,
    /// The message that started it.
    pub at: Ordinal,
    /// The message that told of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ordinal>,
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A command in the background.
    Command,
    /// A sub-agent.
    Agent,
}

/// One commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitEntry {
    /// Its short hash, where the output says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The first line of its message.
    pub message: String,
    /// The message that made it.
    pub at: Ordinal,
}

/// The plan as it was last written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskList {
    /// Its steps, in order.
    pub steps: Vec<TaskStep>,
    /// The message that wrote it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Ordinal>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStep {
    /// The task.
    pub text: String,
    /// The status.
    pub status: StepStatus,
    /// The id by which the step is updated, where the tool gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The status of a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Open,
    /// Being done.
    InProgress,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

impl FileState {
    /// True if the file is no longer as it was found.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Read | Self::Restored)
    }
}

impl FileRead {
    /// Adds what one more reading saw; no range means the whole file.
    pub fn add(&mut self, range: Option<LineRange>, at: Ordinal) {
        self.times = self.times.saturating_add(1);
        self.last = at;
        match range {
            None => {
                self.whole = true;
                self.ranges.clear();
            }
            Some(range) if !self.whole => self.ranges = joined(&self.ranges, range),
            Some(_) => {}
        }
    }
}

/// The ranges with one more, joined where they touch. Past some number the nearest are joined too.
fn joined(ranges: &[LineRange], more: LineRange) -> Vec<LineRange> {
    const MAX_RANGES: usize = 8;
    let mut all: Vec<LineRange> = ranges.iter().copied().chain([more]).collect();
    all.sort();
    let mut joined: Vec<LineRange> = Vec::with_capacity(all.len());
    for range in all {
        match joined.last_mut() {
            Some(before) if before.last.is_none_or(|last| range.first <= last.saturating_add(1)) => {
                before.last = before.last.and_then(|last| range.last.map(|end| end.max(last)));
            }
            _ => joined.push(range),
        }
    }
    while joined.len() > MAX_RANGES {
        let gap = |at: &usize| joined[at + 1].first.saturating_sub(joined[*at].last.unwrap_or(u32::MAX));
        let nearest = (0..joined.len() - 1).min_by_key(gap).expect("there are more ranges than MAX_RANGES");
        joined[nearest].last = joined[nearest + 1].last;
        joined.remove(nearest + 1);
    }
    joined
}

impl FileChange {
    /// Adds one more change.
    pub fn add(&mut self, more: &FileChange, at: Ordinal) {
        const MAX_SYMBOLS: usize = 8;
        self.edits = self.edits.saturating_add(more.edits);
        self.added = self.added.saturating_add(more.added);
        self.removed = self.removed.saturating_add(more.removed);
        for symbol in &more.symbols {
            self.symbols.retain(|known| known != symbol);
            self.symbols.push(symbol.clone());
        }
        let surplus = self.symbols.len().saturating_sub(MAX_SYMBOLS);
        self.symbols.drain(..surplus);
        self.last = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_ranges(ranges: &[(u32, Option<u32>)], expected: &[(u32, Option<u32>)]) {
        let all = ranges.iter().fold(Vec::new(), |so_far, (first, last)| {
            joined(&so_far, LineRange { first: *first, last: *last })
        });
        let all: Vec<_> = all.iter().map(|range| (range.first, range.last)).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        check_ranges(&[(1, Some(10)), (11, Some(20))], &[(1, Some(20))]);
        check_ranges(&[(30, Some(40)), (1, Some(10))], &[(1, Some(10)), (30, Some(40))]);
        check_ranges(&[(1, Some(50)), (10, Some(20))], &[(1, Some(50))]);
        check_ranges(&[(5, None), (100, Some(120))], &[(5, None)]);
        check_ranges(&[(5, Some(9)), (7, None)], &[(5, None)]);
    }

    #[test]
    fn many_ranges_stay_few() {
        let many: Vec<_> = (0..40).map(|n| (n * 100 + 1, Some(n * 100 + 10))).collect();
        let all = many.iter().fold(Vec::new(), |so_far, (first, last)| {
            joined(&so_far, LineRange { first: *first, last: *last })
        });
        assert_eq!(all.len(), 8);
        assert_eq!((all[0].first, all[7].last), (1, Some(3910)));
    }
}
