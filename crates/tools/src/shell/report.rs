//! The report about a command, for the model.

use std::time::Duration;

use longhaul_workspace::ProcessEnd;

use super::output::KeptText;
use super::run::RunEnd;
use crate::{ToolAnswer, ToolOutcome};

/// Processes that outlive their command. Not every system lists their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Survivors {
    /// None.
    Nothing,
    /// They continue as a job.
    Job { pids: Vec<u32>, name: String },
    /// They survived being killed: another user's processes, or stuck in the system.
    OutOfReach { pids: Vec<u32> },
}

/// The answer for a command that has ended: its output, then its end.
pub(super) fn report(output: &KeptText, end: RunEnd, took: Duration, left: &Survivors) -> ToolAnswer {
    let left_out = output.left_out;
    let output = output.text.trim_end_matches('\n');
    let mut lines = vec![if output.is_empty() { "(no output)" } else { output }.to_string(), state(end)];
    if took > Duration::from_secs(1) {
        lines.push(format!("Duration: {}", duration(took)));
    }
    match left {
        Survivors::Nothing => {}
        Survivors::Job { pids, name } => {
            if !pids.is_empty() {
                lines.push(format!("Background PIDs: {}", list(pids)));
            }
            lines.push(format!("Running in the background as {name}."));
        }
        Survivors::OutOfReach { pids } if pids.is_empty() => {
            lines.push("Some of its processes could not be stopped.".to_string());
        }
        Survivors::OutOfReach { pids } => {
            lines.push(format!("Could not be stopped: PIDs {}", list(pids)));
        }
    }
    let text = lines.join("\n");
    ToolAnswer::new(match end {
        RunEnd::Ended(ProcessEnd::Code(0)) => ToolOutcome::Succeeded(text),
        RunEnd::Cancelled => ToolOutcome::Cancelled(text),
        _ => ToolOutcome::Failed(text),
    })
    .leaving_out(left_out)
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// The end of a command, as a line.
fn state(end: RunEnd) -> String {
    match end {
        RunEnd::Ended(ProcessEnd::Code(code)) => format!("Exit code: {code}"),
        RunEnd::Ended(ProcessEnd::Signal(signal)) => format!("Signal: {}", signal_name(signal)),
        RunEnd::TimedOut(limit) => {
            format!("Stopped: it had not ended after {}, its time limit.", duration(limit))
        }
        RunEnd::Silent(limit) => format!(
            "Stopped: it wrote nothing for {}. If it takes longer than that, set timeout_seconds or is_background.",
            duration(limit)
        ),
        RunEnd::Cancelled => "Stopped: the call was cancelled.".to_string(),
    }
}

/// The state of a background command, as the start of a line.
pub(super) fn job_status(end: Option<RunEnd>) -> String {
    match end {
        None => "Command is running".to_string(),
        Some(RunEnd::Ended(ProcessEnd::Code(code))) => format!("Command exited with code {code}"),
        Some(RunEnd::Ended(ProcessEnd::Signal(signal))) => {
            format!("Command was ended by signal {}", signal_name(signal))
        }
        Some(RunEnd::TimedOut(limit)) => {
            format!("Command was stopped after {}, its time limit", duration(limit))
        }
        Some(RunEnd::Silent(limit)) => {
            format!("Command was stopped after {} without output", duration(limit))
        }
        Some(RunEnd::Cancelled) => "Command was stopped".to_string(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        _ => return signal.to_string(),
    };
    format!("{signal} ({name})")
}

/// A duration for people, such as `3.2 s` or `2 min 5 s`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, _) if time.subsec_millis() < 50 => format!("{seconds} s"),
        (0, _) => format!("{:.1} s", time.as_secs_f64()),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, rest) => format!("{minutes} min {rest} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(900);

    fn kept(text: &str) -> KeptText {
        KeptText { text: text.to_string(), left_out: 0 }
    }

    #[track_caller]
    fn check(output: &str, end: RunEnd, took: Duration, expected: &ToolOutcome) {
        assert_eq!(report(&kept(output), end, took, &Survivors::Nothing).outcome, *expected);
    }

    #[test]
    fn the_output_comes_first_then_how_it_ended() {
        let code = |code| RunEnd::Ended(ProcessEnd::Code(code));
        check("hi\n", code(0), SHORT, &ToolOutcome::Succeeded("hi\nExit code: 0".into()));
        check("", code(3), SHORT, &ToolOutcome::Failed("(no output)\nExit code: 3".into()));
        let killed = RunEnd::Ended(ProcessEnd::Signal(9));
        check("a", killed, SHORT, &ToolOutcome::Failed("a\nSignal: 9 (KILL)".into()));
        check(
            "a",
            RunEnd::Ended(ProcessEnd::Signal(64)),
            SHORT,
            &ToolOutcome::Failed("a\nSignal: 64".into()),
        );
        let long = Duration::from_millis(63_200);
        check("a", code(0), long, &ToolOutcome::Succeeded("a\nExit code: 0\nDuration: 1 min 3 s".into()));
        let cancelled = "a\nStopped: the call was cancelled.".into();
        check("a", RunEnd::Cancelled, SHORT, &ToolOutcome::Cancelled(cancelled));
        let timed_out = "a\nStopped: it had not ended after 2 s, its time limit.\nDuration: 2.1 s".into();
        let took = Duration::from_millis(2_100);
        check("a", RunEnd::TimedOut(Duration::from_secs(2)), took, &ToolOutcome::Failed(timed_out));
    }

    #[test]
    fn what_is_left_behind_is_named() {
        let job = |pids: &[u32]| Survivors::Job { pids: pids.to_vec(), name: "job-2".into() };
        let stuck = |pids: &[u32]| Survivors::OutOfReach { pids: pids.to_vec() };
        let (ended, stopped) = (RunEnd::Ended(ProcessEnd::Code(0)), RunEnd::Cancelled);
        for (end, left, expected) in [
            (
                ended,
                job(&[7, 12]),
                "Exit code: 0\nBackground PIDs: 7, 12\nRunning in the background as job-2.",
            ),
            (ended, job(&[]), "Exit code: 0\nRunning in the background as job-2."),
            (stopped, stuck(&[7]), "Stopped: the call was cancelled.\nCould not be stopped: PIDs 7"),
            (
                stopped,
                stuck(&[]),
                "Stopped: the call was cancelled.\nSome of its processes could not be stopped.",
            ),
        ] {
            assert_eq!(report(&kept("a"), end, SHORT, &left).outcome.text(), format!("a\n{expected}"));
        }
    }

    #[test]
    fn times_are_told_as_people_say_them() {
        for (millis, expected) in
            [(0, "0 s"), (1_000, "1 s"), (1_250, "1.2 s"), (60_000, "1 min"), (605_000, "10 min 5 s")]
        {
            assert_eq!(duration(Duration::from_millis(millis)), expected);
        }
    }
}
