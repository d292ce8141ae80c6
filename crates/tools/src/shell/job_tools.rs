//! The tools for background jobs.

use longhaul_conversation::ToolDeclaration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::jobs::{Job, Jobs};
use super::output::KeptText;
use super::report::{duration, job_status};
use crate::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation, ToolOutcome, parse_arguments, schema_of};

const READ: &str = "read_job_output";
const STOP: &str = "stop_job";

/// The most output shown when a job is stopped.
const LAST_LINES: usize = 20;
const LAST_BYTES: usize = 4 << 10;

/// The tool `read_job_output`.
#[derive(Clone, Debug)]
pub struct ReadJobOutput(Jobs);

/// The tool `stop_job`.
#[derive(Clone, Debug)]
pub struct StopJob(Jobs);

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadJobOutputArguments {
    /// The job, such as `job-1`.
    job: String,
    /// How many of its last lines are wanted. Without it, all that were kept.
    #[serde(default)]
    #[schemars(range(min = 1))]
    lines: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StopJobArguments {
    /// The job, such as `job-1`.
    job: String,
}

impl ReadJobOutput {
    /// Reads the output of these jobs.
    pub fn new(jobs: Jobs) -> Self {
        Self(jobs)
    }

    fn find(&self, args: &Value) -> Result<(Job, Option<usize>), String> {
        let arguments: ReadJobOutputArguments = parse_arguments(READ, args)?;
        Ok((find(&self.0, &arguments.job)?, arguments.lines))
    }
}

impl StopJob {
    /// Stops these jobs.
    pub fn new(jobs: Jobs) -> Self {
        Self(jobs)
    }

    fn find(&self, args: &Value) -> Result<Job, String> {
        let arguments: StopJobArguments = parse_arguments(STOP, args)?;
        find(&self.0, &arguments.job)
    }
}

fn find(jobs: &Jobs, name: &str) -> Result<Job, String> {
    jobs.find(name).ok_or_else(|| {
        let running: Vec<String> = jobs.running().iter().map(ToString::to_string).collect();
        match running.is_empty() {
            true => format!("There is no job {name:?}, and none is running."),
            false => format!("There is no job {name:?}. These run: {}.", running.join(", ")),
        }
    })
}

/// The status of a job, followed by its output.
fn describe(job: &Job, output: &str) -> String {
    let Job { name, command, .. } = job;
    let status = match job.end() {
        None => format!("{} for {}", job_status(None), duration(job.started.elapsed())),
        end => job_status(end),
    };
    match output.trim_end_matches('\n') {
        "" => format!("{status} ({name}: {command}). No output."),
        output => format!("{status} ({name}: {command}). Output:\n{output}"),
    }
}

impl Tool for ReadJobOutput {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: READ.to_string(),
            description: include_str!("../prompts/read_job_output.md").trim_end().to_string(),
            parameters: schema_of::<ReadJobOutputArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let (job, _) = self.find(args)?;
        Ok(Preview::Look(format!("the output of {}", job.name)))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async {
            let (job, lines) = match self.find(call.args) {
                Ok(found) => found,
                Err(problem) => return ToolAnswer::failed(problem),
            };
            match lines {
                // The requested lines are shown in full, as far as they were kept.
                Some(lines) => {
                    ToolAnswer::succeeded(describe(&job, &job.output.lock().last_lines(lines, usize::MAX)))
                }
                None => {
                    let KeptText { text, left_out } = job.output.lock().text();
                    ToolAnswer::succeeded(describe(&job, &text)).leaving_out(left_out)
                }
            }
        })
    }
}

impl Tool for StopJob {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: STOP.to_string(),
            description: include_str!("../prompts/stop_job.md").trim_end().to_string(),
            parameters: schema_of::<StopJobArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let job = self.find(args)?;
        Ok(Preview::Other(format!("stop {}: {}", job.name, job.command)))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async {
            let mut job = match self.find(call.args) {
                Ok(found) => found,
                Err(problem) => return ToolAnswer::failed(problem),
            };
            let stop = async {
                job.stop().await;
                ToolAnswer::succeeded(describe(&job, &job.output.lock().last_lines(LAST_LINES, LAST_BYTES)))
            };
            tokio::select! {
                biased;
                answer = stop => answer,
                // The job stops on its own.
                () = call.cancel.cancelled() => {
                    ToolAnswer::new(ToolOutcome::Cancelled("The job is being stopped.".to_string()))
                }
            }
        })
    }
}
