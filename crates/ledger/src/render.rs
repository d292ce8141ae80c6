//! Renders the ledger as lines within a budget: what changed and what fails first, then what was read; older files fold
//! into one line for each folder.

use std::collections::{BTreeMap, HashSet};

use longhaul_conversation::{Ordinal, TokenCount, grouped};
use longhaul_snapshot::{DONE, IN_PROGRESS, TODO};

use super::commands::key_words;
use super::entries::{
    CommandEntry, CommandPurpose, ErrorEntry, FileChange, FileEntry, FileRead, FileState, JobEntry, JobKind,
    LineRange, RunEntry, StepStatus, WorkOutcome,
};
use crate::excerpts::cut;
use crate::ledger::Ledger;
use crate::paths;

/// One whole line about the work, with the messages it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLine {
    /// The kind of line.
    pub section: LedgerSection,
    /// The line, without marks.
    pub text: String,
    /// The messages it comes from, ascending.
    pub marks: Vec<Ordinal>,
}

/// The kinds of lines, in the order in which they are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LedgerSection {
    /// The directory of the work.
    Directory,
    /// Files that were created, modified, deleted or moved.
    Changed,
    /// The last test run, build and check.
    Runs,
    /// Commands whose last run failed.
    Failing,
    /// Errors that nothing has settled.
    Errors,
    /// Jobs that are running.
    Jobs,
    /// Commits that were made.
    Commits,
    /// Files that were only read.
    Read,
    /// Steps of the plan.
    Plan,
}

/// A failure that nobody came back to within so many commands no longer matters.
const RECENT: usize = 40;
const MOST_FAILING: usize = 5;
const MOST_ERRORS: usize = 6;
const MOST_COMMITS: usize = 5;
const MOST_FOLDERS: usize = 6;
/// Characters of a command or message that a line shows.
const SHOWN: usize = 160;

impl Ledger {
    /// The lines that say most about the work and fit in `budget`, at four characters for a token.
    pub fn render_lines(&self, budget: TokenCount) -> Vec<LedgerLine> {
        self.render_lines_before(Ordinal(u32::MAX), budget)
    }

    /// As [`Self::render_lines`], without the lines whose newest message is `before` or a later one: where those messages
    /// are at hand, they say it themselves.
    pub fn render_lines_before(&self, before: Ordinal, budget: TokenCount) -> Vec<LedgerLine> {
        let mut room = LineBudget {
            left: usize::try_from(budget.0.saturating_mul(4)).unwrap_or(usize::MAX),
            before,
            lines: Vec::new(),
        };
        let whole = room.left;
        room.put(self.directory_line());
        let (changed, read): (Vec<_>, Vec<_>) = self.files().partition(|(_, file)| file.state.is_change());
        room.put_files(changed, whole / 5 * 3, LedgerSection::Changed);
        self.run_lines().into_iter().for_each(|line| room.put(Some(line)));
        self.failing_lines().into_iter().for_each(|line| room.put(Some(line)));
        self.job_lines().into_iter().for_each(|line| room.put(Some(line)));
        self.error_lines().into_iter().for_each(|line| room.put(Some(line)));
        self.commit_lines().into_iter().for_each(|line| room.put(Some(line)));
        let rest = room.left;
        room.put_files(read, rest, LedgerSection::Read);
        room.lines.sort_by_key(|line| line.section);
        room.lines
    }

    /// The steps of the plan, one line each, with `[DONE]`, `[IN PROGRESS]` or `[TODO]` before them.
    pub fn plan_lines(&self) -> Vec<LedgerLine> {
        let marks: Vec<Ordinal> = self.plan.at.into_iter().collect();
        let steps = self.plan.steps.iter().filter(|step| step.status != StepStatus::Dropped);
        steps
            .map(|step| {
                let mark = match step.status {
                    StepStatus::Done => DONE,
                    StepStatus::InProgress => IN_PROGRESS,
                    StepStatus::Open | StepStatus::Dropped => TODO,
                };
                let text = format!("{mark} {}", one_line(&step.text));
                LedgerLine { section: LedgerSection::Plan, text, marks: marks.clone() }
            })
            .collect()
    }

