//! Records of a pass, its state and the host's: into the log, and back.

use longhaul_compaction::{HostJob, HostState, Replacement, Status, apply_replacements};
use longhaul_conversation::{Message, Origin, Part};
use longhaul_formats::{
    Compaction, CompactionReport, CompactionState, CompactionTokens, EntryKind, HostRecord, Mask, Masking,
    RecordedNames, RecordedWait, Replay, Rewrite, RewriteKind, RewriteState,
};

use crate::outcome::PassOutcome;
use crate::{Latch, Spend, State, Wait};

/// The record of a pass over these messages; nothing if they stay as they are.
pub(super) fn compaction_entry(outcome: &PassOutcome, messages: &[Message]) -> Option<EntryKind> {
    let new = outcome.messages()?;
    Some(match outcome.result.status {
        Status::Masked | Status::ContentTruncated => {
            EntryKind::Mask(masking(messages, outcome.result.plan.replacements()))
        }
        _ => EntryKind::Compaction(Compaction { report: report(outcome), messages: new.to_vec() }),
    })
}

/// The masks, and the messages of the transcript itself as they are then: what was repaired only to be sent is repaired
/// again when it is sent.
fn masking(messages: &[Message], replacements: &[Replacement]) -> Masking {
    let mut masked = messages.to_vec();
    apply_replacements(&mut masked, replacements);
    let changed = masked.into_iter().zip(messages).filter(|(now, before)| now != *before);
    let changed: Vec<Message> = changed.map(|(now, _)| now).collect();
    let masks = changed.iter().flat_map(|message| {
        let results = message.results().filter_map(|result| {
            replacements
                .iter()
                .find(|own| own.call == result.call && result.readable().contains(own.text.as_str()))
        });
        results.map(|own| Mask {
            message: message.id.clone(),
            call: own.call.clone(),
            file: Some(own.file.clone()),
            preview: own.text.clone(),
        })
    });
    Masking { masks: masks.collect(), changed }
}

fn report(outcome: &PassOutcome) -> CompactionReport {
    let PassOutcome { result, account, .. } = outcome;
    let money = account.spend.money + account.prepared.map_or(0.0, |prepared| prepared.money);
    CompactionReport {
        status: result.status.as_str().into(),
        rung: result.report.rung.into(),
        reason: result.reason.clone(),
        tokens: CompactionTokens { before: result.before, after: result.after, added: result.added },
        summariser: result.report.summariser.into(),
        model: account.model.clone(),
        cost: (money > 0.0).then_some(money),
        ms: result.report.duration.map_or(0, |duration| duration.as_millis() as u64),
        names: result.report.names.map(|names| RecordedNames { kept: names.kept, of: names.of }),
    }
}

/// Record of the host's state. Memory files are loaded anew.
pub(super) fn host_record(host: &HostState) -> HostRecord {
    let jobs = host.jobs.iter().map(|job| format!("{}: {}", job.name, job.what));
    HostRecord { skills: host.skills.clone(), plan: host.plan.clone(), jobs: jobs.collect() }
}

pub(super) fn read_host(record: &HostRecord) -> HostState {
    let jobs = record.jobs.iter().map(|job| {
        let (name, what) = job.split_once(": ").unwrap_or(("", job));
        HostJob { name: name.into(), what: what.into() }
    });
    HostState {
        jobs: jobs.collect(),
        skills: record.skills.clone(),
        plan: record.plan.clone(),
        memory: Vec::new(),
    }
}

impl State {
    /// Record of the state of compactions: the same as if it had never been closed.
    pub fn recorded_in(replay: &Replay) -> Self {
        let recorded = replay.state().cloned().unwrap_or_default();
        let CompactionState { latched, failures, attempts, calls, tokens, estimated, money, wait } = recorded;
        Self {
            latch: if latched { Latch::Set } else { Latch::Clear },
            failures,
            attempts,
            spend: Spend { calls, tokens, estimated, money },
            wait: match wait {
                Some(RecordedWait::Nothing) => Wait::Nothing,
                Some(RecordedWait::Growth { since }) => Wait::Growth { since },
                Some(RecordedWait::Overflow) => Wait::Overflow,
                None => wait_after(replay.rewrites()),
            },
        }
    }
}

impl From<&State> for CompactionState {
    fn from(state: &State) -> Self {
        let State { latch, failures, attempts, spend, wait } = *state;
        let Spend { calls, tokens, estimated, money } = spend;
        let wait = match wait {
            Wait::Nothing => RecordedWait::Nothing,
            Wait::Growth { since } => RecordedWait::Growth { since },
            Wait::Overflow => RecordedWait::Overflow,
        };
        let latched = latch == Latch::Set;
        Self { latched, failures, attempts, calls, tokens, estimated, money, wait: Some(wait) }
    }
}

/// Condition that the next automatic pass waits for after these.
fn wait_after(rewrites: &[Rewrite]) -> Wait {
    if rewrites.last().is_some_and(|last| last.state == RewriteState::Undone) {
        return Wait::Overflow;
    }
    let active = rewrites.iter().filter(|rewrite| rewrite.state == RewriteState::Active);
    let mut compactions = active.filter_map(|rewrite| match &rewrite.kind {
        RewriteKind::Compaction(compaction) => Some(compaction.report.tokens.after),
        RewriteKind::Mask(_) => None,
    });
    compactions.next_back().map_or(Wait::Nothing, |since| Wait::Growth { since })
}

/// True if a person said this in one of the messages.
pub(super) fn is_quoted(text: &str, messages: &[&Message]) -> bool {
    messages.iter().any(|message| says(message, text))
}

/// True if a person said this in the message, however the words are spaced.
pub(super) fn says(message: &Message, text: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
    typed.filter_map(Part::as_text).any(|typed| words(typed).contains(&words(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_state_is_read_as_it_was_written() {
        let job = HostJob { name: "job-1".into(), what: "cargo test: all".into() };
        let host = HostState {
            jobs: vec![job],
            skills: vec!["a".into()],
            plan: Some("p.md".into()),
            memory: Vec::new(),
        };
        assert_eq!(read_host(&host_record(&host)), host);
    }
}
