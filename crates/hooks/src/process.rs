//! Runs one command in a process group of its own, and ends the whole group when it must.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
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
    let mut child = match spawn(&task) {
        Ok(child) => child,
        Err(error) => {
            let (stdout, stderr) = (String::new(), String::new());
            return Finished { exit: Exit::NotStarted(error.to_string()), stdout, stderr };
        }
    };
    let group = Group::of(&child);
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
        let exit = wait(&mut child, &group, task.timeout, cancel).await;
        ended.send_replace(true);
        exit
    };
    let (exit, (), stdout, stderr) =
        tokio::join!(wait, feed, read(stdout, ended.subscribe()), read(stderr, ended.subscribe()));
    group.forget();
    Finished { exit, stdout, stderr }
}

fn spawn(task: &Task<'_>) -> io::Result<Child> {
    if cfg!(windows) {
        return start("cmd", "/C", task);
    }
    // Hooks are written for bash; where there is none, most still run.
    start("bash", "-c", task).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound if task.folder.is_dir() => start("sh", "-c", task),
        _ => Err(error),
    })
}

fn start(shell: &str, flag: &str, task: &Task<'_>) -> io::Result<Child> {
    let mut command = Command::new(shell);
    command
        .arg(flag)
        .arg(task.command_line)
        .current_dir(task.folder)
        .env_clear()
        .envs(task.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

/// Waits for the end, and brings it about when time is up or nobody waits for the answer any more.
async fn wait(child: &mut Child, group: &Group, limit: Duration, cancel: &CancellationToken) -> Exit {
    let why = tokio::select! {
        biased;
        () = cancel.cancelled() => Exit::Cancelled,
        status = timeout(limit, child.wait()) => match status {
            Ok(Ok(status)) => return exit_of(status),
            Ok(Err(error)) => Exit::NotStarted(error.to_string()),
            Err(_) => Exit::TimedOut,
        },
    };
    group.signal(Urgency::Asked);
    let _ = timeout(GRACE, child.wait()).await;
    group.signal(Urgency::Forced);
    let _ = child.kill().await;
    why
}

fn exit_of(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    Exit::Code(status.code().unwrap_or(1))
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

#[derive(Clone, Copy)]
enum Urgency {
    Asked,
    Forced,
}

/// The process group of a command, which dies with this value unless it is forgotten.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
        Self { leader }
    }

    fn signal(&self, urgency: Urgency) {
        let signal = match urgency {
            Urgency::Asked => rustix::process::Signal::TERM,
            Urgency::Forced => rustix::process::Signal::KILL,
        };
        if let Some(leader) = self.leader {
            // Nobody may be left.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    /// Lets what the command left running live on.
    fn forget(mut self) {
        self.leader = None;
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_child: &Child) -> Self {
        Self {}
    }

    /// Elsewhere only the command itself can be killed, as [`wait`] does.
    fn signal(&self, _urgency: Urgency) {}

    fn forget(self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Urgency::Forced);
    }
}
