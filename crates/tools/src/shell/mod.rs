//! The tool `run_shell_command`: runs commands in the foreground or in the background.

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
use longhaul_workspace::{CommandLine, Sandbox};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    BoxFuture, PermittedEffects, Preview, Roots, Tool, ToolAnswer, ToolInvocation, ToolOutcome,
    parse_arguments, schema_of,
};
use output::CommandOutput;
use report::{Survivors, report};
use run::{RunEnd, RunLimits, Running};

pub use job_tools::{ReadJobOutput, StopJob};
pub use jobs::{Jobs, RunningJob};

const NAME: &str = "run_shell_command";

/// The time a background command is watched: most failures happen at once.
const EARLY: Duration = Duration::from_millis(500);

/// The most output sent as progress: the last lines, up to this many bytes.
const PROGRESS_LINES: usize = 20;
const PROGRESS_BYTES: usize = 4 << 10;

/// Environment variables set for all commands: no terminal, no pager, no prompts.
const VARIABLES: [(&str, &str); 6] = [
    ("LONGHAUL", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The same for a command that may only read. Git neither starts programs that a repository's configuration names, nor
/// fetches, nor refreshes its index, nor looks into submodules; and no file of settings makes `rg` or `cd` do more.
const READING_VARIABLES: [(&str, &str); 20] = [
    ("CDPATH", ""),
    ("RIPGREP_CONFIG_PATH", ""),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_CONFIG_COUNT", "7"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ("GIT_CONFIG_KEY_2", "core.pager"),
    ("GIT_CONFIG_VALUE_2", "cat"),
    ("GIT_CONFIG_KEY_3", "log.showSignature"),
    ("GIT_CONFIG_VALUE_3", "false"),
    ("GIT_CONFIG_KEY_4", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_4", "explicit"),
    ("GIT_CONFIG_KEY_5", "diff.ignoreSubmodules"),
    ("GIT_CONFIG_VALUE_5", "dirty"),
    ("GIT_CONFIG_KEY_6", "status.submoduleSummary"),
    ("GIT_CONFIG_VALUE_6", "false"),
];

/// The settings of `run_shell_command`.
#[derive(Clone, Debug)]
pub struct ShellSettings {
    /// The variables that commands inherit, without secrets.
    pub environment: Vec<(OsString, OsString)>,
    /// The sandbox of every command, if any.
    pub sandbox: Option<Sandbox>,
    /// The longest time without output, unless the call sets a timeout.
    pub inactivity: Option<Duration>,
    /// The longest running time, even if the call sets a longer timeout. Background commands are exempt.
    pub total: Option<Duration>,
    /// The time a command gets to end by itself after it was told to.
    pub grace: Duration,
    /// The most bytes of output kept: a quarter from the start, the rest from the end.
    pub max_output: usize,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            environment: Vec::new(),
            sandbox: None,
            inactivity: Some(Duration::from_secs(600)),
            total: None,
            grace: Duration::from_secs(5),
            max_output: 8 << 20,
        }
    }
}

/// The tool `run_shell_command`. Progress reports the last lines of the output.
#[derive(Clone, Debug)]
pub struct RunShellCommand {
    roots: Roots,
    settings: Arc<ShellSettings>,
    jobs: Jobs,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RunShellCommandArguments {
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

/// A validated call.
struct ShellTask {
    command: String,
    directory: PathBuf,
    timeout: Option<Duration>,
    is_background: bool,
}

impl RunShellCommand {
    /// Runs commands inside `roots`; background commands are kept in `jobs`.
    pub fn new(roots: Roots, mut settings: ShellSettings, jobs: Jobs) -> Self {
        settings.environment.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        Self { roots, settings: Arc::new(settings), jobs }
    }

    fn task(&self, args: &Value) -> Result<ShellTask, String> {
        let arguments: RunShellCommandArguments = parse_arguments(NAME, args)?;
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
        Ok(ShellTask {
            command: arguments.command,
            directory,
            timeout: arguments.timeout_seconds.map(Duration::from_secs),
            is_background: arguments.is_background.unwrap_or_default(),
        })
    }

    async fn answer(&self, call: ToolInvocation<'_>) -> ToolAnswer {
        let task = match self.task(call.args) {
            Ok(task) => task,
            Err(problem) => return ToolAnswer::failed(problem),
        };
        if call.cancel.is_cancelled() {
            return ToolAnswer::new(ToolOutcome::Cancelled("The command was not started.".to_string()));
        }
        let own = READING_VARIABLES.map(|(name, value)| (name.into(), value.into()));
        let environment = match call.permitted {
            PermittedEffects::Any => self.settings.environment.clone(),
            PermittedEffects::ReadingOnly => [&self.settings.environment[..], &own].concat(),
        };
        let line = CommandLine {
            text: &task.command,
            folder: &task.directory,
            environment: &environment,
            sandbox: self.settings.sandbox.as_ref(),
        };
        match Running::start(line, self.settings.max_output) {
            Ok(running) if task.is_background => self.run_in_background(running, &task, call).await,
            Ok(running) => self.run_to_end(running, &task, call).await,
            Err(error) => ToolAnswer::failed(format!("The command could not be started: {error}.")),
        }
    }

    async fn run_to_end(
        &self,
        mut running: Running,
        task: &ShellTask,
        call: ToolInvocation<'_>,
    ) -> ToolAnswer {
        let limits = match task.timeout {
            // A stated duration may be spent in silence.
            Some(stated) => {
                let total = self.settings.total.map_or(stated, |most| most.min(stated));
                RunLimits { total: Some(total), silence: None }
            }
            None => RunLimits { total: self.settings.total, silence: self.settings.inactivity },
        };
        let on_output =
            |output: &CommandOutput| (call.progress)(&output.last_lines(PROGRESS_LINES, PROGRESS_BYTES));
        let end = running.follow(limits, self.settings.grace, call.cancel, &on_output).await;
        let (took, output) = (running.elapsed(), running.output.lock().text());
        let left = match end {
            _ if !running.process.is_alive() => Survivors::Nothing,
            RunEnd::Ended(_) => {
                let pids = running.process.members();
                let grace = self.settings.grace;
                let job = self.jobs.adopt(running.for_job(), &task.command, RunLimits::default(), grace);
                return report(&output, end, took, &Survivors::Job { pids, name: job.name });
            }
            // A stopped command does not continue as a job.
            _ => Survivors::OutOfReach { pids: running.process.members() },
        };
        self.jobs.keep_open(running.release());
        report(&output, end, took, &left)
    }

    async fn run_in_background(
        &self,
        running: Running,
        task: &ShellTask,
        call: ToolInvocation<'_>,
    ) -> ToolAnswer {
        let limits = RunLimits { total: task.timeout, silence: None };
        let mut job = self.jobs.adopt(running.for_job(), &task.command, limits, self.settings.grace);
        let early = tokio::select! {
            biased;
            () = call.cancel.cancelled() => Some(job.stop().await),
            end = timeout(EARLY, job.wait()) => end.ok(),
        };
        let output = job.output.lock().text();
        if let Some(end) = early {
            return report(&output, end, job.started.elapsed(), &Survivors::Nothing);
        }
        let pid = job.pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
        let mut text = format!("Running in the background as {}{pid}.", job.name);
        if !output.text.trim().is_empty() {
            text.push_str(&format!(" Its output so far:\n{}", output.text.trim_end_matches('\n')));
        }
        ToolAnswer::succeeded(text).leaving_out(output.left_out)
    }
}

impl Tool for RunShellCommand {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("../prompts/run_shell_command.md").trim_end().to_string(),
            parameters: schema_of::<RunShellCommandArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let ShellTask { command, directory, is_background, .. } = self.task(args)?;
        Ok(Preview::Command { command, directory, is_background })
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(self.answer(call))
    }
}
