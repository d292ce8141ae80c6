//! Lets one extraction at a time work on a project, beside the lock file that Gemini CLI uses for the same.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{
    Creation, Lock, LockTimeout, WorkspaceError, create_private_atomically, write_private_atomically,
};
use serde_json::{Value, json};

use crate::SkillError;
use crate::read::read_text;

/// The time without a sign of life, in milliseconds, after which a holder counts as ended: 35 minutes.
const STALE_AFTER: i64 = 35 * 60 * 1000;

/// Clocks and the counting of processes differ by so much, in milliseconds.
const TOLERANCE: i64 = 5_000;

/// The process that wants the lock.
#[derive(Clone, Copy)]
pub struct Claimant<'a> {
    /// The number of its process.
    pub process: u32,
    /// The name of its machine.
    pub host: &'a str,
    /// Finds out what became of the process with this number on this machine.
    pub look: &'a dyn Fn(u32) -> ProcessState,
}

/// The state of the process that a number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// No process has it.
    Gone,
    /// One has it.
    Runs {
        /// Since when it runs, where the system tells. Numbers are given again: one that began later is another one.
        since: Option<Timestamp>,
    },
    /// The system does not say.
    Unknown,
}

/// The right to extract, until it is dropped.
///
/// Among ourselves the system's lock counts, which ends with its process: a number that is given to another process later
/// cannot hold it. The file tells other programs.
#[derive(Debug)]
pub struct ExtractionLock {
    path: PathBuf,
    /// The contents of the file, by which it is known again.
    text: String,
    process: u32,
    host: String,
    started: Timestamp,
    _lock: Lock,
}

