//! The last actions: what was run, and with what result, one line each.

use std::collections::HashSet;

use longhaul_conversation::Ordinal;

use super::commands::key_words;
use super::entries::{CommandEntry, CommandPurpose, ErrorEntry, RunEntry, WorkOutcome};
use crate::excerpts::cut;
use crate::ledger::Ledger;
use crate::render::{LedgerLine, LedgerSection, one_line, shown};

/// A failure that nobody came back to within so many commands no longer matters.
const RECENT: usize = 40;
const MOST_FAILING: usize = 5;
const MOST_ERRORS: usize = 6;
/// The number of last commands that are told whatever they did.
const LAST: usize = 5;
/// A failure so many messages back no longer matters, either.
const RECENT_MESSAGES: u32 = 150;
/// Characters of an error that stands behind its command.
const ERROR_CHARS: usize = 120;

impl Ledger {
    /// The actions before a message, the weightiest first: the newest run of each kind, commands that still fail, and the
    /// last ones. Each command is told once, by its newest run.
    pub(crate) fn action_lines(&self, before: Ordinal) -> Vec<LedgerLine> {
        let all = &self.commands[..self.commands.partition_point(|command| command.at < before)];
        let mut seen = HashSet::new();
        let recent: Vec<&CommandEntry> = all
            .iter()
            .rev()
            .filter(|command| command.purpose != CommandPurpose::Look)
            .filter(|command| command.outcome != WorkOutcome::Cancelled)
            .filter(|command| seen.insert(key_words(&command.text)))
            .take(RECENT)
            .collect();
        let runs = self.newest_runs(before);
        let of_run = |command: &&&CommandEntry| runs.iter().any(|run| is_of(run, command));
        let is_failing = |command: &&&CommandEntry| {
            command.outcome == WorkOutcome::Failed
                && command.fixed.is_none_or(|fixed| fixed >= before)
                && command.at >= self.recent_start(all, before)
        };
        // Commits and changes of files are told in the trail.
        let steps = self.files.values().flat_map(|file| &file.steps).map(|step| step.at);
        let in_trail: HashSet<Ordinal> = self.commits.iter().map(|commit| commit.at).chain(steps).collect();
        let is_last = |command: &&&CommandEntry| {
            !in_trail.contains(&command.at) && command.outcome != WorkOutcome::Running
        };
        let weighty = recent.iter().filter(of_run);
        let failing = recent.iter().filter(is_failing).take(MOST_FAILING);
        let last = recent.iter().filter(is_last).take(LAST);
        let mut told = HashSet::new();
        let mut lines: Vec<LedgerLine> = Vec::new();
        // A run may be further back than the recent commands.
        for run in &runs {
            if !recent.iter().any(|command| is_of(run, command)) {
                lines.push(line_of(&run.command, &run_result(run), run.at));
            }
        }
        for command in weighty.chain(failing).chain(last) {
            if told.insert((command.at, command.text.as_str())) {
                lines.push(line_of(&command.text, &self.result_of(command, before), command.at));
            }
        }
        lines
    }

    /// The first message that still counts as recent.
    fn recent_start(&self, commands: &[CommandEntry], before: Ordinal) -> Ordinal {
        let by_commands = commands.iter().rev().nth(RECENT).map_or(0, |command| command.at.0);
        let newest = commands.last().map_or(0, |last| last.at.0).max(self.messages);
        Ordinal(by_commands.max(before.0.min(newest).saturating_sub(RECENT_MESSAGES)))
    }

    /// The newest run of each kind before a message.
    fn newest_runs(&self, before: Ordinal) -> Vec<&RunEntry> {
        let purposes = [CommandPurpose::Test, CommandPurpose::Build, CommandPurpose::Check];
        let newest = purposes.into_iter().filter_map(|purpose| {
            let is_one = |run: &&RunEntry| {
                run.purpose == purpose && run.at < before && run.outcome != WorkOutcome::Cancelled
            };
            self.runs.iter().rev().find(is_one)
        });
        newest.collect()
    }

    /// The result of a command in a few words.
    fn result_of(&self, command: &CommandEntry, before: Ordinal) -> String {
        let run = self.runs.iter().rev().find(|run| is_of(run, command));
        let result = match run {
            Some(run) => run_result(run),
            None if command.outcome == WorkOutcome::Unclear => String::new(),
            None => outcome_words(command.outcome, command.exit_code),
        };
        let has_names = run.is_some_and(|run| !run.failing.is_empty());
        let error = self.errors.iter().find(|error| {
            !has_names && is_open(error, before) && error.at == command.at && error.source == command.text
        });
        match error.filter(|_| command.outcome == WorkOutcome::Failed) {
            Some(error) => format!("{result}: (tool) {}", cut(&one_line(&error.message), ERROR_CHARS)),
            None => result,
        }
    }

