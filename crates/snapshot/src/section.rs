//! The eight sections of a snapshot and their names.

use super::tags::same_name;

/// The sections of a snapshot, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// The user's goal.
    OverallGoal,
    /// Rules that the user set and that still hold; then rules that a model found.
    ActiveConstraints,
    /// The rest of the user's words.
    UserSaid,
    /// Commands, conventions and facts that the work depends on.
    KeyKnowledge,
    /// Which files changed, how, and why.
    ArtifactTrail,
    /// The working directory and which files were read, created, modified or deleted.
    FileSystemState,
    /// The last actions and their results.
    RecentActions,
    /// The plan with what is done, in progress and still to do.
    TaskState,
}

/// The name of the task state in the older form with five sections.
const OLDER_TASK_STATE: &str = "current_plan";

impl Section {
    /// All sections, in order.
    pub const ALL: [Self; 8] = [
        Self::OverallGoal,
        Self::ActiveConstraints,
        Self::UserSaid,
        Self::KeyKnowledge,
        Self::ArtifactTrail,
        Self::FileSystemState,
        Self::RecentActions,
        Self::TaskState,
    ];

    /// The name of its tag.
    pub fn name(self) -> &'static str {
        match self {
            Self::OverallGoal => "overall_goal",
            Self::ActiveConstraints => "active_constraints",
            Self::UserSaid => "user_said",
            Self::KeyKnowledge => "key_knowledge",
            Self::ArtifactTrail => "artifact_trail",
            Self::FileSystemState => "file_system_state",
            Self::RecentActions => "recent_actions",
            Self::TaskState => "task_state",
        }
    }

    /// The section with this name, in any case and however its words are joined; `current_plan` is the task state.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|section| same_name(section.name(), name));
        known.or_else(|| same_name(OLDER_TASK_STATE, name).then_some(Self::TaskState))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for section in Section::ALL {
            assert_eq!(Section::from_name(section.name()), Some(section));
        }
        assert!(Section::ALL.is_sorted());
    }

    #[test]
    fn names_are_read_in_other_spellings() {
        for name in ["KEY_KNOWLEDGE", "keyKnowledge", "key-knowledge", "Key Knowledge"] {
            assert_eq!(Section::from_name(name), Some(Section::KeyKnowledge), "{name}");
        }
        assert_eq!(Section::from_name("current_plan"), Some(Section::TaskState));
        for name in ["", "_", "key", "key_knowledges", "state_snapshot"] {
            assert_eq!(Section::from_name(name), None, "{name}");
        }
    }
}
