//! Rules, requests and the ledger as text for people.

use std::cmp::Reverse;

use longhaul_conversation::Ordinal;
use longhaul_directives::{RequestState, Retirement, UserRequest, UserRequests, UserRule, UserRules};
use longhaul_ledger::{CommandEntry, FileEntry, FileState, JobEntry, Ledger, RunEntry, WorkOutcome};

use crate::output::{Page, plural};

/// The most things of one kind that are listed.
const LISTED: usize = 10;
/// The most finished things that are listed.
const LISTED_OLD: usize = 5;
/// The width of the column for message numbers and words.
const MARKS: usize = 9;

/// The standing instructions, retired ones last.
pub(crate) fn rules(page: &mut Page, rules: &UserRules) {
    let active: Vec<&UserRule> = rules.active().collect();
    let retired: Vec<&UserRule> = rules.retired().collect();
    if active.is_empty() && retired.is_empty() {
        return;
    }
    let mut heading =
        format!("Rules: {}", plural(active.len(), "standing instruction", "standing instructions"));
    if !retired.is_empty() {
        heading.push_str(&format!(", {} retired", retired.len()));
    }
    page.heading(&heading);
    for rule in newest(&active, LISTED) {
        page.item(&mark(&rule.messages), MARKS, &rule.text);
    }
    page.more(active.len(), LISTED, "rules");
    for rule in newest(&retired, LISTED_OLD) {
        let by = match &rule.retired_by {
            Some(Retirement::Message { message, .. }) => format!("retired by {message}"),
            _ => "retired by hand".into(),
        };
        page.item(&mark(&rule.messages), MARKS, &format!("({by}) {}", rule.text));
    }
    page.more(retired.len(), LISTED_OLD, "retired rules");
}

/// The requests, open ones first.
pub(crate) fn requests(page: &mut Page, requests: &UserRequests) {
    if requests.all().is_empty() {
        return;
    }
    let open: Vec<&UserRequest> = requests.open_requests().collect();
    let over: Vec<&UserRequest> =
        requests.all().iter().filter(|request| !matches!(request.state, RequestState::Open { .. })).collect();
    let done = over.iter().filter(|request| matches!(request.state, RequestState::Done(_))).count();
    page.heading(&format!("Requests: {} open, {done} done, {} replaced", open.len(), over.len() - done));
    for request in newest(&open, LISTED) {
        self::request(page, request);
    }
    page.more(open.len(), LISTED, "open requests");
    for request in newest(&over, LISTED_OLD) {
        self::request(page, request);
    }
    page.more(over.len(), LISTED_OLD, "done or replaced");
}

fn request(page: &mut Page, request: &UserRequest) {
    let (state, evidence) = match &request.state {
        RequestState::Open { reason } => {
            ("open", reason.as_ref().map(|reason| format!("{}: {}", reason.message, reason.words)))
        }
        RequestState::Done(evidence) => ("done", Some(format!("{}: {}", evidence.message, evidence.words))),
        RequestState::Replaced { by } => ("replaced", Some(format!("by {by}"))),
    };
    page.item(state, MARKS, &format!("{} {}", mark(&request.messages), request.text));
    if let Some(evidence) = evidence {
        page.item("", MARKS, &evidence);
    }
}

/// The record of work: what was changed, what ran, what fails, what still runs.
pub(crate) fn ledger(page: &mut Page, ledger: &Ledger) {
    let facts = ledger_facts(ledger);
    if facts.is_empty() {
        return;
    }
    page.heading("Ledger");
    page.facts(&facts);
    changed_files(page, ledger);
    let runs: Vec<&RunEntry> = ledger.runs().iter().collect();
    for run in newest(&runs, LISTED_OLD) {
        page.item(outcome(run.outcome), MARKS, &format!("{} {}", run.at, run_text(run)));
    }
    page.more(runs.len(), LISTED_OLD, "runs");
    let failing: Vec<&CommandEntry> = failing(ledger).collect();
    for command in newest(&failing, LISTED_OLD) {
        let code = command.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
        page.item("failing", MARKS, &format!("{} {}{code}", command.at, command.text));
    }
    page.more(failing.len(), LISTED_OLD, "failing commands");
    let running: Vec<&JobEntry> = running(ledger).collect();
    for job in newest(&running, LISTED_OLD) {
        page.item("running", MARKS, &format!("{} {}", job.at, job.text));
    }
    page.more(running.len(), LISTED_OLD, "running jobs");
}

