//! The origin of a part, independent of the role it was sent under.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The producer of a part.
///
/// Agents put much into user messages that no person typed: reminders, command output, summaries. Rules and requests
/// are taken only from [`Origin::User`], so readers decide this with care.
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
    /// All origins.
    pub const ALL: [Self; 6] = [Self::User, Self::Model, Self::Tool, Self::Memory, Self::Hook, Self::Summary];

    /// Parses the word written by [`Origin::as_str`].
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }

    /// The lowercase name in output and on disk.
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
