//! What waits in an inbox for the user's word, and what can be done about it.

use std::path::PathBuf;

use crate::page::Page;

/// Which inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inbox {
    /// Skills, and changes to skills.
    Skills,
    /// Changes to memory.
    Memory,
}

impl Inbox {
    /// The command that opens it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Skills => "/skills inbox",
            Self::Memory => "/memory inbox",
        }
    }
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxItem {
    /// Names it.
    pub name: String,
    /// What it is and when it came in, in a few words.
    pub kind: String,
    /// What it is about, on a line.
    pub about: String,
    /// Why it cannot be accepted as it is.
    pub problem: Option<String>,
    /// Everything there is to see of it: what it says or changes, and where it comes from.
    pub page: Page,
    /// What the user would edit.
    pub files: Vec<PathBuf>,
    /// Whether the user says whose it becomes.
    pub has_scope: bool,
}

/// Whose something becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The user's own, everywhere.
    Users,
    /// The project's.
    Projects,
}

/// What is done about something that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Review {
    /// It counts from now on.
    Accept {
        /// What waits.
        name: String,
        /// Whose it becomes, where that is open.
        whose: Whose,
    },
    /// It counts from now on as the user has changed it in an editor.
    AcceptEdited {
        /// What waits.
        name: String,
    },
    /// It is removed for good.
    Dismiss {
        /// What waits.
        name: String,
    },
    /// What was accepted last waits again.
    Undo,
}

/// A skill that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillChoice {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Whether it is switched on.
    pub is_enabled: bool,
    /// Whether it comes with the program.
    pub is_builtin: bool,
}
