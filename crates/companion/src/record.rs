//! The record of a session: what its user said and what was done, whatever the agent compacted away.

use std::io::Read;

use longhaul_conversation::{Body, Message, Ordinal, Part, TokenCount};
use longhaul_directives::{UserRequest, UserRequests, UserRule, UserRules};
use longhaul_formats::{HistoryStep, ReadError, read_history};
use longhaul_ledger::Ledger;

use crate::text::GUARD_TAG;

/// An error of the guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The session cannot be read.
    #[error("could not read the session")]
    Session(#[from] ReadError),
    /// The file of the session cannot be opened.
    #[error("could not open the session's file")]
    Open(#[source] std::io::Error),
}

/// Rules, requests and work of a session, from everything that was said in it.
#[derive(Clone, Debug, Default)]
pub struct SessionRecord {
    /// The user's rules.
    pub rules: UserRules,
    /// The user's requests.
    pub requests: UserRequests,
    /// The work done by tools.
    pub ledger: Ledger,
    /// The newest message.
    pub last: Option<Ordinal>,
    /// The agent's own compactions, oldest first.
    pub compactions: Vec<AgentCompaction>,
    /// True if the guard has spoken since the last compaction.
    pub is_guarded: bool,
}

/// A rule or a request of the user, word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The message that says it first.
    pub message: Option<Ordinal>,
    /// Its words.
    pub text: String,
}

/// One of the agent's own compactions, with what held just before it.
#[derive(Clone, Debug, Default)]
pub struct AgentCompaction {
    /// The newest message before it.
    pub at: Option<Ordinal>,
    /// The size of the conversation before, estimated.
    pub before: TokenCount,
    /// The rules in force.
    pub rules: Vec<Directive>,
    /// The open requests.
    pub requests: Vec<Directive>,
    /// The changed files, by path.
    pub files: Vec<String>,
    /// The texts that the agent kept: its summary and what it left of the conversation.
    pub kept: Vec<String>,
}

impl SessionRecord {
    /// Reads the session of any agent.
    ///
    /// # Errors
    /// If it cannot be read, or is no session of a known format.
    pub fn read(input: impl Read) -> Result<Self, GuardError> {
        let history = read_history(input)?;
        Ok(Self::of_steps(&history.steps))
    }

    /// The record as it stood at the last compaction, or as it stands now if there was none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_to_last_compaction(input: impl Read) -> Result<Self, GuardError> {
        let history = read_history(input)?;
        let is_compaction = |step: &HistoryStep| matches!(step, HistoryStep::Compacted { .. });
        let end = history.steps.iter().rposition(is_compaction).map_or(history.steps.len(), |last| last + 1);
        Ok(Self::of_steps(&history.steps[..end]))
    }

    fn of_steps(steps: &[HistoryStep]) -> Self {
        let mut record = Self::default();
        for (index, event) in remaining(steps).into_iter().enumerate() {
            match event {
                HistoryStep::Said(message) => record.observe(message, index),
                HistoryStep::Compacted { before, messages } => record.compacted(*before, messages),
                HistoryStep::TakenBack(_) => {}
            }
        }
        record
    }

    fn observe(&mut self, message: &Message, index: usize) {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        self.last = message.ordinal.or(Some(Ordinal(number)));
        self.is_guarded |= message.parts.iter().any(is_guard_text);
        self.rules.observe(message);
        self.requests.observe(message);
        self.ledger.observe(message);
    }

    fn compacted(&mut self, before: TokenCount, messages: &[Message]) {
        self.is_guarded = messages.iter().flat_map(|message| &message.parts).any(is_guard_text);
        let changed = self.ledger.files().filter(|(_, file)| file.state.is_change());
        self.compactions.push(AgentCompaction {
            at: self.last,
            before,
            rules: self.active_rules(),
            requests: self.open_requests(),
            files: changed.map(|(path, _)| path.to_string()).collect(),
            kept: messages.iter().flat_map(|message| &message.parts).filter_map(kept_text).collect(),
        });
    }
}

impl SessionRecord {
    /// The rules in force, in the order in which they were last said.
    pub fn active_rules(&self) -> Vec<Directive> {
        let of_rule = |rule: &UserRule| Directive::new(rule.messages.first(), &rule.text);
        self.rules.active().map(of_rule).collect()
    }

    /// The open requests, the one in work last.
    pub fn open_requests(&self) -> Vec<Directive> {
        let of_request = |request: &UserRequest| Directive::new(request.messages.first(), &request.text);
        self.requests.open_requests().map(of_request).collect()
    }
}

impl Directive {
    fn new(message: Option<&Ordinal>, text: &str) -> Self {
        Self { message: message.copied(), text: text.to_string() }
    }
}

/// The steps without messages that were taken back before the next compaction.
fn remaining(steps: &[HistoryStep]) -> Vec<&HistoryStep> {
    let mut remaining: Vec<&HistoryStep> = Vec::with_capacity(steps.len());
    for step in steps {
        let HistoryStep::TakenBack(first) = step else {
            remaining.push(step);
            continue;
        };
        let is_first =
            |step: &&HistoryStep| matches!(step, HistoryStep::Said(message) if message.id == *first);
        if let Some(index) = remaining.iter().position(is_first) {
            remaining.truncate(index);
        }
    }
    remaining
}

/// The text of a part as the agent's model reads it: results and calls included.
fn kept_text(part: &Part) -> Option<String> {
    if is_guard_text(part) {
        return None;
    }
    match &part.body {
        Body::Text(text) => Some(text.clone()),
        Body::Result(result) => Some(result.readable().into_owned()),
        Body::Call(call) => Some(call.args.to_string()),
        _ => None,
    }
}

fn is_guard_text(part: &Part) -> bool {
    part.as_text().is_some_and(|text| text.contains(&format!("<{GUARD_TAG}")))
}
