//! The scope in which a skill is kept or switched: for the user, or in the workspace.

use std::path::PathBuf;

use anyhow::anyhow;
use longhaul_workspace::WorkspaceFolder;

use super::SkillLibrary;
use crate::failure::hinted;
use crate::settings_files::settings_files;

/// Whose skills are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillScope {
    /// Yours, in every project.
    User,
    /// Those of the current folder.
    Workspace,
}

impl SkillScope {
    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

impl SkillLibrary {
    /// The folder for skills of this scope. That of a workspace must be trusted, or nothing in it would count.
    pub fn skill_folder(&self, scope: SkillScope) -> anyhow::Result<PathBuf> {
        match scope {
            SkillScope::User => Ok(self.home.skills()),
            SkillScope::Workspace => {
                self.check_trust()?;
                Ok(WorkspaceFolder::of(&self.context.cwd).skills())
            }
        }
    }

    /// The settings file of this scope.
    pub(super) fn settings_file(&self, scope: SkillScope) -> anyhow::Result<PathBuf> {
        match scope {
            SkillScope::User => Ok(self.home.settings()),
            SkillScope::Workspace => {
                self.check_trust()?;
                let there = settings_files(Some(&self.home), &self.context.cwd)
                    .workspace
                    .map(|workspace| workspace.file);
                Ok(there.unwrap_or_else(|| WorkspaceFolder::of(&self.context.cwd).settings()))
            }
        }
    }

    fn check_trust(&self) -> anyhow::Result<()> {
        if self.context.trust.is_trusted() {
            return Ok(());
        }
        let folder = self.context.cwd.display();
        Err(hinted(
            anyhow!("{folder} is not trusted, so that its skills would not count"),
            "`longhaul trust add` trusts it",
        ))
    }
}
