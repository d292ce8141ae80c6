//! `state`: where a conversation stands, and what its last compaction dropped.

use longhaul_app::kept_rules::kept_rules;
use longhaul_app::sessions::SeenParts;
use longhaul_compaction::Tracker;
use longhaul_conversation::{Change, Message, Ordinal};
use longhaul_directives::{QuotedRule, RequestState, UserRule};
use longhaul_formats::Event;
use longhaul_ledger::{FileState, Ledger, WorkOutcome};

use super::Request;
use crate::arguments::Arguments;
use crate::library::KnownSession;
use crate::quote::{framed, one_line, without_own};

/// The most requests, files, commands and runs that are listed of a kind.
const LISTED: usize = 15;

/// A line of the state is no longer.
const LINE: usize = 400;

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let named = arguments.text("session")?;
    let (library, session) = request.session(named.as_deref())?;
    let kept = kept_rules(session.path()).map_err(|error| format!("{error:#}"))?;
    let state = observe(&session, kept)?;
    Ok(framed(&text(library.short_id(&session), &session, &state)))
}

/// A session in its present state.
#[derive(Default)]
struct ObservedState {
    tracker: Tracker,
    messages: usize,
    compaction: Option<LastCompaction>,
}

/// The last compaction by the agent itself.
struct LastCompaction {
    /// The last message before it.
    after: Ordinal,
    /// Everything that the model saw after it, in lower case and without white space.
    kept: String,
}

fn observe(session: &KnownSession, kept: Vec<QuotedRule>) -> Result<ObservedState, String> {
    let mut state = ObservedState::default();
    state.tracker.rules_mut().expect_quoted(kept);
    let mut seen = SeenParts::default();
    let mut is_compacting = false;
    let info = session.each_event(&mut |event| match event {
        Event::CompactionStart => {
            is_compacting = true;
            state.compaction = Some(LastCompaction { after: state.tracker.last(), kept: String::new() });
        }
        Event::CompactionEnd => is_compacting = false,
        Event::Change(change) => {
            if let (true, Some(compaction), Change::Put(message) | Change::PutAfter { message, .. }) =
                (is_compacting, &mut state.compaction, &change)
            {
                message
                    .parts
                    .iter()
                    .filter_map(|part| part.as_text())
                    .for_each(|text| compaction.kept.push_str(&squeezed(text)));
            }
            let Some(message) = seen.new_parts(&change) else { return };
            if let Some(message) = without_own(&message) {
                state.messages += 1;
                state.tracker.observe(&message as &Message);
            }
        }
        Event::Side { .. } | Event::Warning(_) | Event::Call(_) => {}
    })?;
    state.tracker.learn_directory(info.directory.as_deref().unwrap_or_default());
    Ok(state)
}

/// A text as it is compared: without case and white space, which summaries change.
fn squeezed(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

impl LastCompaction {
    /// The rules that were said before it and do not stand word for word in what the model saw after it.
    fn lost<'r>(&self, rules: impl Iterator<Item = &'r UserRule>) -> Vec<&'r UserRule> {
        let is_before = |rule: &&UserRule| rule.messages.last().is_some_and(|message| *message <= self.after);
        let stands = |rule: &&UserRule| {
            self.kept.contains(squeezed(&rule.text).trim_end_matches(['.', '!', ';', '。']))
        };
        rules.filter(is_before).filter(|rule| !stands(rule)).collect()
    }
}

