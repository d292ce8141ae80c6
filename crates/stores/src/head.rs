//! What a list shows of a session.

use longhaul_conversation::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// What a list shows of a session, read without reading all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    /// Its id.
    pub id: String,
    /// Its title, or else how its first prompt begins; secrets are taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The session that started it, if it is a sub-agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The time of its first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// The time when it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<Timestamp>,
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The size of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenFigure>,
    /// The context window that its file states for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// A number that changes with the session; only of one in a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The agent that wrote it, where that is not the one whose place it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
}

/// The size of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenFigure {
    /// The number of tokens.
    pub count: u64,
    /// True if no provider counted them.
    pub is_estimate: bool,
}

impl TokenFigure {
    pub(crate) fn counted(count: u64) -> Self {
        Self { count, is_estimate: false }
    }

    pub(crate) fn estimated(count: u64) -> Self {
        Self { count, is_estimate: true }
    }
}