impl ExtractionLock {
    /// Takes the lock; nothing if somebody else is at work.
    ///
    /// # Errors
    /// [`SkillError::Workspace`] where the file cannot be written.
    pub fn take(path: &Path, claimant: &Claimant<'_>, now: Timestamp) -> Result<Option<Self>, SkillError> {
        let lock = match Lock::beside(path, "extracting skills", LockTimeout::Immediate) {
            Ok(lock) => lock,
            Err(WorkspaceError::Locked { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = render(claimant.process, claimant.host, now, now);
        for _ in 0..2 {
            if create_private_atomically(path, text.as_bytes())? == Creation::Created {
                let (process, host) = (claimant.process, claimant.host.to_string());
                return Ok(Some(Self {
                    path: path.to_path_buf(),
                    text,
                    process,
                    host,
                    started: now,
                    _lock: lock,
                }));
            }
            if !is_stale(path, claimant, now) {
                return Ok(None);
            }
            let _ = fs::remove_file(path);
        }
        Ok(None)
    }

    /// Shows a sign of life, so that nobody takes long work for a crash.
    ///
    /// # Errors
    /// [`SkillError::Workspace`] where the file cannot be written.
    pub fn beat(&mut self, now: Timestamp) -> Result<(), SkillError> {
        self.text = render(self.process, &self.host, self.started, now);
        Ok(write_private_atomically(&self.path, self.text.as_bytes())?)
    }
}

impl Drop for ExtractionLock {
    fn drop(&mut self) {
        // Had we been taken for dead, it might be somebody else's by now.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn render(process: u32, host: &str, started: Timestamp, beat: Timestamp) -> String {
    let value = json!({
        "pid": process,
        "startedAt": started.to_string(),
        "host": host,
        "heartbeat": beat.to_string(),
        "program": "longhaul",
    });
    format!("{value}\n")
}

/// True if whoever wrote the file has ended.
fn is_stale(path: &Path, claimant: &Claimant<'_>, now: Timestamp) -> bool {
    let text = read_text(path).ok().and_then(Result::ok).unwrap_or_default();
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return true };
    let time = |key: &str| value.get(key).and_then(Value::as_str).and_then(Timestamp::parse);
    let (Some(seen), Some(process)) =
        (time("heartbeat").or(time("startedAt")), value.get("pid").and_then(Value::as_u64))
    else {
        return true;
    };
    if now.as_millis().saturating_sub(seen.as_millis()) > STALE_AFTER {
        return true;
    }
    // A process can be looked for only where it runs; who does not say where runs here.
    let is_here = value.get("host").and_then(Value::as_str).is_none_or(|host| host == claimant.host);
    // One of us would hold the system's lock, which is ours now.
    let is_ours = value.get("program").and_then(Value::as_str) == Some("longhaul");
    let started = time("startedAt").unwrap_or(seen);
    let has_ended = match u32::try_from(process).map(|process| (claimant.look)(process)) {
        Ok(ProcessState::Runs { since: Some(since) }) => {
            since.as_millis().saturating_sub(started.as_millis()) > TOLERANCE
        }
        Ok(ProcessState::Runs { since: None } | ProcessState::Unknown) => false,
        Ok(ProcessState::Gone) | Err(_) => true,
    };
    is_here && (is_ours || has_ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_767_323_045_000;
    const MINUTE: i64 = 60_000;

    const ALIVE: ProcessState = ProcessState::Runs { since: None };

    /// A process that runs for so many minutes.
    fn since(minutes: i64) -> ProcessState {
        ProcessState::Runs { since: Some(Timestamp::from_millis(NOW - minutes * MINUTE)) }
    }

    fn take_from(path: &Path, state: ProcessState) -> Option<ExtractionLock> {
        let claimant = Claimant { process: 7, host: "here", look: &|_| state };
        ExtractionLock::take(path, &claimant, Timestamp::from_millis(NOW)).unwrap()
    }

    /// Checks that the lock can, or cannot, be taken from whoever wrote this.
    #[track_caller]
    fn check(written: &str, state: ProcessState, is_taken: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".extraction.lock");
        fs::write(&path, written).unwrap();
        assert_eq!(take_from(&path, state).is_some(), is_taken, "{written}");
        assert_eq!(path.exists(), !is_taken, "a lock that ends leaves nothing, and another's stays");
    }

    fn file(minutes_ago: i64, more: &str) -> String {
        let at = Timestamp::from_millis(NOW - minutes_ago * MINUTE);
        format!("{{\"pid\": 5, \"startedAt\": \"{at}\"{more}}}")
    }

    #[test]
    fn a_living_program_is_left_alone() {
        check(&file(1, ""), ALIVE, false);
        check(&file(1, ""), ProcessState::Unknown, false);
        check(&file(1, ""), since(9), false);
        check(&file(34, ""), ALIVE, false);
        check(&file(1, ", \"host\": \"elsewhere\""), ProcessState::Gone, false);
        let beating = Timestamp::from_millis(NOW - MINUTE);
        check(&file(90, &format!(", \"heartbeat\": \"{beating}\"")), ALIVE, false);
    }

    #[test]
    fn what_a_crash_left_is_taken_over() {
        check(&file(1, ""), ProcessState::Gone, true);
        check(&file(36, ""), ALIVE, true);
        check(&file(36, ", \"host\": \"elsewhere\""), ALIVE, true);
        check("", ALIVE, true);
        check("{\"pid\": \"x\"}", ALIVE, true);
        // The number was given to another process, which began later.
        check(&file(9, ""), since(1), true);
        // The number of one of us was given to another process.
        check(&file(1, ", \"host\": \"here\", \"program\": \"longhaul\""), ALIVE, true);
    }

    #[test]
    fn of_two_one_works_and_the_other_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/.extraction.lock");
        let mut lock = take_from(&path, ALIVE).expect("it is free");
        assert!(take_from(&path, ALIVE).is_none());
        lock.beat(Timestamp::from_millis(NOW + MINUTE)).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("heartbeat"));
        drop(lock);
        assert!(!path.exists() && take_from(&path, ALIVE).is_some());
    }
}
