//! Runs commands for the model, to their end or in the background.

mod job_tools;
mod jobs;
mod output;
mod pipe;
mod report;
mod run;
mod screen;
#[cfg(all(test, unix))]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longhaul_conversation::ToolDeclaration;
use longhaul_workspace::CommandLine;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::{Answer, BoxFuture, Call, Outcome, Preview, Roots, Tool, parse_arguments, schema_of};
use output::Output;
use report::{LeftBehind, report};
use run::{End, Limits, Running};

pub use job_tools::{ReadJobOutput, StopJob};
pub use jobs::{Jobs, RunningJob};

const NAME: &str = "run_shell_command";

/// How long a command in the background is waited for: what fails, mostly fails at once.
const EARLY: Duration = Duration::from_millis(500);

/// How much somebody who watches sees of the output: the last lines, and of these the last bytes.
const PROGRESS_LINES: usize = 20;
const PROGRESS_BYTES: usize = 4 << 10;

/// What commands find in their environment whatever was there: nobody is at a terminal, and nobody can turn a page.
const VARIABLES: [(&str, &str); 6] = [
    ("LONGHAUL", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// How commands are run.
#[derive(Clone, Debug)]
pub struct ShellSettings {
    /// The variables that commands inherit. Secrets have been taken out.
    pub environment: Vec<(OsString, OsString)>,
    /// How long a command may go on without writing anything, unless its call names a timeout.
    pub inactivity: Option<Duration>,
    /// How long a command may run in all, whatever timeout its call names. What runs in the background is not limited by it.
    pub total: Option<Duration>,
    /// How long a command has to end by itself once it is told to.
    pub grace: Duration,
    /// How much of an output is kept, in bytes: a quarter from its beginning, the rest from its end.
    pub max_output: usize,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            environment: Vec::new(),
            inactivity: Some(Duration::from_secs(600)),
            total: None,
            grace: Duration::from_secs(5),
            max_output: 8 << 20,
        }
    }
}

/// The tool `run_shell_command`. Who follows a call's progress hears the last lines of the output as they stand.
#[derive(Clone, Debug)]
pub struct RunShellCommand {
    roots: Roots,
    settings: Arc<ShellSettings>,
    jobs: Jobs,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The command line.
    command: String,
    /// What the command does, in a short sentence for the user.
    #[serde(default, rename = "description")]
    _description: Option<String>,
    /// The folder to run it in, inside the workspace. Without it, the workspace's first folder.
    #[serde(default, alias = "dir_path")]
    directory: Option<String>,
    /// After how many seconds the command is stopped.
    #[serde(default)]
    #[schemars(range(min = 1))]
    timeout_seconds: Option<u64>,
    /// Whether the command goes on after the call has been answered.
    #[serde(default)]
    is_background: Option<bool>,
}

/// A call that was found in order.
struct Task {
    command: String,
    directory: PathBuf,
    timeout: Option<Duration>,
    is_background: bool,
}

impl RunShellCommand {
    /// Commands run inside of `roots`; those that go on in the background are kept in `jobs`.
    pub fn new(roots: Roots, mut settings: ShellSettings, jobs: Jobs) -> Self {
        settings.environment.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        Self { roots, settings: Arc::new(settings), jobs }
    }

    fn task(&self, args: &Value) -> Result<Task, String> {
        let arguments: Arguments = parse_arguments(NAME, args)?;
        if arguments.command.trim().is_empty() {
            return Err("The command is empty.".to_string());
        }
        if arguments.timeout_seconds == Some(0) {
            return Err("timeout_seconds has to be at least 1.".to_string());
        }
        let directory = match arguments.directory.as_deref() {
            None | Some("") => self.roots.first().to_path_buf(),
            Some(directory) => {
                let place = self.roots.resolve(directory).map_err(|refusal| format!("{refusal}."))?;
                if !place.is_dir() {
                    return Err(format!("{directory:?} is not a folder."));
                }
                place
            }
        };
        Ok(Task {
            command: arguments.command,
            directory,
            timeout: arguments.timeout_seconds.map(Duration::from_secs),
            is_background: arguments.is_background.unwrap_or_default(),
        })
    }

    async fn answer(&self, call: Call<'_>) -> Answer {
        let task = match self.task(call.args) {
            Ok(task) => task,
            Err(problem) => return Answer::failed(problem),
        };
        if call.cancel.is_cancelled() {
            return Answer::new(Outcome::Cancelled("The command was not started.".to_string()));
        }
        let line = CommandLine {
            text: &task.command,
            folder: &task.directory,
            environment: &self.settings.environment,
        };
        match Running::start(line, self.settings.max_output) {
            Ok(running) if task.is_background => self.run_in_background(running, &task, call).await,
            Ok(running) => self.run_to_end(running, &task, call).await,
            Err(error) => Answer::failed(format!("The command could not be started: {error}.")),
        }
    }

    async fn run_to_end(&self, mut running: Running, task: &Task, call: Call<'_>) -> Answer {
        let limits = match task.timeout {
            // Who says how long it takes may mean that it is silent for so long.
            Some(stated) => {
                let total = self.settings.total.map_or(stated, |most| most.min(stated));
                Limits { total: Some(total), silence: None }
            }
            None => Limits { total: self.settings.total, silence: self.settings.inactivity },
        };
        let hear = |output: &Output| (call.progress)(&output.last_lines(PROGRESS_LINES, PROGRESS_BYTES));
        let end = running.follow(limits, self.settings.grace, call.cancel, &hear).await;
        let (took, output) = (running.elapsed(), running.output.lock().text());
        let left = match end {
            _ if !running.process.is_alive() => LeftBehind::Nothing,
            End::Ended(_) => {
                let pids = running.process.members();
                let grace = self.settings.grace;
                let job = self.jobs.take_over(running.for_job(), &task.command, Limits::default(), grace);
                return report(&output, end, took, &LeftBehind::Job { pids, name: job.name });
            }
            // What was stopped does not go on as a job.
            _ => LeftBehind::OutOfReach { pids: running.process.members() },
        };
        self.jobs.keep_open(running.let_go());
        report(&output, end, took, &left)
    }

    async fn run_in_background(&self, running: Running, task: &Task, call: Call<'_>) -> Answer {
        let limits = Limits { total: task.timeout, silence: None };
        let mut job = self.jobs.take_over(running.for_job(), &task.command, limits, self.settings.grace);
        let early = tokio::select! {
            biased;
            () = call.cancel.cancelled() => Some(job.stop().await),
            end = timeout(EARLY, job.wait()) => end.ok(),
        };
        let output = job.output.lock().text();
        if let Some(end) = early {
            return report(&output, end, job.started.elapsed(), &LeftBehind::Nothing);
        }
        let pid = job.pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
        let mut text = format!("Running in the background as {}{pid}.", job.name);
        if !output.text.trim().is_empty() {
            text.push_str(&format!(" Its output so far:\n{}", output.text.trim_end_matches('\n')));
        }
        Answer::succeeded(text).leaving_out(output.left_out)
    }
}

impl Tool for RunShellCommand {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("../prompts/run_shell_command.md").trim_end().to_string(),
            parameters: schema_of::<Arguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let Task { command, directory, is_background, .. } = self.task(args)?;
        Ok(Preview::Command { command, directory, is_background })
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(self.answer(call))
    }
}
