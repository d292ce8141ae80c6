//! Filters: which passages may become hits.

use longhaul_conversation::{Origin, Timestamp};

/// The kind of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What a person typed.
    User,
    /// What the model wrote.
    Model,
    /// A call of a tool.
    Call,
    /// What a tool answered.
    Output,
    /// A summary of earlier messages.
    Summary,
    /// What the host added.
    Host,
}

impl Kind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 6] = [Self::User, Self::Model, Self::Call, Self::Output, Self::Summary, Self::Host];

    /// The kind of a text of this origin.
    pub(crate) fn of(origin: Origin) -> Self {
        match origin {
            Origin::User => Self::User,
            Origin::Model => Self::Model,
            Origin::Tool => Self::Output,
            Origin::Summary => Self::Summary,
            Origin::Memory | Origin::Hook => Self::Host,
        }
    }

    /// Its lowercase name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Call => "call",
            Self::Output => "output",
            Self::Summary => "summary",
            Self::Host => "host",
        }
    }

    /// Its code in an index.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// What people and models say is deliberate; outputs often match by chance, and summaries repeat.
    pub(crate) fn prior(self) -> f64 {
        match self {
            Self::User => 1.3,
            Self::Model => 1.4,
            Self::Call => 0.8,
            Self::Output => 1.0,
            Self::Summary => 0.5,
            Self::Host => 0.8,
        }
    }
}

/// The conditions that a hit meets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchFilter {
    /// Only these kinds; all if empty.
    pub kinds: Vec<Kind>,
    /// Only what was said at this time or later.
    pub since: Option<Timestamp>,
}

impl SearchFilter {
    pub(crate) fn admits(&self, kind: Kind, at: Option<Timestamp>) -> bool {
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&kind);
        is_kind && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
    }
}
