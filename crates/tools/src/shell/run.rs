//! Runs one command: reads what it writes, and ends it when it must.

use std::convert::Infallible;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_workspace::{CommandLine, Process, ProcessEnd};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::output::Output;
use super::pipe::{Pipe, pipe};

/// How long output is waited for when the command has ended: something that it started may keep its output open.
const LINGER: Duration = Duration::from_millis(250);

/// How often somebody hears of output, at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How long a command may run. No limit is longer than [`Limits::LONGEST`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// In all.
    pub(super) total: Option<Duration>,
    /// Without writing anything.
    pub(super) silence: Option<Duration>,
}

impl Limits {
    /// Thirty days are as good as for ever, and can be added to any time.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, or by somebody else's signal.
    Ended(ProcessEnd),
    /// It took longer than this in all.
    TimedOut(Duration),
    /// It wrote nothing for so long.
    Silent(Duration),
    /// Nobody wants its answer any more.
    Cancelled,
}

/// The output of a command that runs, to be looked at by others.
#[derive(Clone, Debug)]
pub(super) struct SharedOutput(Arc<Mutex<Output>>);

impl SharedOutput {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Output::new(limit))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that runs. It dies with this value, and all that it has started.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) process: Process,
    /// Until its end.
    pipe: Option<Pipe>,
    pub(super) output: SharedOutput,
    buffer: Vec<u8>,
    started: Instant,
}

impl Running {
    /// Starts a command, of whose output about `limit` bytes are kept.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start(line: CommandLine<'_>, limit: usize) -> io::Result<Self> {
        let (inlet, pipe) = pipe()?;
        let process = line.start(|command| {
            command.stdin(Stdio::null());
            inlet.connect(command)
        })?;
        Ok(Self {
            process,
            pipe: Some(pipe),
            output: SharedOutput::new(limit),
            buffer: Vec::with_capacity(CHUNK),
            started: Instant::now(),
        })
    }

    /// How long it has been running.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Follows the command to its end, which is brought about if it has to be. What the command has started may then still
    /// run, if it ended by itself. `hear` is told now and then that there is more output.
    pub(super) async fn follow(
        &mut self,
        limits: Limits,
        grace: Duration,
        cancel: &CancellationToken,
        hear: &(dyn Fn(&Output) + Send + Sync),
    ) -> End {
        let end = self.follow_until(limits, cancel, hear).await;
        if !matches!(end, End::Ended(_)) {
            self.stop(grace).await;
        }
        end
    }

    async fn follow_until(
        &mut self,
        limits: Limits,
        cancel: &CancellationToken,
        hear: &(dyn Fn(&Output) + Send + Sync),
    ) -> End {
        let deadline = limits.total.map(|total| self.started + total.min(Limits::LONGEST));
        let mut last_output = Instant::now();
        let mut next_progress = None;
        let mut ended: Option<(ProcessEnd, Instant)> = None;
        loop {
            if let Some((ended, _)) = ended
                && self.pipe.is_none()
            {
                return End::Ended(ended);
            }
            let quiet = limits.silence.map(|silence| last_output + silence.min(Limits::LONGEST));
            let process = &mut self.process;
            // Output comes last: a flood must not keep anybody else from being heard.
            tokio::select! {
                biased;
                () = cancel.cancelled() => return End::Cancelled,
                result = process.wait(), if ended.is_none() => {
                    // That it cannot be waited for means that the system has already forgotten it.
                    ended = Some((result.unwrap_or(ProcessEnd::Code(1)), Instant::now() + LINGER));
                }
                () = at(ended.map(|(_, late)| late)) => {
                    if let Some((ended, _)) = ended {
                        return End::Ended(ended);
                    }
                }
                () = at(deadline), if ended.is_none() => {
                    return End::TimedOut(limits.total.unwrap_or_default());
                }
                () = at(quiet), if ended.is_none() => {
                    return End::Silent(limits.silence.unwrap_or_default());
                }
                () = at(next_progress) => {
                    next_progress = None;
                    hear(&self.output.lock());
                }
                () = take(&mut self.pipe, &mut self.buffer, &self.output) => {
                    // Whoever waits beside this hears of a request to stop only when it rests.
                    tokio::task::yield_now().await;
                    last_output = Instant::now();
                    next_progress.get_or_insert(last_output + PROGRESS_EVERY);
                }
            }
        }
    }

    /// Follows the command, which has ended, until all that it has started have ended too.
    pub(super) async fn follow_group(&mut self, grace: Duration, cancel: &CancellationToken) -> End {
        let Self { process, pipe, buffer, output, .. } = self;
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => End::Cancelled,
            ended = process.wait_for_group() => End::Ended(ended.unwrap_or(ProcessEnd::Code(1))),
            never = drain(pipe, buffer, output) => match never {},
        };
        match end {
            End::Cancelled => self.stop(grace).await,
            _ => self.read_rest().await,
        }
        end
    }

    /// Ends the command with all that it has started, and reads what they say to that.
    async fn stop(&mut self, grace: Duration) {
        let Self { process, pipe, buffer, output, .. } = self;
        tokio::select! {
            biased;
            () = process.stop(grace) => {}
            never = drain(pipe, buffer, output) => match never {},
        }
        self.read_rest().await;
    }

    /// Reads what is left, for a moment.
    async fn read_rest(&mut self) {
        let Self { pipe, buffer, output, .. } = self;
        let rest = async {
            while pipe.is_some() {
                take(pipe, buffer, output).await;
            }
        };
        let _ = timeout(LINGER, rest).await;
    }

    /// Goes on with an output of its own: what was written so far has been told.
    pub(super) fn with_new_output(mut self, limit: usize) -> Self {
        self.output = SharedOutput::new(limit);
        self
    }

    /// Nothing of it is left to be ended.
    pub(super) fn let_go(self) -> Option<Pipe> {
        self.process.let_go();
        self.pipe
    }
}

/// Reads once, and closes the pipe at its end. Without a pipe it waits for ever.
async fn take(pipe: &mut Option<Pipe>, buffer: &mut Vec<u8>, output: &SharedOutput) {
    let Some(open) = pipe else { return std::future::pending().await };
    buffer.clear();
    if open.read(buffer).await {
        output.lock().push(buffer);
    } else {
        *pipe = None;
        output.lock().finish();
    }
}

/// Reads for ever.
async fn drain(pipe: &mut Option<Pipe>, buffer: &mut Vec<u8>, output: &SharedOutput) -> Infallible {
    loop {
        take(pipe, buffer, output).await;
    }
}

/// At a time, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
