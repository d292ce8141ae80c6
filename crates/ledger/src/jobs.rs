//! Keeps track of background commands and sub-agents.

use std::sync::LazyLock;

use longhaul_conversation::Ordinal;
use longhaul_text::AnyOf;

use super::entries::{JobEntry, JobKind, WorkOutcome};
use super::outcome::ParsedResult;
use crate::excerpts::{cut, head, tail};
use crate::ledger::{Ledger, MAX_TEXT_CHARS};

impl Ledger {
    /// Records a job that starts, and returns its index.
    pub(super) fn start_job(
        &mut self,
        kind: JobKind,
        text: &str,
        handle: Option<String>,
        at: Ordinal,
    ) -> usize {
        let text = cut(text.trim(), MAX_TEXT_CHARS);
        self.jobs.push(JobEntry { kind, text, handle, outcome: WorkOutcome::Running, at, ended: None });
        self.jobs.len() - 1
    }

    /// Records the result of the call that started a sub-agent: it has finished, or runs in the background.
    pub(super) fn finish_agent(
        &mut self,
        job: usize,
        in_background: bool,
        answer: &ParsedResult<'_>,
        at: Ordinal,
    ) {
        let Some(job) = self.jobs.get_mut(job) else { return };
        let start = head(&answer.text, 400);
        let goes_on = in_background || start.starts_with("Async agent launched");
        if goes_on && answer.outcome != WorkOutcome::Failed && answer.outcome != WorkOutcome::Cancelled {
            job.handle = word_after(start, &["agentId: ", "agent_id: ", "agent ID: ", "ID: "]);
            return;
        }
        job.ended = Some(at);
        job.outcome = match answer.outcome {
            WorkOutcome::Unclear | WorkOutcome::Running => WorkOutcome::Passed,
            outcome => outcome,
        };
    }

    /// Records the result of a call that asked for the state of a job, or stopped it.
    pub(super) fn update_job(&mut self, handle: &str, stops: bool, answer: &ParsedResult<'_>, at: Ordinal) {
        let text = &answer.text;
        let is_gone = text.contains("No task found")
            || text.contains("No shell found")
            || text.contains("not found with ID");
        let status = tag(text, "status").or_else(|| {
            let says = |words| tail(text, 400).contains(words) || head(text, 400).contains(words);
            if says("exited with code") {
                Some("completed")
            } else if head(text, 400).starts_with("Command was ended by signal") {
                Some("failed")
            } else {
                head(text, 400).starts_with("Command was stopped").then_some("stopped")
            }
        });
        let outcome = match (stops, status) {
            (true, _) if answer.outcome != WorkOutcome::Failed => Some(WorkOutcome::Cancelled),
            (_, Some("failed" | "error")) => Some(WorkOutcome::Failed),
            (_, Some("killed" | "stopped" | "cancelled")) => Some(WorkOutcome::Cancelled),
            (_, Some("completed" | "finished" | "done" | "success")) => {
                Some(if answer.outcome == WorkOutcome::Failed {
                    WorkOutcome::Failed
                } else {
                    WorkOutcome::Passed
                })
            }
            _ if is_gone => Some(WorkOutcome::Unclear),
            _ => None,
        };
        if let Some(outcome) = outcome {
            self.end_job(handle, outcome, at);
        }
    }

    /// Reads the notification of a host that a job has ended.
    pub(super) fn notice(&mut self, text: &str, at: Ordinal) {
        let Some(start) = text.find("<task-notification>") else { return };
        let notice = &text[start..];
        let outcome = match tag(notice, "status") {
            Some("completed") => WorkOutcome::Passed,
            Some("failed") => WorkOutcome::Failed,
            Some(_) => WorkOutcome::Cancelled,
            None => return,
        };
        if let Some(handle) = tag(notice, "task-id") {
            self.end_job(handle, outcome, at);
        }
    }

    fn end_job(&mut self, handle: &str, outcome: WorkOutcome, at: Ordinal) {
        let mut running = self.jobs.iter_mut().rev().filter(|job| job.outcome == WorkOutcome::Running);
        if let Some(job) = running.find(|job| job.handle.as_deref() == Some(handle)) {
            job.outcome = outcome;
            job.ended = Some(at);
        }
    }
}

/// The words before the name of a background command, in our own shell.
const AS_A_JOB: &str = "Running in the background as ";
/// Words before the id of a background command, at the beginning of an output.
const HANDLES: &[&str] = &[
    AS_A_JOB,
    "running in background with ID: ",
    "running with session ID ",
    "Background process started with PID ",
    "session ID ",
];
/// Words before the process id of a background command, at the end of an output.
const NUMBERS: &str = "Background PIDs: ";

static HANDLE_SEARCH: LazyLock<AnyOf> = LazyLock::new(|| AnyOf::new(&[HANDLES, &[NUMBERS]].concat()));

/// The id under which a shell says that a command goes on by itself.
pub(super) fn background_handle(text: &str) -> Option<String> {
    let (start, end) = (head(text, 400), tail(text, 400));
    // Most shells say nothing of the kind.
    let may_say = HANDLE_SEARCH.is_in(start) || HANDLE_SEARCH.is_in(end);
    may_say.then(|| handle_in(start, end)).flatten()
}

/// The id that a shell says in the first bytes of an output or in the last.
fn handle_in(start: &str, end: &str) -> Option<String> {
    word_after(start, HANDLES)
        // Prose may have the same words.
        .filter(|handle| handle.contains(|c: char| c.is_ascii_digit()))
        // What a command left running is told at the end, by its name or by its number.
        .or_else(|| word_after(end, &[AS_A_JOB]))
        .or_else(|| {
            let line = end.lines().rev().find_map(|line| line.strip_prefix(NUMBERS))?;
            line.split([',', ' ']).next().filter(|pid| pid.parse::<u32>().is_ok()).map(str::to_string)
        })
}

/// The word behind one of these beginnings.
fn word_after(text: &str, beginnings: &[&str]) -> Option<String> {
    let rest =
        beginnings.iter().find_map(|beginning| Some(&text[text.find(beginning)? + beginning.len()..]))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_string())
}

/// The text between a tag and its end.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let open = format!("<{name}>");
    let start = text.find(&open)? + open.len();
    let end = text[start..].find('<')?;
    Some(text[start..start + end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_handle(text: &str, expected: Option<&str>) {
        assert_eq!(background_handle(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn handles_are_found_at_both_ends() {
        let long = "word ".repeat(200);
        check_handle("Command running in background with ID: bash_1", Some("bash_1"));
        check_handle(&format!("{long}\nRunning in the background as job-2."), Some("job-2"));
        check_handle(&format!("{long}\nBackground PIDs: 12, 13\n"), Some("12"));
        check_handle(&format!("{long}session ID 3{long}"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_handle_is_passed_over(
            text in "(Running in the background as |running in background with ID: |running with |session ID |Background \
                |process started with PID |PIDs: |a_1|12|[\n, ]|[a-z ]{200}){0,12}"
        ) {
            let expected = handle_in(head(&text, 400), tail(&text, 400));
            proptest::prop_assert_eq!(background_handle(&text), expected);
        }
    }
}
