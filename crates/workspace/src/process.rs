//! Runs command lines in a shell, each in a process group of its own, and ends the whole group when it must.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::Sandbox;

/// After what time a group is first asked again whether it is empty, as no system tells; then after twice the time each.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The longest such time.
const LOOK_AT_LEAST: Duration = Duration::from_secs(1);

/// The longest wait for a group that was killed. Whoever is left then is out of reach: another user's, or stuck in the system.
const DEATH: Duration = Duration::from_secs(10);

/// A command line to run.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine<'a> {
    /// The command line, as a user would type it.
    pub text: &'a str,
    /// The folder it runs in.
    pub folder: &'a Path,
    /// Every variable that it finds in its environment; later ones replace earlier ones.
    pub environment: &'a [(OsString, OsString)],
    /// The sandbox that it runs in, if any.
    pub sandbox: Option<&'a Sandbox>,
}

impl CommandLine<'_> {
    /// Starts it by `bash`, or by `sh` where there is no `bash`; on Windows by `cmd`. What it reads from and writes to is
    /// connected by `connect`.
    ///
    /// # Errors
    /// The system's, if it could not be started, or that of `connect`.
    pub fn start(&self, connect: impl Fn(&mut Command) -> io::Result<()>) -> io::Result<Process> {
        if cfg!(windows) {
            return self.start_by("cmd", "/C", &connect);
        }
        self.start_by("bash", "-c", &connect).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound if self.folder.is_dir() => self.start_by("sh", "-c", &connect),
            _ => Err(error),
        })
    }

    fn start_by(
        &self,
        shell: &str,
        flag: &str,
        connect: impl Fn(&mut Command) -> io::Result<()>,
    ) -> io::Result<Process> {
        let mut command = Command::new(shell);
        command
            .arg(flag)
            .arg(self.text)
            .current_dir(self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        connect(&mut command)?;
        let child = match self.sandbox {
            None => command.spawn()?,
            Some(sandbox) => {
                let runtime = tokio::runtime::Handle::current();
                sandbox.run(|| {
                    let _runtime = runtime.enter();
                    command.spawn()
                })?
            }
        };
        let group = ProcessGroup::of(&child);
        Ok(Process { child, group })
    }
}

/// A process with its group, which is all killed when this value is dropped, unless it is let go.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: ProcessGroup,
}

/// The end of a process: by itself, or ended by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Process {
    /// The number by which the system knows it, until it has ended.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The process itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for its end, whatever it has started. May be dropped and called again.
    ///
    /// # Errors
    /// The system's.
    pub async fn wait(&mut self) -> io::Result<ProcessEnd> {
        self.child.wait().await.map(ProcessEnd::from)
    }

    /// Waits until nobody of its group is left.
    ///
    /// # Errors
    /// The system's.
    pub async fn wait_for_group(&mut self) -> io::Result<ProcessEnd> {
        let ended = self.wait().await?;
        let mut pause = LOOK_AGAIN;
        while self.group.is_alive() {
            sleep(pause).await;
            pause = (pause * 2).min(LOOK_AT_LEAST);
        }
        Ok(ended)
    }

    /// The processes of its group that still run, itself among them. Where the system does not list them, there are none.
    pub fn members(&self) -> Vec<u32> {
        self.group.members().unwrap_or_default()
    }

    /// True if somebody of its group still runs.
    pub fn is_alive(&self) -> bool {
        self.group.is_alive()
    }

    /// Asks the whole group to end, kills whoever is left after `grace`, and waits for their death.
    pub async fn stop(&mut self, grace: Duration) {
        self.group.signal(Urgency::Asked);
        let _ = timeout(grace, self.wait_for_group()).await;
        self.group.signal(Urgency::Forced);
        // It may have ended, and then there is nothing to kill.
        let _ = self.child.kill().await;
        // A signal is delivered when the system gets to it. The death is real even where the runtime's time is not.
        let late = Instant::now() + DEATH;
        while self.group.is_alive() && Instant::now() < late {
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Lets what the process has started live on.
    pub fn let_go(mut self) {
        self.group.forget();
    }
}

impl From<ExitStatus> for ProcessEnd {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        Self::Code(status.code().unwrap_or(1))
    }
}

#[derive(Clone, Copy)]
enum Urgency {
    Asked,
    Forced,
}

