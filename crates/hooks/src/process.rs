//! Runs one command to its end, with something to read, for as long as it may.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use longhaul_workspace::{CommandLine, Process, ProcessEnd};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::output::Exit;

/// How long a command has to end by itself once it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// How long output is waited for when the command has ended: something that it started may keep its output open.
const LINGER: Duration = Duration::from_millis(250);

/// The most that is kept of what a command writes, in bytes.
const MAX_OUTPUT: usize = 4 << 20;

/// What to run.
pub(crate) struct Task<'a> {
    pub(crate) command_line: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
}

/// How it went.
pub(crate) struct Finished {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command line to its end, for as long as it may and its answer is wanted.
pub(crate) async fn run(task: Task<'_>, cancel: &CancellationToken) -> Finished {
    let line = CommandLine { text: task.command_line, folder: task.folder, environment: &task.environment };
    let started = line.start(|command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(())
    });
    let mut process = match started {
        Ok(process) => process,
        Err(error) => {
            let (stdout, stderr) = (String::new(), String::new());
            return Finished { exit: Exit::NotStarted(error.to_string()), stdout, stderr };
        }
    };
    let child = process.child();
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (ended, mut end) = watch::channel(false);
    let input = async {
        if let Some(mut stdin) = stdin {
            // A hook need not read what it is told.
            let _ = stdin.write_all(&task.input).await;
        }
    };
    // The input is given while the output is read: each may be more than a pipe holds.
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
    Finished { exit, stdout, stderr }
}

/// Waits for the end, and brings it about when time is up or nobody waits for the answer any more.
async fn wait(process: &mut Process, limit: Duration, cancel: &CancellationToken) -> Exit {
    let why = tokio::select! {
        biased;
        () = cancel.cancelled() => Exit::Cancelled,
        ended = timeout(limit, process.wait()) => match ended {
            Ok(Ok(ProcessEnd::Code(code))) => return Exit::Code(code),
            Ok(Ok(ProcessEnd::Signal(signal))) => return Exit::Signal(signal),
            Ok(Err(error)) => Exit::NotStarted(error.to_string()),
            Err(_) => Exit::TimedOut,
        },
    };
    process.stop(GRACE).await;
    why
}

/// Reads all that there is, and keeps the beginning. When the command has ended, what comes late is not waited for.
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