    fn directory_line(&self) -> Option<LedgerLine> {
        let root = self.root()?;
        let text = match self.directory() {
            "" => format!("CWD: {root}"),
            directory => format!("CWD: {root}, shell in {directory}"),
        };
        Some(LedgerLine { section: LedgerSection::Directory, text, marks: Vec::new() })
    }

    /// The newest run of each kind; of tests also the newest that failed, if no run of the same passed since.
    fn run_lines(&self) -> Vec<LedgerLine> {
        let newest = [CommandPurpose::Test, CommandPurpose::Build, CommandPurpose::Check]
            .into_iter()
            .filter_map(|purpose| {
                self.runs
                    .iter()
                    .rev()
                    .find(|run| run.purpose == purpose && run.outcome != WorkOutcome::Cancelled)
            });
        newest.map(run_line).collect()
    }

    fn failing_lines(&self) -> Vec<LedgerLine> {
        // Those that a run line tells are told already.
        let told: HashSet<Ordinal> = self.run_lines().iter().flat_map(|line| line.marks.clone()).collect();
        let mut seen = HashSet::new();
        let recent =
            self.commands.iter().rev().take(RECENT).filter(|command| command.purpose != CommandPurpose::Look);
        // Only the last run of a command counts.
        let last = recent.filter(|command| seen.insert(key_words(&command.text)));
        let failing =
            last.filter(|command| command.outcome == WorkOutcome::Failed && command.fixed.is_none());
        let untold = failing.filter(|command| !told.contains(&command.at));
        let mut lines: Vec<_> = untold.take(MOST_FAILING).map(failing_line).collect();
        lines.reverse();
        lines
    }

    fn error_lines(&self) -> Vec<LedgerLine> {
        let since = self.commands.iter().rev().nth(RECENT).map_or(Ordinal(0), |command| command.at);
        let mut seen = HashSet::new();
        let open = self.errors.iter().rev().filter(|error| error.fixed.is_none() && error.at >= since);
        let mut lines: Vec<_> =
            open.filter(|error| seen.insert(&error.message)).take(MOST_ERRORS).map(error_line).collect();
        lines.reverse();
        lines
    }

    fn job_lines(&self) -> Vec<LedgerLine> {
        self.jobs.iter().filter(|job| job.outcome == WorkOutcome::Running).map(job_line).collect()
    }

    fn commit_lines(&self) -> Vec<LedgerLine> {
        let from = self.commits.len().saturating_sub(MOST_COMMITS);
        let commits = self.commits[from..].iter().map(|commit| {
            let hash = commit.hash.as_deref().map(|hash| format!(" {hash}")).unwrap_or_default();
            let text = format!("committed{hash}: {}", one_line(&commit.message));
            LedgerLine { section: LedgerSection::Commits, text, marks: vec![commit.at] }
        });
        commits.collect()
    }
}

/// The rest of a budget, in characters.
struct LineBudget {
    left: usize,
    /// Lines from this message or a later one are left out.
    before: Ordinal,
    lines: Vec<LedgerLine>,
}

impl LineBudget {
    fn tells(&self, line: &LedgerLine) -> bool {
        line.marks.last().is_none_or(|last| *last < self.before)
    }

    /// Takes the line if it fits whole.
    fn put(&mut self, line: Option<LedgerLine>) {
        if let Some(line) = line.filter(|line| self.tells(line)) {
            let cost = cost(&line);
            if cost <= self.left {
                self.left -= cost;
                self.lines.push(line);
            }
        }
    }

