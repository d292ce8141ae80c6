//! The name of this machine, and since when a process runs.

use std::fs;
use std::path::Path;

use longhaul_conversation::Timestamp;
use longhaul_skills::ProcessState;

/// Linux counts the time of processes in hundredths of a second for every program, whatever it uses itself.
const MILLIS_PER_TICK: i64 = 10;

/// The name of this machine, as far as it has one.
pub(super) fn host() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    files.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap_or_default().trim().to_string()
}

/// The state of the process with this number.
pub(super) fn look(process: u32) -> ProcessState {
    if !Path::new("/proc/self/stat").exists() {
        return ProcessState::Unknown;
    }
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => {
            let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
            ProcessState::Runs { since: started(&stat, &boot) }
        }
        Err(_) if Path::new(&format!("/proc/{process}")).exists() => ProcessState::Runs { since: None },
        Err(_) => ProcessState::Gone,
    }
}

/// When a process began, from what the system says of it and of its own start.
fn started(stat: &str, boot: &str) -> Option<Timestamp> {
    // The name of a program may have brackets and spaces in it; behind the last bracket there are numbers alone.
    let ticks: i64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let seconds: i64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(Timestamp::from_millis(
        seconds.checked_mul(1_000)?.checked_add(ticks.checked_mul(MILLIS_PER_TICK)?)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_read() {
        let stat = "5 (a) b) S 1 5 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 250 0 0";
        let at = started(stat, "cpu 1\nbtime 1000\n");
        assert_eq!(at, Some(Timestamp::from_millis(1_002_500)));
        for (stat, boot) in [("", "btime 1"), (stat, ""), (stat, "btime x"), ("5 (a) S 1", "btime 1")] {
            assert_eq!(started(stat, boot), None);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_and_others_do_not() {
        assert!(matches!(look(std::process::id()), ProcessState::Runs { since: Some(_) }));
        assert_eq!(look(u32::MAX - 1), ProcessState::Gone);
    }
}
