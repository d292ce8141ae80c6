//! The argument `--scope` of skills.

use clap::ValueEnum;
use longhaul_app::skills::SkillScope;

/// The owner of skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillScopeArgument {
    /// Yours, in every project.
    User,
    /// The current folder's.
    #[value(alias = "project")]
    Workspace,
}

impl From<SkillScopeArgument> for SkillScope {
    fn from(scope: SkillScopeArgument) -> Self {
        match scope {
            SkillScopeArgument::User => Self::User,
            SkillScopeArgument::Workspace => Self::Workspace,
        }
    }
}