/// A process group, which dies with this value unless it is forgotten.
#[derive(Debug)]
struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl ProcessGroup {
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

    fn is_alive(&self) -> bool {
        let Some(leader) = self.leader else { return false };
        // A group of the dead that nobody has buried still answers; only the list tells.
        rustix::process::test_kill_process_group(leader).is_ok()
            && self.members().is_none_or(|members| !members.is_empty())
    }

    /// The living processes of the group, in order, where the system lists its processes as Linux does.
    fn members(&self) -> Option<Vec<u32>> {
        let leader = self.leader?.as_raw_nonzero().get();
        let mut members: Vec<u32> = std::fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| {
                let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
                (living_group(&stat)? == leader).then_some(id)
            })
            .collect();
        members.sort_unstable();
        // Without a single process to be seen this is no list of processes.
        (!members.is_empty() || Path::new("/proc/self/stat").exists()).then_some(members)
    }

    fn forget(&mut self) {
        self.leader = None;
    }
}

/// The group of a process by its line in `/proc`, unless it is dead: `12 (a name) S 1 12 ...`.
#[cfg(unix)]
fn living_group(stat: &str) -> Option<i32> {
    // A name may hold anything, brackets too.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?;
    (!matches!(state, "Z" | "X")).then(|| group.parse().ok()).flatten()
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_child: &Child) -> Self {
        Self {}
    }

    /// Elsewhere only the process itself can be killed, as [`Process::stop`] does.
    fn signal(&self, _urgency: Urgency) {}

    fn is_alive(&self) -> bool {
        false
    }

    fn members(&self) -> Option<Vec<u32>> {
        None
    }

    fn forget(&mut self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Urgency::Forced);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt, BufReader};

    const LONG: Duration = Duration::from_secs(600);

    fn start(text: &str) -> Process {
        let environment: Vec<_> = std::env::vars_os().collect();
        let line = CommandLine { text, folder: Path::new("/"), environment: &environment, sandbox: None };
        let connect = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            Ok(())
        };
        line.start(connect).unwrap()
    }

    /// Starts a command, and waits until it says something.
    async fn start_and_hear(text: &str) -> Process {
        let mut process = start(text);
        let stdout = process.child().stdout.take().unwrap();
        assert!(BufReader::new(stdout).lines().next_line().await.unwrap().is_some());
        process
    }

    #[tokio::test]
    async fn a_process_ends_in_its_own_way() {
        for (text, expected) in [
            ("exit 0", ProcessEnd::Code(0)),
            ("exit 7", ProcessEnd::Code(7)),
            ("kill -9 $$", ProcessEnd::Signal(9)),
        ] {
            assert_eq!(start(text).wait().await.unwrap(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn the_whole_group_is_stopped() {
        let mut process = start_and_hear("sleep 600 & echo on; wait").await;
        assert_eq!(process.members().len(), 2);
        process.stop(LONG).await;
        assert!(!process.is_alive());
        assert_eq!(process.wait().await.unwrap(), ProcessEnd::Signal(15));
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_listen_is_killed() {
        let mut process = start_and_hear("trap '' TERM; (echo on; while :; do sleep 1; done) & wait").await;
        process.stop(Duration::from_millis(1)).await;
        process.wait_for_group().await.unwrap();
        assert_eq!(process.wait().await.unwrap(), ProcessEnd::Signal(9));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_left_when_stop_returns() {
        // Whoever is busy gets the signal when it is next its turn, long after the one that waits for it.
        let text = "trap '' TERM; for i in {1..20}; do (while :; do :; done) & done; echo on; wait";
        let mut process = start_and_hear(text).await;
        assert_eq!(process.members().len(), 21);
        process.stop(Duration::from_millis(1)).await;
        assert_eq!(process.members(), Vec::<u32>::new());
    }

    #[tokio::test]
    async fn what_a_process_left_behind_is_known() {
        let mut process = start_and_hear("exec 3>&1; sleep 600 >/dev/null & echo on >&3").await;
        assert_eq!(process.wait().await.unwrap(), ProcessEnd::Code(0));
        assert_eq!(process.members().len(), 1);
        process.stop(LONG).await;
        assert!(process.members().is_empty());
    }

    #[test]
    fn the_group_of_a_living_process_is_read() {
        for (stat, expected) in [
            ("12 (sleep) S 1 11 11 0", Some(11)),
            ("12 (a) b (c) R 1 9 9", Some(9)),
            ("12 (sleep) Z 1 11 11", None),
            ("12 (sleep) S 1", None),
            ("", None),
            ("12 (sleep", None),
        ] {
            assert_eq!(living_group(stat), expected, "{stat}");
        }
    }
}
