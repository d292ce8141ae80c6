//! Running of one command with input and a timeout.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use longhaul_workspace::{CommandLine, Process, ProcessEnd};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::output::HookExit;

/// The time a command gets to end by itself after it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// The time to wait for output after the command has ended, since a process it started may keep the pipe open.
const LINGER: Duration = Duration::from_millis(250);

/// The most bytes of output kept.
const MAX_OUTPUT: usize = 4 << 20;

/// A command to run.
pub(crate) struct HookProcess<'a> {
    pub(crate) command_line: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
}

/// The result of a command.
pub(crate) struct FinishedProcess {
    pub(crate) exit: HookExit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command until it ends, its timeout is over, or it is cancelled.
pub(crate) async fn run(task: HookProcess<'_>, cancel: &CancellationToken) -> FinishedProcess {
    let line = CommandLine {
        text: task.command_line,
        folder: task.folder,
        environment: &task.environment,
        sandbox: None,
    };
    let started = line.start(|command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(())
    });
    let mut process = match started {
        Ok(process) => process,
        Err(error) => {
            let (stdout, stderr) = (String::new(), String::new());
            return FinishedProcess { exit: HookExit::NotStarted(error.to_string()), stdout, stderr };
        }
    };
    let child = process.child();
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (ended, mut end) = watch::channel(false);
    let input = async {
        if let Some(mut stdin) = stdin {
            // A hook need not read its input.
            let _ = stdin.write_all(&task.input).await;
        }
    };
    // Input and output go on at the same time: each may be larger than a pipe's buffer.
    let feed = async {
        tokio::select! {
            () = input => {}
            _ = end.wait_for(|ended| *ended) => {}
        }
    };
    let wait = async {
        let exit = wait(&mut process, task.timeout, cancel).await;
        ended.send_replace(true);
        exit
    };
    let (exit, (), stdout, stderr) =
        tokio::join!(wait, feed, read(stdout, ended.subscribe()), read(stderr, ended.subscribe()));
    process.let_go();
    FinishedProcess { exit, stdout, stderr }
}

/// Waits for the end, and forces it on timeout or cancellation.
async fn wait(process: &mut Process, limit: Duration, cancel: &CancellationToken) -> HookExit {
    let why = tokio::select! {
        biased;
        () = cancel.cancelled() => HookExit::Cancelled,
        ended = timeout(limit, process.wait()) => match ended {
            Ok(Ok(ProcessEnd::Code(code))) => return HookExit::Code(code),
            Ok(Ok(ProcessEnd::Signal(signal))) => return HookExit::Signal(signal),
            Ok(Err(error)) => HookExit::NotStarted(error.to_string()),
            Err(_) => HookExit::TimedOut,
        },
    };
    process.stop(GRACE).await;
    why
}

/// Reads everything and keeps the beginning. After the command has ended, late output is not awaited.
async fn read(source: Option<impl AsyncRead + Unpin>, mut end: watch::Receiver<bool>) -> String {
    let Some(mut source) = source else { return String::new() };
    let mut kept = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    let late = async {
        let _ = end.wait_for(|ended| *ended).await;
        tokio::time::sleep(LINGER).await;
    };
    tokio::pin!(late);
    loop {
        let count = tokio::select! {
            biased;
            count = source.read(&mut buffer) => count.unwrap_or(0),
            () = &mut late => 0,
        };
        if count == 0 {
            break;
        }
        let room = MAX_OUTPUT - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
