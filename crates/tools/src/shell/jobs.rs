//! The commands that go on after their call has been answered.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pipe::Pipe;
use super::run::{End, Limits, Running, SharedOutput};

/// How much is kept of the output of each, in bytes.
const MAX_OUTPUT: usize = 1 << 20;

/// How many are remembered after their end.
const ENDED_KEPT: usize = 32;

/// The commands that go on after their call has been answered. All who hold a clone see the same; when the last clone is
/// dropped, all of them are killed.
#[derive(Clone, Debug, Default)]
pub struct Jobs(Arc<Mutex<Registry>>);

#[derive(Debug, Default)]
struct Registry {
    jobs: VecDeque<Job>,
    started: u64,
    tasks: JoinSet<()>,
    /// Ends everything.
    closing: CancellationToken,
}

/// A command in the background, as others see it.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) pid: Option<u32>,
    pub(super) output: SharedOutput,
    pub(super) started: Instant,
    /// How it ended, once it has.
    end: watch::Receiver<Option<End>>,
    stop: CancellationToken,
}

/// A command that runs in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningJob {
    /// The name to ask for it by.
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
    /// No jobs so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those that run, in the order in which they were started.
    pub fn running(&self) -> Vec<RunningJob> {
        let registry = self.lock();
        let running = registry.jobs.iter().filter(|job| job.end().is_none());
        running.map(|job| RunningJob { name: job.name.clone(), command: job.command.clone() }).collect()
    }

    /// Ends all of them, and whatever is started later.
    pub async fn stop_all(&self) {
        let mut tasks = {
            let mut registry = self.lock();
            registry.closing.cancel();
            std::mem::take(&mut registry.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    /// Takes over a command, which from now on runs by itself.
    pub(super) fn take_over(&self, running: Running, command: &str, limits: Limits, grace: Duration) -> Job {
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
        registry.forget_the_oldest();
        let (stop, closing) = (job.stop.clone(), registry.closing.clone());
        registry.tasks.spawn(async move {
            let (end, pipe) = run_to_end(running, limits, grace, &stop).await;
            ended.send_replace(Some(end));
            discard(pipe, &closing).await;
        });
        job
    }

    /// Reads a pipe that somebody out of reach still writes into: if nobody did, they would die of it.
    pub(super) fn keep_open(&self, pipe: Option<Pipe>) {
        let mut registry = self.lock();
        let closing = registry.closing.clone();
        registry.tasks.spawn(async move { discard(pipe, &closing).await });
    }

    /// The job of this name.
    pub(super) fn find(&self, name: &str) -> Option<Job> {
        self.lock().jobs.iter().find(|job| job.name == name.trim()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    fn forget_the_oldest(&mut self) {
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
    /// How it ended, once it has.
    pub(super) fn end(&self) -> Option<End> {
        *self.end.borrow()
    }

    /// Waits for its end.
    pub(super) async fn wait(&mut self) -> End {
        // Who cannot tell any more was dropped together with its process.
        let end = self.end.wait_for(Option::is_some).await.ok().and_then(|end| *end);
        end.unwrap_or(End::Cancelled)
    }

    /// Ends it with all that it has started.
    pub(super) async fn stop(&mut self) -> End {
        self.stop.cancel();
        self.wait().await
    }
}

impl Running {
    /// The same command, whose output is now kept for a job.
    pub(super) fn for_job(self) -> Self {
        self.with_new_output(MAX_OUTPUT)
    }
}

/// Follows a command until nobody of its group is left.
async fn run_to_end(
    mut running: Running,
    limits: Limits,
    grace: Duration,
    stop: &CancellationToken,
) -> (End, Option<Pipe>) {
    let end = running.follow(limits, grace, stop, &|_| ()).await;
    let end = match end {
        End::Ended(_) if running.process.is_alive() => running.follow_group(grace, stop).await,
        end => end,
    };
    (end, running.let_go())
}

/// Reads to the end what nobody wants.
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
