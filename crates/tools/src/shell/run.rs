//! A running command: reads its output and stops it if it must.

use std::convert::Infallible;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_workspace::{CommandLine, Process, ProcessEnd};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::output::CommandOutput;
use super::pipe::{Pipe, pipe};

/// The time to wait for output after the command has ended, since a process it started may keep the pipe open.
const LINGER: Duration = Duration::from_millis(250);

/// The shortest time between two progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The bytes read at once.
const CHUNK: usize = 64 << 10;

/// The time limits of a command. None is longer than [`RunLimits::LONGEST`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunLimits {
    /// The total time.
    pub(super) total: Option<Duration>,
    /// The time without output.
    pub(super) silence: Option<Duration>,
}

impl RunLimits {
    /// Thirty days: practically forever, and safe to add to any time.
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The command ended by itself or by a signal from elsewhere.
    Ended(ProcessEnd),
    /// It exceeded the total time limit.
    TimedOut(Duration),
    /// It was silent for too long.
    Silent(Duration),
    /// The call was cancelled.
    Cancelled,
}

/// The shared output of a running command.
#[derive(Clone, Debug)]
pub(super) struct SharedOutput(Arc<Mutex<CommandOutput>>);

impl SharedOutput {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(CommandOutput::new(limit))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CommandOutput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running command. Dropping it kills the command and everything it started.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) process: Process,
    /// Open until the end of the output.
    pipe: Option<Pipe>,
    pub(super) output: SharedOutput,
    buffer: Vec<u8>,
    started: Instant,
}

impl Running {
    /// Starts a command, keeping about `limit` bytes of its output.
    ///
    /// # Errors
    /// The error of the system.
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

    /// The time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Follows the command to its end, stopping it if it must. Processes started by a command that ended by itself may
    /// still run. `on_output` is called now and then while there is output.
    pub(super) async fn follow(
        &mut self,
        limits: RunLimits,
        grace: Duration,
        cancel: &CancellationToken,
        on_output: &(dyn Fn(&CommandOutput) + Send + Sync),
    ) -> RunEnd {
        let end = self.follow_until(limits, cancel, on_output).await;
        if !matches!(end, RunEnd::Ended(_)) {
            self.stop(grace).await;
        }
        end
    }

    async fn follow_until(
        &mut self,
        limits: RunLimits,
        cancel: &CancellationToken,
        on_output: &(dyn Fn(&CommandOutput) + Send + Sync),
    ) -> RunEnd {
        let deadline = limits.total.map(|total| self.started + total.min(RunLimits::LONGEST));
        let mut last_output = Instant::now();
        let mut next_progress = None;
        let mut ended: Option<(ProcessEnd, Instant)> = None;
        loop {
            if let Some((ended, _)) = ended
                && self.pipe.is_none()
            {
                return RunEnd::Ended(ended);
            }
            let quiet = limits.silence.map(|silence| last_output + silence.min(RunLimits::LONGEST));
            let process = &mut self.process;
            // Output comes last: a flood must not starve the other branches.
            tokio::select! {
                biased;
                () = cancel.cancelled() => return RunEnd::Cancelled,
                result = process.wait(), if ended.is_none() => {
                    // If it cannot be waited for, the system has already forgotten it.
                    ended = Some((result.unwrap_or(ProcessEnd::Code(1)), Instant::now() + LINGER));
                }
                () = at(ended.map(|(_, late)| late)) => {
                    if let Some((ended, _)) = ended {
                        return RunEnd::Ended(ended);
                    }
                }
                () = at(deadline), if ended.is_none() => {
                    return RunEnd::TimedOut(limits.total.unwrap_or_default());
                }
                () = at(quiet), if ended.is_none() => {
                    return RunEnd::Silent(limits.silence.unwrap_or_default());
                }
                () = at(next_progress) => {
                    next_progress = None;
                    on_output(&self.output.lock());
                }
                () = take(&mut self.pipe, &mut self.buffer, &self.output) => {
                    // A task that waits beside this one only sees a stop request when this one yields.
                    tokio::task::yield_now().await;
                    last_output = Instant::now();
                    next_progress.get_or_insert(last_output + PROGRESS_EVERY);
                }
            }
        }
    }

    /// Follows the process group of an ended command until it is empty.
    pub(super) async fn follow_group(&mut self, grace: Duration, cancel: &CancellationToken) -> RunEnd {
        let Self { process, pipe, buffer, output, .. } = self;
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => RunEnd::Cancelled,
            ended = process.wait_for_group() => RunEnd::Ended(ended.unwrap_or(ProcessEnd::Code(1))),
            never = drain(pipe, buffer, output) => match never {},
        };
        match end {
            RunEnd::Cancelled => self.stop(grace).await,
            _ => self.read_rest().await,
        }
        end
    }

    /// Stops the command with all its processes, and reads their last output.
    async fn stop(&mut self, grace: Duration) {
        let Self { process, pipe, buffer, output, .. } = self;
        tokio::select! {
            biased;
            () = process.stop(grace) => {}
            never = drain(pipe, buffer, output) => match never {},
        }
        self.read_rest().await;
    }

    /// Reads the remaining output for a moment.
    async fn read_rest(&mut self) {
        let Self { pipe, buffer, output, .. } = self;
        let rest = async {
            while pipe.is_some() {
                take(pipe, buffer, output).await;
            }
        };
        let _ = timeout(LINGER, rest).await;
    }

    /// Starts a new output buffer; the old one has been reported.
    pub(super) fn with_new_output(mut self, limit: usize) -> Self {
        self.output = SharedOutput::new(limit);
        self
    }

    /// Releases the process, which has ended, and returns the pipe if it is still open.
    pub(super) fn release(self) -> Option<Pipe> {
        self.process.let_go();
        self.pipe
    }
}

/// Reads once, and closes the pipe at its end. Without a pipe it waits forever.
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

/// Reads forever.
async fn drain(pipe: &mut Option<Pipe>, buffer: &mut Vec<u8>, output: &SharedOutput) -> Infallible {
    loop {
        take(pipe, buffer, output).await;
    }
}

/// Waits until a time; forever if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