fn text(short: &str, session: &KnownSession, state: &ObservedState) -> String {
    let tracker = &state.tracker;
    let mut text = format!(
        "Session {short} of {}: {} messages. Message numbers are references for read, such as {short}:{}.\n",
        session.agent.as_str(),
        state.messages,
        tracker.last()
    );
    let rules: Vec<String> = tracker
        .rules()
        .active()
        .map(|rule| format!("- {} {}\n", marks(&rule.messages), one_line(&rule.text, LINE)))
        .collect();
    section(&mut text, "The user's standing rules, verbatim", &rules, "none recognised");
    let requests = tracker.requests();
    let open = requests.open_requests().map(|request| {
        let reason = match &request.state {
            RequestState::Open { reason: Some(reason) } => {
                format!(" (open because {}: {})", reason.message, one_line(&reason.words, 160))
            }
            _ => String::new(),
        };
        format!("- {} {}{reason}\n", marks(&request.messages), one_line(&request.text, LINE))
    });
    section(&mut text, "Open requests", &newest(open.collect()), "none");
    if let Some(current) = requests.current() {
        text.push_str(&format!("In work: {}\n", one_line(&current.text, LINE)));
    }
    ledger(&mut text, tracker.ledger());
    match &state.compaction {
        None => text.push_str("\nLast compaction: none by the agent itself.\n"),
        Some(compaction) => {
            text.push_str(&format!("\nLast compaction by the agent: after {}.", compaction.after));
            let lost = compaction.lost(tracker.rules().active());
            if lost.is_empty() {
                text.push_str(" Every rule said before it still stands word for word.\n");
            } else {
                text.push_str(" These rules no longer stood word for word in what it kept:\n");
                for rule in lost {
                    text.push_str(&format!("- {} {}\n", marks(&rule.messages), one_line(&rule.text, LINE)));
                }
            }
        }
    }
    text.trim_end().to_string()
}

fn ledger(text: &mut String, ledger: &Ledger) {
    let mut files: Vec<_> = ledger.files().filter(|(_, file)| file.state.is_change()).collect();
    files.sort_by_key(|(_, file)| file.last);
    let files = files.into_iter().map(|(path, file)| {
        let size = file
            .change
            .as_ref()
            .map(|change| format!(" +{} -{}", change.added, change.removed))
            .unwrap_or_default();
        let to = if let FileState::Moved { to } = &file.state { format!(" to {to}") } else { String::new() };
        format!("- [{}] {} {}{to}{size}\n", file.last, file.state.as_str(), one_line(path, 300))
    });
    section(text, "Files changed", &newest(files.collect()), "none");
    let runs = ledger.runs().iter().map(|run| {
        let counts = [(run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped")];
        let counts: Vec<String> =
            counts.iter().filter_map(|(count, what)| Some(format!("{} {what}", (*count)?))).collect();
        let counts = if counts.is_empty() { outcome(run.outcome).to_string() } else { counts.join(", ") };
        format!("- [{}] {}: {counts}\n", run.at, one_line(&run.command, 200))
    });
    section(text, "Tests and builds", &newest(runs.collect()), "none");
    let failing = ledger
        .commands()
        .iter()
        .filter(|command| command.outcome == WorkOutcome::Failed && command.fixed.is_none());
    let failing = failing.map(|command| {
        let code = command.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
        format!("- [{}] {}{code}\n", command.at, one_line(&command.text, 200))
    });
    section(text, "Commands that fail", &newest(failing.collect()), "none");
    let commits = ledger.commits().iter().map(|commit| {
        let hash = commit.hash.as_deref().unwrap_or_default();
        format!("- [{}] {hash} {}\n", commit.at, one_line(&commit.message, 120))
    });
    let commits = newest(commits.collect());
    if !commits.is_empty() {
        section(text, "Commits", &commits, "");
    }
}

fn section(text: &mut String, heading: &str, lines: &[String], none: &str) {
    match lines.is_empty() {
        true => text.push_str(&format!("\n{heading}: {none}.\n")),
        false => text.push_str(&format!("\n{heading}:\n{}", lines.concat())),
    }
}

/// The newest few lines, and how many there are more.
fn newest(lines: Vec<String>) -> Vec<String> {
    let older = lines.len().saturating_sub(LISTED);
    let mut shown: Vec<String> = lines.into_iter().skip(older).collect();
    if older > 0 {
        shown.insert(0, format!("- {older} older\n"));
    }
    shown
}

fn marks(messages: &[Ordinal]) -> String {
    match messages {
        [] => "[by hand]".into(),
        [only] => format!("[{only}]"),
        [first, .., last] => format!("[{first}, {last}]"),
    }
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