    /// Takes the files within `share`: the newest one by one, the others folder by folder.
    fn put_files(&mut self, mut files: Vec<(&str, &FileEntry)>, share: usize, section: LedgerSection) {
        files.retain(|(_, file)| file_mark(file, section) < self.before);
        files.sort_by_key(|(path, file)| (is_passing(path, file), std::cmp::Reverse((file.last, *path))));
        let share = share.min(self.left);
        // There may be thousands of files: no more lines are written than may be shown, and one that is too much.
        let mut written = 0;
        let mut lines: Vec<LedgerLine> = Vec::new();
        for (path, file) in &files {
            let line = file_line(path, file, section);
            written += cost(&line);
            lines.push(line);
            if written > share {
                break;
            }
        }
        let mut shown = lines.len();
        if written > share {
            let for_folders = share / 3;
            let mut left = share - for_folders;
            shown = lines
                .iter()
                .take_while(|line| {
                    let fits = cost(line) <= left;
                    left = left.saturating_sub(cost(line));
                    fits
                })
                .count();
        }
        lines.truncate(shown);
        // In the order of the work, not backwards.
        let lasting = files[..shown].iter().take_while(|(path, file)| !is_passing(path, file)).count();
        lines[..lasting].reverse();
        lines.into_iter().for_each(|line| self.put(Some(line)));
        fold(&files[shown..], section).into_iter().for_each(|line| self.put(Some(line)));
    }
}

/// True if a file matters little: scratch space, or made and removed again.
fn is_passing(path: &str, file: &FileEntry) -> bool {
    paths::is_scratch(path) || file.state == FileState::Deleted && !file.existed
}

/// A line's cost with its line end and its share of a mark.
fn cost(line: &LedgerLine) -> usize {
    line.text.chars().count() + 3
}

