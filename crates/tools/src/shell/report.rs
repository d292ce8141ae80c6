//! How a command went, in words for the model.

use std::time::Duration;

use longhaul_workspace::ProcessEnd;

use super::output::KeptText;
use super::run::End;
use crate::{Answer, Outcome};

/// Processes of a command that outlive it. Not every system lists their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeftBehind {
    /// None.
    Nothing,
    /// They go on as a job of this name.
    Job { pids: Vec<u32>, name: String },
    /// They were killed and did not die: another user's processes, or stuck in the system.
    OutOfReach { pids: Vec<u32> },
}

/// The answer to a call whose command has ended: its output first, then how it ended.
pub(super) fn report(output: &KeptText, end: End, took: Duration, left: &LeftBehind) -> Answer {
    let left_out = output.left_out;
    let output = output.text.trim_end_matches('\n');
    let mut lines = vec![if output.is_empty() { "(no output)" } else { output }.to_string(), state(end)];
    if took > Duration::from_secs(1) {
        lines.push(format!("Duration: {}", span(took)));
    }
    match left {
        LeftBehind::Nothing => {}
        LeftBehind::Job { pids, name } => {
            if !pids.is_empty() {
                lines.push(format!("Background PIDs: {}", list(pids)));
            }
            lines.push(format!("Running in the background as {name}."));
        }
        LeftBehind::OutOfReach { pids } if pids.is_empty() => {
            lines.push("Some of its processes could not be stopped.".to_string());
        }
        LeftBehind::OutOfReach { pids } => {
            lines.push(format!("Could not be stopped: PIDs {}", list(pids)));
        }
    }
    let text = lines.join("\n");
    Answer::new(match end {
        End::Ended(ProcessEnd::Code(0)) => Outcome::Succeeded(text),
        End::Cancelled => Outcome::Cancelled(text),
        _ => Outcome::Failed(text),
    })
    .leaving_out(left_out)
}

fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// How a command ended, in a line.
fn state(end: End) -> String {
    match end {
        End::Ended(ProcessEnd::Code(code)) => format!("Exit code: {code}"),
        End::Ended(ProcessEnd::Signal(signal)) => format!("Signal: {}", signal_name(signal)),
        End::TimedOut(limit) => format!("Stopped: it had not ended after {}, its time limit.", span(limit)),
        End::Silent(limit) => format!(
            "Stopped: it wrote nothing for {}. If it takes longer than that, set timeout_seconds or is_background.",
            span(limit)
        ),
        End::Cancelled => "Stopped: the call was cancelled.".to_string(),
    }
}

/// How a command in the background stands, as the beginning of a line.
pub(super) fn standing(end: Option<End>) -> String {
    match end {
        None => "Command is running".to_string(),
        Some(End::Ended(ProcessEnd::Code(code))) => format!("Command exited with code {code}"),
        Some(End::Ended(ProcessEnd::Signal(signal))) => {
            format!("Command was ended by signal {}", signal_name(signal))
        }
        Some(End::TimedOut(limit)) => format!("Command was stopped after {}, its time limit", span(limit)),
        Some(End::Silent(limit)) => format!("Command was stopped after {} without output", span(limit)),
        Some(End::Cancelled) => "Command was stopped".to_string(),
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

/// A time as people say it: `3.2 s`, `2 min 5 s`.
pub(super) fn span(time: Duration) -> String {
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
    fn check(output: &str, end: End, took: Duration, expected: &Outcome) {
        assert_eq!(report(&kept(output), end, took, &LeftBehind::Nothing).outcome, *expected);
    }

    #[test]
    fn the_output_comes_first_then_how_it_ended() {
        let code = |code| End::Ended(ProcessEnd::Code(code));
        check("hi\n", code(0), SHORT, &Outcome::Succeeded("hi\nExit code: 0".into()));
        check("", code(3), SHORT, &Outcome::Failed("(no output)\nExit code: 3".into()));
        let killed = End::Ended(ProcessEnd::Signal(9));
        check("a", killed, SHORT, &Outcome::Failed("a\nSignal: 9 (KILL)".into()));
        check("a", End::Ended(ProcessEnd::Signal(64)), SHORT, &Outcome::Failed("a\nSignal: 64".into()));
        let long = Duration::from_millis(63_200);
        check("a", code(0), long, &Outcome::Succeeded("a\nExit code: 0\nDuration: 1 min 3 s".into()));
        let cancelled = "a\nStopped: the call was cancelled.".into();
        check("a", End::Cancelled, SHORT, &Outcome::Cancelled(cancelled));
        let timed_out = "a\nStopped: it had not ended after 2 s, its time limit.\nDuration: 2.1 s".into();
        let took = Duration::from_millis(2_100);
        check("a", End::TimedOut(Duration::from_secs(2)), took, &Outcome::Failed(timed_out));
    }

    #[test]
    fn what_is_left_behind_is_named() {
        let job = |pids: &[u32]| LeftBehind::Job { pids: pids.to_vec(), name: "job-2".into() };
        let stuck = |pids: &[u32]| LeftBehind::OutOfReach { pids: pids.to_vec() };
        let (ended, stopped) = (End::Ended(ProcessEnd::Code(0)), End::Cancelled);
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
            assert_eq!(span(Duration::from_millis(millis)), expected);
        }
    }
}
