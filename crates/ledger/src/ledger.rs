//! The ledger: observes messages one by one, and pairs results with the calls that wait for them.

use std::collections::{BTreeMap, VecDeque};

use longhaul_conversation::{Body, CallId, Message, Ordinal, Origin, Role, Timestamp, ToolCall, ToolResult};
use longhaul_snapshot::lost_before;
use serde::{Deserialize, Serialize};

use crate::arguments::get;
use crate::calls::{CallContext, ParsedCall, parse_call};
use crate::commands::PendingCommand;
use crate::effect::FileEffect;
use crate::entries::{
    CommandEntry, CommitEntry, ErrorEntry, FileEntry, JobEntry, JobKind, RunEntry, TaskList,
};
use crate::excerpts::{cut, tail};
use crate::proposed::{ProposedEdits, TOOL_OUTPUT};
use crate::tools::ToolAction;
use crate::{outcome, paths, plan_state};

/// The record of work of one conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub(crate) messages: u32,
    /// The project's folder, where known.
    pub(crate) root: Option<String>,
    /// The shell's working directory, as seen from the project.
    pub(crate) directory: String,
    /// The file that an editor of commands has open.
    open_file: Option<String>,
    /// True if failing commands are told apart in this conversation: then one that is not said to fail has passed.
    pub(crate) tells_failures: bool,
    /// By comparable path.
    pub(crate) files: BTreeMap<String, FileEntry>,
    pub(crate) commands: Vec<CommandEntry>,
    pub(crate) runs: Vec<RunEntry>,
    pub(crate) errors: Vec<ErrorEntry>,
    pub(crate) jobs: Vec<JobEntry>,
    pub(crate) commits: Vec<CommitEntry>,
    pub(crate) plan: TaskList,
    open: VecDeque<PendingCall>,
    pub(crate) proposed: ProposedEdits,
}

/// A call that waits for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PendingCall {
    id: CallId,
    at: Ordinal,
    time: Option<Timestamp>,
    tool: String,
    expects: PendingResult,
}

/// The effects of a call that its result will decide about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum PendingResult {
    Files(Vec<FileEffect>),
    Command(PendingCommand),
    Agent { job: usize, in_background: bool },
    Job { handle: String, stops: bool },
    Nothing,
}

/// The number of calls that may wait for a result; the oldest are dropped first.
const MAX_PENDING_CALLS: usize = 256;
/// Commands and messages are cut behind this many characters.
pub(crate) const MAX_TEXT_CHARS: usize = 400;

impl Ledger {
    /// An empty ledger of work in `directory`.
    pub fn in_directory(directory: &str) -> Self {
        let mut ledger = Self::default();
        ledger.learn_root(directory);
        ledger
    }

    /// Observes one message: notes its calls, and what its results tell about earlier ones.
    pub fn observe(&mut self, message: &Message) {
        self.messages = self.messages.saturating_add(1);
        let at = message.ordinal.unwrap_or(Ordinal(self.messages));
        if let Some(snapshot) = lost_before(message, at) {
            self.restore(&snapshot);
        }
        for part in &message.parts {
            match &part.body {
                Body::Call(call) => self.call(call, at, message.at),
                Body::Result(result) => self.result(result, at, message.at),
                Body::Text(text) if matches!(part.origin, Origin::Hook | Origin::Tool) => {
                    self.notice(text, at);
                    self.note_report(text, at);
                }
                Body::Text(text) if message.role == Role::User && text.starts_with(TOOL_OUTPUT) => {
                    self.note_report(text, at);
                }
                Body::Text(text) if part.origin == Origin::Model => self.note_proposals(text, at),
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

    /// The shell's working directory, as seen from the project; empty for the project itself.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    fn call(&mut self, call: &ToolCall, at: Ordinal, time: Option<Timestamp>) {
        let around = CallContext { directory: &self.directory, open_file: self.open_file.as_deref() };
        let expects = match parse_call(call, &around) {
            ParsedCall::Files(effects) => PendingResult::Files(effects),
            ParsedCall::Shell { command, script, lasts, in_background } => {
                PendingResult::Command(self.start_command(&command, script, lasts, in_background, at))
            }
            ParsedCall::Plan(does) => {
                self.update_plan(does, call, at);
                PendingResult::Nothing
            }
            ParsedCall::Agent { text, in_background } => {
                PendingResult::Agent { job: self.start_job(JobKind::Agent, &text, None, at), in_background }
            }
            ParsedCall::AskJob(handle) => PendingResult::Job { handle, stops: false },
            ParsedCall::StopJob(handle) => PendingResult::Job { handle, stops: true },
            ParsedCall::Nothing => PendingResult::Nothing,
        };
        // Some agents report on their plan along with any other call.
        if get(&call.args, "task_progress").is_some() {
            self.update_plan(ToolAction::Plan, call, at);
        }
        if self.open.len() == MAX_PENDING_CALLS {
            self.open.pop_front();
        }
        self.open.push_back(PendingCall {
            id: call.id.clone(),
            at,
            time,
            tool: cut(&call.name, 80),
            expects,
        });
    }

    fn update_plan(&mut self, does: ToolAction, call: &ToolCall, at: Ordinal) {
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
        let mut answer = outcome::parse_result(result);
        if answer.millis.is_none() {
            let passed =
                open.time.zip(time).map(|(start, end)| end.as_millis().saturating_sub(start.as_millis()));
            answer.millis = passed.and_then(|millis| u64::try_from(millis).ok());
        }
        let went_to =
            if let PendingResult::Command(command) = &open.expects { command.goes_to() } else { None };
        self.note_surroundings(&answer.text, went_to);
        match open.expects {
            PendingResult::Files(effects) => self.finish_files(&effects, &open.tool, &answer, open.at),
            PendingResult::Command(command) => self.finish_command(&command, &answer, open.at),
            PendingResult::Agent { job, in_background } => self.finish_agent(job, in_background, &answer, at),
            PendingResult::Job { handle, stops } => self.update_job(&handle, stops, &answer, at),
            PendingResult::Nothing => {}
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

    pub(crate) fn seen_from_root(&self, directory: &str) -> String {
        let seen = paths::comparable(self.root.as_deref(), directory);
        if seen == "." { String::new() } else { seen }
    }
}

#[cfg(test)]
mod tests;