/// One line for each folder and state, fullest first: `14 files under src/api read`.
fn fold(files: &[(&str, &FileEntry)], section: LedgerSection) -> Vec<LedgerLine> {
    let mut folders: BTreeMap<(&str, &'static str), Vec<Ordinal>> = BTreeMap::new();
    for (path, file) in files {
        folders.entry((paths::parent(path), file.state.as_str())).or_default().push(file.last);
    }
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by_key(|(key, marks)| (std::cmp::Reverse(marks.len()), *key));
    let elsewhere: usize = folders.iter().skip(MOST_FOLDERS).map(|(_, marks)| marks.len()).sum();
    let mut lines: Vec<LedgerLine> = folders
        .into_iter()
        .take(MOST_FOLDERS)
        .map(|((folder, state), mut marks)| {
            let place = if folder.is_empty() { String::new() } else { format!(" under {folder}") };
            let text = format!("{}{place} {state}", number_of(marks.len(), "file"));
            marks.sort();
            marks.dedup();
            marks.drain(..marks.len().saturating_sub(1));
            LedgerLine { section, text, marks }
        })
        .collect();
    if elsewhere > 0 {
        let text = format!("{} elsewhere", number_of(elsewhere, "more file"));
        lines.push(LedgerLine { section, text, marks: Vec::new() });
    }
    lines
}

fn file_line(path: &str, file: &FileEntry, section: LedgerSection) -> LedgerLine {
    let text = match (&file.state, &file.change, &file.read) {
        (FileState::Moved { to }, ..) => format!("{path} moved to {to}"),
        (FileState::Deleted, ..) => format!("{path} deleted"),
        (FileState::Read, _, Some(read)) => format!("{path} read{}", ranges(read)),
        (state, Some(change), read) => {
            // Who goes on with a file looks again where it was looked at last.
            let seen = read.as_ref().map(last_ranges).filter(|ranges| !ranges.is_empty());
            let seen = seen.map(|ranges| format!(", read{ranges}")).unwrap_or_default();
            format!("{path} {}{}{seen}", state.as_str(), extent(change))
        }
        (state, ..) => format!("{path} {}", state.as_str()),
    };
    LedgerLine { section, text, marks: vec![file_mark(file, section)] }
}

/// The message that a file's line comes from.
fn file_mark(file: &FileEntry, section: LedgerSection) -> Ordinal {
    let mark =
        file.change.as_ref().filter(|_| section == LedgerSection::Changed).and_then(|change| change.last);
    mark.unwrap_or(file.last)
}

/// ` (3 edits, +40 -5; parse, render)`
fn extent(change: &FileChange) -> String {
    let mut told = Vec::new();
    if change.edits > 1 {
        told.push(number_of(change.edits as usize, "edit"));
    }
    let lines = match (change.added, change.removed) {
        (0, 0) => None,
        (added, 0) => Some(format!("+{added}")),
        (0, removed) => Some(format!("-{removed}")),
        (added, removed) => Some(format!("+{added} -{removed}")),
    };
    told.extend(lines);
    let mut told = told.join(", ");
    if !change.symbols.is_empty() {
        if !told.is_empty() {
            told.push_str("; ");
        }
        told.push_str(&change.symbols.join(", "));
    }
    if told.is_empty() { told } else { format!(" ({told})") }
}

/// Nothing for a whole file, or ` lines 10-40, 80-`.
fn ranges(read: &FileRead) -> String {
    match read.whole {
        true => String::new(),
        false => lines_of(&read.ranges),
    }
}

/// The same for the last of them only.
fn last_ranges(read: &FileRead) -> String {
    const MOST: usize = 3;
    match read.whole {
        true => String::new(),
        false => lines_of(&read.ranges[read.ranges.len().saturating_sub(MOST)..]),
    }
}

fn lines_of(ranges: &[LineRange]) -> String {
    if ranges.is_empty() {
        return String::new();
    }
    let ranges = ranges.iter().map(|range| match range.last {
        Some(last) => format!("{}-{last}", range.first),
        None => format!("{}-", range.first),
    });
    format!(" lines {}", ranges.collect::<Vec<_>>().join(", "))
}

fn run_line(run: &RunEntry) -> LedgerLine {
    let kind = match run.purpose {
        CommandPurpose::Test => "tests",
        CommandPurpose::Build => "build",
        _ => "check",
    };
    let outcome = match run.outcome {
        WorkOutcome::Passed => "passed",
        WorkOutcome::Failed => "failed",
        WorkOutcome::Cancelled => "cancelled",
        WorkOutcome::Running => "running",
        WorkOutcome::Unclear => "ended, result not shown",
    };
    let counts: Vec<String> = [
        (run.passed, "passed"),
        (run.failed.filter(|failed| *failed > 0), "failed"),
        (run.skipped.filter(|skipped| *skipped > 0), "skipped"),
    ]
    .into_iter()
    .filter_map(|(count, word)| count.map(|count| format!("{count} {word}")))
    .collect();
    let mut text = format!("last {kind}: `{}` {outcome}", shown(&run.command));
    if !counts.is_empty() {
        text.push_str(&format!(" ({})", counts.join(", ")));
    }
    if !run.failing.is_empty() {
        text.push_str(&format!("; failing: {}", run.failing.join(", ")));
    }
    LedgerLine { section: LedgerSection::Runs, text, marks: vec![run.at] }
}

fn failing_line(command: &CommandEntry) -> LedgerLine {
    let code = command.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    let text = format!("`{}` failed{code}", shown(&command.text));
    LedgerLine { section: LedgerSection::Failing, text, marks: vec![command.at] }
}

fn error_line(error: &ErrorEntry) -> LedgerLine {
    let place = error
        .file
        .as_deref()
        .filter(|file| !error.message.contains(*file))
        .map(|file| format!(" in {file}"))
        .unwrap_or_default();
    let text = format!("error{place}: {}", one_line(&error.message));
    LedgerLine { section: LedgerSection::Errors, text, marks: vec![error.at] }
}

fn job_line(job: &JobEntry) -> LedgerLine {
    let kind = match job.kind {
        JobKind::Command => "background command",
        JobKind::Agent => "sub-agent",
    };
    let handle = job.handle.as_deref().map(|handle| format!(" ({handle})")).unwrap_or_default();
    let text = format!("{kind} running{handle}: {}", shown(&job.text));
    LedgerLine { section: LedgerSection::Jobs, text, marks: vec![job.at] }
}

/// A command as one line: its first, and a sign where there are more.
fn shown(command: &str) -> String {
    let mut lines = command.lines();
    let first = cut(lines.next().unwrap_or_default().trim(), SHOWN);
    if lines.next().is_some() && !first.ends_with('…') { format!("{first} …") } else { first }
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN + 40)
}

fn number_of(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(number)) }
}
