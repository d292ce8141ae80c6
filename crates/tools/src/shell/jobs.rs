//! Background jobs: commands that outlive their call.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::run::{RunEnd, RunLimits, Running, SharedOutput};

/// The most bytes of output kept for a job.
const MAX_OUTPUT: usize = 1 << 20;

/// The most ended jobs remembered.
const ENDED_KEPT: usize = 32;

/// The background jobs. Clones share them; dropping the last clone kills all of them.
#[derive(Clone, Debug, Default)]
pub struct Jobs(Arc<Mutex<JobRegistry>>);

#[derive(Debug, Default)]
struct JobRegistry {
    jobs: VecDeque<Job>,
    started: u64,
    tasks: JoinSet<()>,
    /// Stops all jobs.
    closing: CancellationToken,
}

/// A handle to a background job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) pid: Option<u32>,
    pub(super) output: SharedOutput,
    pub(super) started: Instant,
    /// The end of the job, once it has ended.
    end: watch::Receiver<Option<RunEnd>>,
    stop: CancellationToken,
}

/// A running background job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningJob {
    /// The job's name.
    pub name: String,
    /// The command line.
    pub command: String,
}

/// `job-1 (npm start)`
impl fmt::Display for RunningJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.command)
    }
}

impl Jobs {
    /// Without jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The running jobs in the order they were started.
    pub fn running(&self) -> Vec<RunningJob> {
        let registry = self.lock();
        let running = registry.jobs.iter().filter(|job| job.end().is_none());
        running.map(|job| RunningJob { name: job.name.clone(), command: job.command.clone() }).collect()
    }

    /// Stops all jobs, also those started later.
    pub async fn stop_all(&self) {
        let mut tasks = {
            let mut registry = self.lock();
            registry.closing.cancel();
            std::mem::take(&mut registry.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    /// Adopts a running command as a job.
    pub(super) fn adopt(&self, running: Running, command: &str, limits: RunLimits, grace: Duration) -> Job {
        let mut registry = self.lock();
        registry.started += 1;
        let (ended, end) = watch::channel(None);
        let job = Job {
            name: format!("job-{}", registry.started),
            command: command.to_string(),
            pid: running.process.id(),
            output: running.output.clone(),
            started: Instant::now(),
            end,
            stop: registry.closing.child_token(),
        };
        registry.jobs.push_back(job.clone());
        registry.evict_oldest();
        let (stop, closing) = (job.stop.clone(), registry.closing.clone());
        registry.tasks.spawn(async move {
            let (end, pipe) = run_to_end(running, limits, grace, &stop).await;
            ended.send_replace(Some(end));
            discard(pipe, &closing).await;
        });
        job
    }

    /// Drains a pipe that unreachable processes still write to, because closing it would kill them.
    pub(super) fn keep_open(&self, pipe: Option<Pipe>) {
        let mut registry = self.lock();
        let closing = registry.closing.clone();
        registry.tasks.spawn(async move { discard(pipe, &closing).await });
    }

    /// Finds a job by name.
    pub(super) fn find(&self, name: &str) -> Option<Job> {
        self.lock().jobs.iter().find(|job| job.name == name.trim()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, JobRegistry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobRegistry {
    fn evict_oldest(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        let ended = self.jobs.iter().filter(|job| job.end().is_some()).count();
        if ended > ENDED_KEPT
            && let Some(oldest) = self.jobs.iter().position(|job| job.end().is_some())
        {
            self.jobs.remove(oldest);
        }
    }
}

impl Job {
    /// The end of the job, once it has ended.
    pub(super) fn end(&self) -> Option<RunEnd> {
        *self.end.borrow()
    }

    /// Waits for the end.
    pub(super) async fn wait(&mut self) -> RunEnd {
        // The sender is only dropped together with its process.
        let end = self.end.wait_for(Option::is_some).await.ok().and_then(|end| *end);
        end.unwrap_or(RunEnd::Cancelled)
    }

    /// Stops the job with all its processes.
    pub(super) async fn stop(&mut self) -> RunEnd {
        self.stop.cancel();
        self.wait().await
    }
}

impl Running {
    /// Restarts the output buffer for use as a job.
    pub(super) fn for_job(self) -> Self {
        self.with_new_output(MAX_OUTPUT)
    }
}

/// Follows a command until its process group is empty.
async fn run_to_end(
    mut running: Running,
    limits: RunLimits,
    grace: Duration,
    stop: &CancellationToken,
) -> (RunEnd, Option<Pipe>) {
    let end = running.follow(limits, grace, stop, &|_| ()).await;
    let end = match end {
        RunEnd::Ended(_) if running.process.is_alive() => running.follow_group(grace, stop).await,
        end => end,
    };
    (end, running.release())
}

/// Reads and discards a pipe to its end.
async fn discard(pipe: Option<Pipe>, closing: &CancellationToken) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = Vec::with_capacity(16 << 10);
    let read = async {
        while pipe.read(&mut buffer).await {
            buffer.clear();
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = read => {}
    }
}
