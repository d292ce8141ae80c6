//! Inbox items that wait for the user's review, and the actions on them.

use std::path::PathBuf;

use crate::page::Page;

/// An inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxKind {
    /// New skills and changes to skills.
    Skills,
    /// Changes to memory.
    Memory,
}

impl InboxKind {
    /// The command that opens it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Skills => "/skills inbox",
            Self::Memory => "/memory inbox",
        }
    }
}

/// An inbox item.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxItem {
    /// The item's name.
    pub name: String,
    /// Kind and age, in a few words.
    pub kind: String,
    /// A one-line description.
    pub about: String,
    /// The reason why it cannot be accepted as it is.
    pub problem: Option<String>,
    /// All details: content or change, and evidence.
    pub page: Page,
    /// The files to open in the editor.
    pub files: Vec<PathBuf>,
    /// True if the user chooses the scope to accept it for.
    pub has_scope: bool,
}

/// The scope an inbox item is accepted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptScope {
    /// The user, in every project.
    User,
    /// The project.
    Project,
}

/// A decision about an inbox item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Accepts it.
    Accept {
        /// The item's name.
        name: String,
        /// The scope, for items that have one.
        scope: AcceptScope,
    },
    /// Accepts it as edited by the user.
    AcceptEdited {
        /// The item's name.
        name: String,
    },
    /// Deletes it.
    Dismiss {
        /// The item's name.
        name: String,
    },
    /// Returns the last accepted item to the inbox.
    Undo,
}

/// An available skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillChoice {
    /// The skill's name.
    pub name: String,
    /// The skill's own description of when to use it.
    pub description: String,
    /// True if it is enabled.
    pub is_enabled: bool,
    /// True if it is part of Longhaul.
    pub is_builtin: bool,
}
