//! What became of a conversation, and the account that a front end shows.

use longhaul_compaction::{SummaryNotes, Trigger};
use longhaul_conversation::Message;
use serde::Serialize;

use crate::{Spend, State};

/// What became of a conversation.
///
/// Nothing has changed yet but files: whoever owns the conversation records the result, then takes over messages and state.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The new messages, if any, with the report that every front end renders.
    pub result: longhaul_compaction::Outcome,
    /// The state from now on.
    pub state: State,
    /// How it came about.
    pub account: Account,
}

/// How a pass came about, beside what the report says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// Who wanted it.
    pub trigger: Trigger,
    /// The model whose summary was used.
    pub model: Option<String>,
    /// Why the given summariser was not used or did not do.
    pub fell_back: Option<String>,
    /// What this pass spent.
    pub spend: Spend,
    /// What became of a model's lines.
    pub notes: Option<SummaryNotes>,
    /// The outputs that were shortened.
    pub shortened: Vec<ShortenedOutput>,
    /// Texts that could not be saved.
    pub not_saved: Vec<NotSaved>,
    /// Whether sizes were counted by the provider.
    pub is_exact: bool,
}

/// A tool output that was shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShortenedOutput {
    /// The tool, where known.
    pub tool: Option<String>,
    /// Its characters before.
    pub before: usize,
    /// Its characters now.
    pub after: usize,
    /// The characters that one output may have.
    pub limit: usize,
}

/// A text that could not be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotSaved {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

impl Outcome {
    /// The new messages; none if the conversation stays as it is.
    pub fn messages(&self) -> Option<&[Message]> {
        self.result.messages.as_deref()
    }
}