/// The ledger in figures; none if no work was done.
pub(crate) fn ledger_facts(ledger: &Ledger) -> Vec<String> {
    let changed = changed(ledger).count();
    let read = ledger.files().count() - changed;
    let unfixed = ledger.errors().iter().filter(|error| error.fixed.is_none()).count();
    let counts = [
        (changed, plural(changed, "file changed", "files changed")),
        (read, plural(read, "file read", "files read")),
        (
            ledger.commands().len(),
            with_part(ledger.commands().len(), ["command", "commands"], failing(ledger).count(), "failing"),
        ),
        (ledger.runs().len(), plural(ledger.runs().len(), "test or build run", "test and build runs")),
        (ledger.errors().len(), with_part(ledger.errors().len(), ["error", "errors"], unfixed, "not fixed")),
        (ledger.commits().len(), plural(ledger.commits().len(), "commit", "commits")),
        (
            ledger.jobs().len(),
            with_part(ledger.jobs().len(), ["job", "jobs"], running(ledger).count(), "running"),
        ),
    ];
    counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, fact)| fact).collect()
}

fn with_part(count: usize, [one, many]: [&str; 2], part: usize, what: &str) -> String {
    let whole = plural(count, one, many);
    if part == 0 { whole } else { format!("{whole} ({part} {what})") }
}

fn changed_files(page: &mut Page, ledger: &Ledger) {
    let mut files: Vec<(&str, &FileEntry)> = changed(ledger).collect();
    files.sort_by_key(|(_, file)| Reverse(file.last));
    for (path, file) in files.iter().take(LISTED) {
        let size = file.change.as_ref().map(|change| format!(" +{} −{}", change.added, change.removed));
        let to = if let FileState::Moved { to } = &file.state { format!(" to {to}") } else { String::new() };
        let text = format!("{} {path}{to}{}", file.last, size.unwrap_or_default());
        page.item(file.state.as_str(), MARKS, &text);
    }
    page.more(files.len(), LISTED, "changed files");
}

fn changed(ledger: &Ledger) -> impl Iterator<Item = (&str, &FileEntry)> {
    ledger.files().filter(|(_, file)| file.state.is_change())
}

fn failing(ledger: &Ledger) -> impl Iterator<Item = &CommandEntry> {
    ledger
        .commands()
        .iter()
        .filter(|command| command.outcome == WorkOutcome::Failed && command.fixed.is_none())
}

fn running(ledger: &Ledger) -> impl Iterator<Item = &JobEntry> {
    ledger.jobs().iter().filter(|job| job.outcome == WorkOutcome::Running)
}

fn run_text(run: &RunEntry) -> String {
    let counts = [(run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped")];
    let counts: Vec<String> =
        counts.iter().filter_map(|(count, what)| Some(format!("{} {what}", (*count)?))).collect();
    if counts.is_empty() { run.command.clone() } else { format!("{}: {}", run.command, counts.join(", ")) }
}

fn outcome(outcome: WorkOutcome) -> &'static str {
    match outcome {
        WorkOutcome::Running => "running",
        WorkOutcome::Passed => "passed",
        WorkOutcome::Failed => "failed",
        WorkOutcome::Cancelled => "cancelled",
        WorkOutcome::Unclear => "unclear",
    }
}

/// The first message, and how many more there are.
pub(crate) fn mark(messages: &[Ordinal]) -> String {
    match messages {
        [] => "by hand".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}

/// The newest few, in order.
fn newest<'a, T>(all: &'a [&'a T], count: usize) -> impl Iterator<Item = &'a T> {
    all[all.len().saturating_sub(count)..].iter().copied()
}
