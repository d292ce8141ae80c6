//! The record of work: files, commands, test runs, errors, plans and jobs.
//!
//! It is built from tool calls and their results, never from what a model says about them. [`Ledger::observe`] takes one
//! message at a time and never looks back; of calls that wait for a result it keeps only what the result will decide.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Role, TokenCount, ToolCall, ToolResult};
//! use longhaul_ledger::Ledger;
//!
//! let call = ToolCall::new("1", "run_shell_command").with_args(serde_json::json!({"command": "cargo test"}));
//! let result = ToolResult::text("1", "test result: FAILED. 12 passed; 1 failed; 0 ignored");
//! let mut ledger = Ledger::default();
//! ledger.observe(&Message::new("a", Role::Model, vec![Part::call(call)]));
//! ledger.observe(&Message::new("b", Role::User, vec![Part::result(result)]));
//! assert_eq!((ledger.runs()[0].passed, ledger.runs()[0].failed), (Some(12), Some(1)));
//! ```
//!
//! # To add a test runner
//!
//! Programs, tools and phrases are data, in `crates/ledger/data`; the top of each file explains its lines.
//!
//! 1. `runners.txt`: a line such as `test    deno test` makes a command a test run, a build or a check. A runner that others
//!    start (`npx`, `uv run`) needs nothing more; a launcher of its own is a line `launches`.
//! 2. `summaries.txt`: an entry with the line that the runner prints at its end, where the counts stand in it, and an `example`
//!    with what it must be read as. Another entry with `failing` finds the names of failing tests.
//! 3. `cargo test -p longhaul-ledger` reads every file and every example; an error names the file and the line.
//!
//! In the same way `tools.txt` and `fields.txt` take the tools of another agent, `programs.txt` takes what a program does to files,
//! `task_names.txt` what tasks of projects are called, `definitions.txt` the words of another language, `errors.txt` and
//! `answers.txt` what programs and agents say of errors.

mod arguments;
mod calls;
mod colours;
mod commands;
mod data;
mod effect;
mod entries;
mod errors;
mod fields;
mod files;
mod jobs;
mod numbers;
mod outcome;
mod patch;
mod paths;
mod plan_state;
mod recall;
mod render;
mod results;
mod shell;
mod summary;
mod symbols;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::{BTreeMap, VecDeque};

use arguments::get;
use calls::{Doing, Surroundings, read_call};
use commands::OpenCommand;
use effect::Effect;
pub use entries::{
    CommandEntry, CommandPurpose, CommitEntry, ErrorEntry, FileChange, FileEntry, FileRead, FileState,
    JobEntry, JobKind, LineRange, RunEntry, StepStatus, TaskList, TaskStep, WorkOutcome,
};
use longhaul_conversation::{Body, CallId, Message, Ordinal, Origin, Timestamp, ToolCall, ToolResult};
use longhaul_snapshot::lost_before;
pub use render::{LedgerLine, LedgerSection};
use serde::{Deserialize, Serialize};
pub use summary::{FileSummary, LedgerSummary, StateSummary};
use tools::ToolAction;

/// The record of work of one conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    messages: u32,
    /// The project's folder, where known.
    root: Option<String>,
    /// Where the shell stands, as seen from the project.
    directory: String,
    /// The file that an editor of commands has open.
    open_file: Option<String>,
    /// Whether failing commands are told apart in this conversation: then one that is not said to fail has passed.
    tells_failures: bool,
    /// By comparable path.
    files: BTreeMap<String, FileEntry>,
    commands: Vec<CommandEntry>,
    runs: Vec<RunEntry>,
    errors: Vec<ErrorEntry>,
    jobs: Vec<JobEntry>,
    commits: Vec<CommitEntry>,
    plan: TaskList,
    open: VecDeque<OpenCall>,
}

/// A call that waits for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OpenCall {
    id: CallId,
    at: Ordinal,
    time: Option<Timestamp>,
    tool: String,
    expects: Expects,
}

