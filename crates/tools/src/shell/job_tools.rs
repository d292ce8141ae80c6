//! The tools that look after commands in the background.

use longhaul_conversation::ToolDeclaration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::jobs::{Job, Jobs};
use super::output::KeptText;
use super::report::{span, standing};
use crate::{Answer, BoxFuture, Call, Outcome, Preview, Tool, parse_arguments, schema_of};

const READ: &str = "read_job_output";
const STOP: &str = "stop_job";

/// How much of the output is told when a job is stopped.
const LAST_LINES: usize = 20;
const LAST_BYTES: usize = 4 << 10;

/// The tool `read_job_output`.
#[derive(Clone, Debug)]
pub struct ReadJobOutput(Jobs);

/// The tool `stop_job`.
#[derive(Clone, Debug)]
pub struct StopJob(Jobs);

#[derive(Debug, Deserialize, JsonSchema)]
struct ReadArguments {
    /// The job, such as `job-1`.
    job: String,
    /// How many of its last lines are wanted. Without it, all that were kept.
    #[serde(default)]
    #[schemars(range(min = 1))]
    lines: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StopArguments {
    /// The job, such as `job-1`.
    job: String,
}

impl ReadJobOutput {
    /// Reads the output of these.
    pub fn new(jobs: Jobs) -> Self {
        Self(jobs)
    }

    fn find(&self, args: &Value) -> Result<(Job, Option<usize>), String> {
        let arguments: ReadArguments = parse_arguments(READ, args)?;
        Ok((find(&self.0, &arguments.job)?, arguments.lines))
    }
}

impl StopJob {
    /// Stops these.
    pub fn new(jobs: Jobs) -> Self {
        Self(jobs)
    }

    fn find(&self, args: &Value) -> Result<Job, String> {
        let arguments: StopArguments = parse_arguments(STOP, args)?;
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

/// How a job stands, and below it what it wrote.
fn tell(job: &Job, output: &str) -> String {
    let Job { name, command, .. } = job;
    let standing = match job.end() {
        None => format!("{} for {}", standing(None), span(job.started.elapsed())),
        end => standing(end),
    };
    match output.trim_end_matches('\n') {
        "" => format!("{standing} ({name}: {command}). No output."),
        output => format!("{standing} ({name}: {command}). Output:\n{output}"),
    }
}

impl Tool for ReadJobOutput {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: READ.to_string(),
            description: include_str!("../prompts/read_job_output.md").trim_end().to_string(),
            parameters: schema_of::<ReadArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let (job, _) = self.find(args)?;
        Ok(Preview::Look(format!("the output of {}", job.name)))
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            let (job, lines) = match self.find(call.args) {
                Ok(found) => found,
                Err(problem) => return Answer::failed(problem),
            };
            match lines {
                // What was asked for is shown whole, as far as it is kept.
                Some(lines) => {
                    Answer::succeeded(tell(&job, &job.output.lock().last_lines(lines, usize::MAX)))
                }
                None => {
                    let KeptText { text, left_out } = job.output.lock().text();
                    Answer::succeeded(tell(&job, &text)).leaving_out(left_out)
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
            parameters: schema_of::<StopArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let job = self.find(args)?;
        Ok(Preview::Other(format!("stop {}: {}", job.name, job.command)))
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            let mut job = match self.find(call.args) {
                Ok(found) => found,
                Err(problem) => return Answer::failed(problem),
            };
            let stop = async {
                job.stop().await;
                Answer::succeeded(tell(&job, &job.output.lock().last_lines(LAST_LINES, LAST_BYTES)))
            };
            tokio::select! {
                biased;
                answer = stop => answer,
                // It was told to stop, and does so without us.
                () = call.cancel.cancelled() => {
                    Answer::new(Outcome::Cancelled("The job is being stopped.".to_string()))
                }
            }
        })
    }
}
