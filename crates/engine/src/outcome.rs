//! The outcome of a pass, and the account of it that a front end shows.

use longhaul_conversation::{Message, Trigger};
use serde::Serialize;

use crate::{Spend, State};

/// Outcome of a pass.
///
/// Nothing has changed yet but files: the owner of the conversation records the result, then takes over messages and state.
#[derive(Clone, Debug)]
pub struct PassOutcome {
    /// The new messages, if any, with the report that every front end renders.
    pub result: longhaul_compaction::Outcome,
    /// The state from now on.
    pub state: State,
    /// The account of the pass.
    pub account: Account,
}

/// Account of a pass, beside what the report says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// The cause of the pass.
    pub trigger: Trigger,
    /// The model whose summary was used.
    pub model: Option<String>,
    /// The reason why the given summariser was not used or did not do.
    pub fell_back: Option<String>,
    /// Spend of this pass.
    pub spend: Spend,
    /// Spend on the summary, where it was written ahead; it was counted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepared: Option<Spend>,
    /// The outputs that were shortened.
    pub shortened: Vec<ShortenedOutput>,
    /// Texts that could not be saved.
    pub not_saved: Vec<NotSaved>,
    /// True if sizes were counted by the provider.
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
    /// The reason.
    pub reason: String,
}

impl PassOutcome {
    /// The new messages; none if the conversation stays as it is.
    pub fn messages(&self) -> Option<&[Message]> {
        self.result.messages.as_deref()
    }
}