    /// Errors before a message that nothing had settled by then and that no line of `actions` tells.
    pub(crate) fn error_lines(&self, before: Ordinal, actions: &[LedgerLine]) -> Vec<LedgerLine> {
        let all = &self.commands[..self.commands.partition_point(|command| command.at < before)];
        let since = self.recent_start(all, before);
        // Of what one command met, the first error is enough.
        let told = actions.iter().filter(|line| line.text.contains("(tool) "));
        let told: HashSet<Ordinal> = told.flat_map(|line| line.marks.iter().copied()).collect();
        let is_told = |error: &ErrorEntry| told.contains(&error.at);
        let mut seen = HashSet::new();
        let open = self.errors.iter().rev().filter(|error| is_open(error, before) && error.at >= since);
        let open = open.filter(|error| !is_told(error) && seen.insert(&error.message));
        let mut lines: Vec<_> = open.take(MOST_ERRORS).map(error_line).collect();
        lines.reverse();
        lines
    }
}

fn is_open(error: &ErrorEntry, before: Ordinal) -> bool {
    error.at < before && error.fixed.is_none_or(|fixed| fixed >= before)
}

fn is_of(run: &RunEntry, command: &CommandEntry) -> bool {
    run.at == command.at && run.command == command.text
}

/// `` `cargo test` → 1 failed, 12 passed; failing: a::b ``
fn line_of(command: &str, result: &str, at: Ordinal) -> LedgerLine {
    let command = shown(main_line(command));
    let text = if result.is_empty() { format!("`{command}`") } else { format!("`{command}` → {result}") };
    LedgerLine { section: LedgerSection::Actions, text, marks: vec![at] }
}

/// The line of a script that tells what it is about: the last one that does more than prepare.
fn main_line(script: &str) -> &str {
    const PREPARING: [&str; 9] =
        ["cd ", "set ", "export ", "#", "echo ", "rm ", "cat >", "cat <<", "source "];
    let prepares = |line: &&str| {
        let name = line.split('=').next().unwrap_or_default();
        let assigns =
            name.len() < line.len() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_alone = !line.contains("&&");
        is_alone && (assigns || PREPARING.iter().any(|start| line.starts_with(start)))
    };
    if !script.trim().contains('\n') {
        return without_cd(script);
    }
    let lines = || script.lines().map(str::trim).filter(|line| line.len() > 2);
    let main = lines().rfind(|line| !prepares(line) && line.starts_with(|c: char| c.is_alphanumeric()));
    without_cd(main.or_else(|| lines().next()).unwrap_or(script))
}

/// A command without the change of directory that leads it in.
fn without_cd(command: &str) -> &str {
    let mut rest = command.trim();
    while rest.starts_with("cd ")
        && let Some((_, behind)) = rest.split_once("&&").filter(|(cd, _)| !cd.contains('\n'))
    {
        rest = behind.trim_start();
    }
    rest
}

fn run_result(run: &RunEntry) -> String {
    let failed = if run.purpose == CommandPurpose::Test { "failed" } else { "errors" };
    let counts: Vec<String> = [
        (run.failed.filter(|failed| *failed > 0), failed),
        (run.passed, "passed"),
        (run.skipped.filter(|skipped| *skipped > 0), "skipped"),
    ]
    .into_iter()
    .filter_map(|(count, word)| count.map(|count| format!("{count} {word}")))
    .collect();
    let counts = counts.join(", ");
    let mut text = match run.outcome {
        WorkOutcome::Passed | WorkOutcome::Failed if !counts.is_empty() => match run.outcome {
            WorkOutcome::Failed if run.failed.is_none_or(|failed| failed == 0) => {
                format!("failed ({counts})")
            }
            _ => counts,
        },
        outcome => outcome_words(outcome, None),
    };
    if !run.failing.is_empty() {
        text.push_str(&format!("; failing: {}", run.failing.join(", ")));
    }
    text
}

fn outcome_words(outcome: WorkOutcome, exit_code: Option<i32>) -> String {
    match (outcome, exit_code) {
        (WorkOutcome::Passed, _) => "ok".to_string(),
        (WorkOutcome::Failed, Some(code)) => format!("failed with exit code {code}"),
        (WorkOutcome::Failed, None) => "failed".to_string(),
        (WorkOutcome::Cancelled, _) => "cancelled".to_string(),
        (WorkOutcome::Running, _) => "still running".to_string(),
        (WorkOutcome::Unclear, _) => "ended, result not shown".to_string(),
    }
}

fn error_line(error: &ErrorEntry) -> LedgerLine {
    let place = error
        .file
        .as_deref()
        .filter(|file| !error.message.contains(*file))
        .map(|file| format!(" in {file}"))
        .unwrap_or_default();
    let message = one_line(&error.message);
    let text = match place.is_empty() && message.to_lowercase().starts_with("error") {
        true => format!("(tool) {message}"),
        false => format!("error{place}: (tool) {message}"),
    };
    LedgerLine { section: LedgerSection::Errors, text, marks: vec![error.at] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: &str) {
        assert_eq!(main_line(script), expected);
    }

    #[test]
    fn a_script_is_told_by_what_it_does() {
        check("cd /w/app && cargo test", "cargo test");
        check("tmp=$(mktemp)\ncat > $tmp <<EOF\nworkmux send $tmp\nrm $tmp", "workmux send $tmp");
        check("cd /w\nnpm run build", "npm run build");
        check("x=1", "x=1");
    }
}