/// What the result of a call will decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Expects {
    Files(Vec<Effect>),
    Command(OpenCommand),
    Agent { job: usize, in_background: bool },
    Job { handle: String, stops: bool },
    Nothing,
}

/// Calls beyond this many are given up, oldest first: their results would have come long ago.
const MOST_OPEN: usize = 256;
/// Commands and messages are cut behind this many characters.
const LONGEST_TEXT: usize = 400;

impl Ledger {
    /// An empty ledger of work in `directory`.
    pub fn in_directory(directory: &str) -> Self {
        let mut ledger = Self::default();
        ledger.learn_root(directory);
        ledger
    }

    /// Takes in one message: notes its calls, and what its results tell about earlier ones.
    pub fn observe(&mut self, message: &Message) {
        self.messages = self.messages.saturating_add(1);
        let at = message.ordinal.unwrap_or(Ordinal(self.messages));
        if let Some(snapshot) = lost_before(message, at) {
            self.take_over(&snapshot);
        }
        for part in &message.parts {
            match &part.body {
                Body::Call(call) => self.call(call, at, message.at),
                Body::Result(result) => self.result(result, at, message.at),
                Body::Text(text) if matches!(part.origin, Origin::Hook | Origin::Tool) => {
                    self.notice(text, at);
                }
                _ => {}
            }
        }
    }

    /// The files that were touched, each with its path as seen from the project.
    pub fn files(&self) -> impl Iterator<Item = (&str, &FileEntry)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The file at a path, however the path is written.
    pub fn file(&self, path: &str) -> Option<&FileEntry> {
        self.files.get(&paths::comparable(self.root.as_deref(), path))
    }

    /// The commands that were run, in order.
    pub fn commands(&self) -> &[CommandEntry] {
        &self.commands
    }

    /// The runs of tests, builds and checkers, in order.
    pub fn runs(&self) -> &[RunEntry] {
        &self.runs
    }

    /// The errors that were met, in order.
    pub fn errors(&self) -> &[ErrorEntry] {
        &self.errors
    }

    /// Background commands and sub-agents, in order.
    pub fn jobs(&self) -> &[JobEntry] {
        &self.jobs
    }

    /// The commits that were made, in order.
    pub fn commits(&self) -> &[CommitEntry] {
        &self.commits
    }

    /// The plan as it was last written down.
    pub fn plan(&self) -> &TaskList {
        &self.plan
    }

