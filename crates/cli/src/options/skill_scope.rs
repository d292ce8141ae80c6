//! The argument `--scope` of skills.

use clap::ValueEnum;
use longhaul_app::skills::Scope;

/// Whose skills are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillScope {
    /// Yours, in every project.
    User,
    /// Those of the current folder.
    #[value(alias = "project")]
    Workspace,
}

impl From<SkillScope> for Scope {
    fn from(scope: SkillScope) -> Self {
        match scope {
            SkillScope::User => Self::User,
            SkillScope::Workspace => Self::Workspace,
        }
    }
}
