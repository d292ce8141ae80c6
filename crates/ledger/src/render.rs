//! Renders the ledger as lines within a budget: what changed first, every file by its name, then what was run, then what was
//! read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use longhaul_conversation::{Ordinal, TokenCount, grouped};
use longhaul_snapshot::{DONE, IN_PROGRESS, TODO};

use super::entries::{
    CommitEntry, FileChange, FileEntry, FileRead, FileState, JobEntry, JobKind, LineRange, StepStatus,
    WorkOutcome,
};
use crate::excerpts::cut;
use crate::ledger::Ledger;
use crate::paths;
use crate::roots::ShownRoot;

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
    /// The last commands, each with its result.
    Actions,
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
        let root = self.shown_root();
        room.put(self.directory_line(&root));
        let files = self.files_before(before, &root);
        let (changed, read): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(_, file)| file.state.is_change());
        room.put_changed(changed, whole / 4 * 3);
        let actions = self.action_lines(before);
        let errors = self.error_lines(before, &actions);
        actions.into_iter().for_each(|line| room.put(Some(line)));
        self.job_lines(before).into_iter().for_each(|line| room.put(Some(line)));
        errors.into_iter().for_each(|line| room.put(Some(line)));
        self.commit_lines(before).into_iter().for_each(|line| room.put(Some(line)));
        let rest = room.left;
        room.put_read(read, rest);
        room.lines.sort_by_key(|line| {
            let at = line.marks.first().filter(|_| line.section == LedgerSection::Actions);
            (line.section, at.copied())
        });
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

    fn directory_line(&self, root: &ShownRoot) -> Option<LedgerLine> {
        let path = root.path.as_deref()?;
        let text = match (self.directory(), root.show(self.directory())) {
            ("", _) => format!("CWD: {path}"),
            (_, shown) if shown == "." => format!("CWD: {path}"),
            (_, shown) => format!("CWD: {path}, shell in {shown}"),
        };
        Some(LedgerLine { section: LedgerSection::Directory, text, marks: Vec::new() })
    }

    fn job_lines(&self, before: Ordinal) -> Vec<LedgerLine> {
        let is_running = |job: &&JobEntry| {
            job.at < before
                && (job.outcome == WorkOutcome::Running || job.ended.is_some_and(|ended| ended >= before))
        };
        self.jobs.iter().filter(is_running).map(job_line).collect()
    }

    fn commit_lines(&self, before: Ordinal) -> Vec<LedgerLine> {
        let commits: Vec<&CommitEntry> = self.commits.iter().filter(|commit| commit.at < before).collect();
        let from = commits.len().saturating_sub(MOST_COMMITS);
        let commits = commits[from..].iter().map(|commit| {
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

    /// Takes the files that changed within `share`: each by its name, and the newest with what changed in them. Those that
    /// are only named stand together by their folders; only if there is no room for all names, the oldest are counted.
    fn put_changed(&mut self, mut files: Vec<(String, Cow<'_, FileEntry>)>, share: usize) {
        let section = LedgerSection::Changed;
        let share = share.min(self.left);
        files.sort_by(|(a, one), (b, other)| rank(a, one, section).cmp(&rank(b, other, section)));
        let named: Vec<usize> = files.iter().map(|(path, _)| name_cost(path)).collect();
        let mut folders: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
        let mut used = 0;
        let mut shown = 0;
        for ((path, file), name) in files.iter().zip(&named) {
            let key = (paths::parent(path), file.state.as_str());
            let head = if folders.contains_key(&key) { 0 } else { key.0.chars().count() + key.1.len() + 9 };
            // A third stays for the count of those that have no room.
            let most = if used + name + head > share / 3 * 2 { share } else { share / 3 * 2 };
            if used + name + head > most {
                break;
            }
            used += name + head;
            shown += 1;
            *folders.entry(key).or_default() += 1;
        }
        let mut left = share - used;
        let mut lines: Vec<LedgerLine> = Vec::new();
        let mut together: Vec<&(String, Cow<'_, FileEntry>)> = Vec::new();
        let mut is_full = true;
        for (place, entry) in files[..shown].iter().enumerate() {
            let line = file_line(&entry.0, &entry.1, LedgerSection::Changed);
            let more = cost(&line).saturating_sub(named[place]);
            // The newest in full; behind the first that has no room they are only named.
            is_full &= more <= left && shown == files.len();
            if is_full {
                left -= more;
                lines.push(line);
            } else {
                together.push(entry);
            }
        }
        // In the order of the work, not backwards.
        let lasting = files[..lines.len()].iter().take_while(|(path, file)| !is_passing(path, file)).count();
        lines[..lasting].reverse();
        group(&together).into_iter().for_each(|line| self.put(Some(line)));
        lines.into_iter().for_each(|line| self.put(Some(line)));
        let rest: Vec<(&str, &FileEntry)> =
            files[shown..].iter().map(|(path, file)| (path.as_str(), &**file)).collect();
        fold(&rest, LedgerSection::Changed).into_iter().for_each(|line| self.put(Some(line)));
    }

    /// Takes the files that were only read within `share`: the newest one by one, the others folder by folder.
    fn put_read(&mut self, mut files: Vec<(String, Cow<'_, FileEntry>)>, share: usize) {
        let section = LedgerSection::Read;
        files.sort_by(|(a, one), (b, other)| rank(a, one, section).cmp(&rank(b, other, section)));
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
        let rest: Vec<(&str, &FileEntry)> =
            files[shown..].iter().map(|(path, file)| (path.as_str(), &**file)).collect();
        fold(&rest, section).into_iter().for_each(|line| self.put(Some(line)));
    }
}

/// The order in which files are shown: those that matter little last, the newest first.
fn rank<'f>(
    path: &'f str,
    file: &FileEntry,
    section: LedgerSection,
) -> (bool, std::cmp::Reverse<(Ordinal, &'f str)>) {
    (is_passing(path, file), std::cmp::Reverse((file_mark(file, section), path)))
}

/// The cost of a file that is only named beside others of its folder.
fn name_cost(path: &str) -> usize {
    paths::base_name(path).chars().count() + 2
}

/// One line for each folder and state with the names of the files: `modified in src/api: a.rs, b.rs`.
fn group(files: &[&(String, Cow<'_, FileEntry>)]) -> Vec<LedgerLine> {
    let mut folders: BTreeMap<(&str, &'static str), Vec<(&str, Ordinal)>> = BTreeMap::new();
    for (path, file) in files {
        let mark = file_mark(file, LedgerSection::Changed);
        folders.entry((paths::parent(path), file.state.as_str())).or_default().push((path, mark));
    }
    let lines = folders.into_iter().map(|((folder, state), files)| {
        let marks = files.iter().map(|(_, mark)| *mark).max().into_iter().collect();
        let text = match files[..] {
            [(path, _)] => format!("{path} {state}"),
            _ => {
                let names: Vec<&str> = files.iter().map(|(path, _)| paths::base_name(path)).collect();
                let place = if folder.is_empty() { String::new() } else { format!(" in {folder}") };
                format!("{state}{place}: {}", names.join(", "))
            }
        };
        LedgerLine { section: LedgerSection::Changed, text, marks }
    });
    lines.collect()
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

/// The message that a file's line comes from: the last change, or what was last done to the file.
fn file_mark(file: &FileEntry, section: LedgerSection) -> Ordinal {
    let is_edited = section == LedgerSection::Changed
        && matches!(file.state, FileState::Created | FileState::Modified | FileState::Restored);
    let change = file.change.as_ref().filter(|_| is_edited).and_then(|change| change.last);
    change.unwrap_or(file.last)
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
pub(crate) fn shown(command: &str) -> String {
    let mut lines = command.lines();
    let first = cut(lines.next().unwrap_or_default().trim(), SHOWN);
    if lines.next().is_some() && !first.ends_with('…') { format!("{first} …") } else { first }
}

pub(crate) fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN + 40)
}

fn number_of(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(number)) }
}
