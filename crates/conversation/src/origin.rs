//! Who really produced a piece of a conversation, whatever role it travelled under.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who produced a part.
///
/// Agents put much into user messages that no person typed: reminders, command output, summaries. Rules and
/// requests are taken only from [`Origin::User`], so readers decide this with care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Typed or pasted by a person.
    User,
    /// Written by the model.
    Model,
    /// Produced by a tool or a command.
    Tool,
    /// Loaded from a memory file or a skill.
    Memory,
    /// Added by the host program: reminders, notifications, command echoes, hook feedback.
    Hook,
    /// Carried over from an earlier conversation by a compaction.
    Summary,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Self; 6] = [Self::User, Self::Model, Self::Tool, Self::Memory, Self::Hook, Self::Summary];

    /// The origin that [`Origin::as_str`] writes as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }

    /// The lower-case word used in output and on disk.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Memory => "memory",
            Self::Hook => "hook",
            Self::Summary => "summary",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