    /// The project's folder, where the conversation tells it.
    pub fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// Where the shell stands, as seen from the project; empty for the project itself.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    fn call(&mut self, call: &ToolCall, at: Ordinal, time: Option<Timestamp>) {
        let around = Surroundings { directory: &self.directory, open_file: self.open_file.as_deref() };
        let expects = match read_call(call, &around) {
            Doing::Files(effects) => Expects::Files(effects),
            Doing::Shell { command, script, lasts, in_background } => {
                Expects::Command(self.command_called(&command, script, lasts, in_background, at))
            }
            Doing::Plan(does) => {
                self.plan_called(does, call, at);
                Expects::Nothing
            }
            Doing::Agent { text, in_background } => {
                Expects::Agent { job: self.job_started(JobKind::Agent, &text, None, at), in_background }
            }
            Doing::AskJob(handle) => Expects::Job { handle, stops: false },
            Doing::StopJob(handle) => Expects::Job { handle, stops: true },
            Doing::Nothing => Expects::Nothing,
        };
        // Some agents report on their plan along with any other call.
        if get(&call.args, "task_progress").is_some() {
            self.plan_called(ToolAction::Plan, call, at);
        }
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(OpenCall { id: call.id.clone(), at, time, tool: cut(&call.name, 80), expects });
    }

    fn plan_called(&mut self, does: ToolAction, call: &ToolCall, at: Ordinal) {
        match does {
            ToolAction::AddStep => self.plan.add(&call.args, at),
            ToolAction::UpdateStep => self.plan.update(&call.args, at),
            _ => {
                if let Some(plan) = plan_state::read_plan(&call.args, at) {
                    self.plan = plan;
                }
            }
        }
    }

    fn result(&mut self, result: &ToolResult, at: Ordinal, time: Option<Timestamp>) {
        let Some(place) = self.open.iter().rposition(|open| open.id == result.call) else { return };
        let Some(open) = self.open.remove(place) else { return };
        let mut answer = outcome::read_answer(result);
        if answer.millis.is_none() {
            let passed =
                open.time.zip(time).map(|(start, end)| end.as_millis().saturating_sub(start.as_millis()));
            answer.millis = passed.and_then(|millis| u64::try_from(millis).ok());
        }
        let went_to = if let Expects::Command(command) = &open.expects { command.goes_to() } else { None };
        self.note_surroundings(&answer.text, went_to);
        match open.expects {
            Expects::Files(effects) => self.files_answered(&effects, &open.tool, &answer, open.at),
            Expects::Command(command) => self.command_answered(&command, &answer, open.at),
            Expects::Agent { job, in_background } => self.agent_answered(job, in_background, &answer, at),
            Expects::Job { handle, stops } => self.job_answered(&handle, stops, &answer, at),
            Expects::Nothing => {}
        }
    }

    /// Shells and editors of commands tell behind their output where they stand and which file they have open.
    fn note_surroundings(&mut self, text: &str, went_to: Option<&str>) {
        for line in tail(text, 800).lines().rev().take(8) {
            let line = line.trim_start();
            if !line.starts_with(['(', '[', 'S']) {
                continue;
            }
            let line = line.trim_end();
            let directory = line
                .strip_prefix("(Current directory: ")
                .and_then(|rest| rest.strip_suffix(')'))
                .or_else(|| {
                    line.strip_prefix("[Current working directory: ").and_then(|rest| rest.strip_suffix(']'))
                })
                .or_else(|| line.strip_prefix("Shell cwd was reset to "));
            if let Some(directory) = directory {
                // Where a command went below the project, the project is above.
                let below = went_to.and_then(|below| directory.strip_suffix(below)?.strip_suffix('/'));
                self.learn_root(below.unwrap_or(directory));
                self.directory = self.seen_from_root(directory);
            } else if let Some(file) =
                line.strip_prefix("(Open file: ").and_then(|rest| rest.strip_suffix(')'))
            {
                self.open_file = paths::file_name(file).filter(|file| *file != "n/a").map(str::to_string);
            }
        }
    }

    /// Takes a directory as the project's, unless one is known already or it is scratch space. Files that were noted
    /// before are seen from there, too.
    pub fn learn_root(&mut self, directory: &str) {
        let directory = paths::normalise(directory.trim()).into_owned();
        let is_root = self.root.is_none() && paths::is_absolute(&directory) && directory.len() > 1;
        if !is_root || paths::is_scratch(&directory) {
            return;
        }
        self.root = Some(directory);
        let directory = std::mem::take(&mut self.directory);
        self.directory = self.seen_from_root(&directory);
        for (path, file) in std::mem::take(&mut self.files) {
            let path = paths::comparable(self.root.as_deref(), &path);
            match self.files.get_mut(&path) {
                Some(known) => known.merge(file),
                None => {
                    self.files.insert(path, file);
                }
            }
        }
    }

    fn seen_from_root(&self, directory: &str) -> String {
        let seen = paths::comparable(self.root.as_deref(), directory);
        if seen == "." { String::new() } else { seen }
    }
}

/// The text, cut at a character behind `most` characters.
fn cut(text: &str, most: usize) -> String {
    // There are no more characters than bytes.
    let end = if text.len() > most { text.char_indices().nth(most) } else { None };
    match end {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_string(),
    }
}

/// The last bytes of a text, from a character's start on.
fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The first bytes of a text, up to a character's end.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
