//! The tiers of rules, and priorities.

use std::fmt;

/// The highest priority that a rule can have within its tier.
pub(crate) const MAX_PRIORITY: u16 = 999;

/// The author of a rule. A rule of a higher tier beats every rule of a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleTier {
    /// Longhaul itself.
    Default,
    /// An extension, which can forbid and ask but never allow.
    Extension,
    /// The workspace, if it is trusted.
    Workspace,
    /// The user.
    User,
    /// The administrator of the machine.
    Admin,
}

impl RuleTier {
    /// The name of the tier in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Extension => "extension",
            Self::Workspace => "workspace",
            Self::User => "user",
            Self::Admin => "admin",
        }
    }

    /// The tier's whole number in an effective priority, from 1.
    fn number(self) -> u16 {
        match self {
            Self::Default => 1,
            Self::Extension => 2,
            Self::Workspace => 3,
            Self::User => 4,
            Self::Admin => 5,
        }
    }
}

impl fmt::Display for RuleTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rank of a rule among all others: its tier, then its priority within it. Shown as `4.050`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    tier: RuleTier,
    within: u16,
}

impl Priority {
    /// The effective priority of a rule of `tier`; more than 999 counts as 999.
    pub fn new(tier: RuleTier, within: u16) -> Self {
        Self { tier, within: within.min(MAX_PRIORITY) }
    }

    /// The tier.
    pub fn tier(self) -> RuleTier {
        self.tier
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.tier.number(), self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_tier_beats_every_priority_below_it() {
        let tiers =
            [RuleTier::Default, RuleTier::Extension, RuleTier::Workspace, RuleTier::User, RuleTier::Admin];
        for pair in tiers.windows(2) {
            assert!(Priority::new(pair[0], 999) < Priority::new(pair[1], 0), "{pair:?}");
        }
    }

    #[test]
    fn a_priority_reads_as_tier_and_thousandths() {
        assert_eq!(Priority::new(RuleTier::Default, 50).to_string(), "1.050");
        assert_eq!(Priority::new(RuleTier::User, 950).to_string(), "4.950");
        assert_eq!(Priority::new(RuleTier::Admin, 0).to_string(), "5.000");
        assert_eq!(Priority::new(RuleTier::Workspace, 5000), Priority::new(RuleTier::Workspace, 999));
    }
}
