//! Where a skill is kept, or switched: for the user, or in the workspace.

use std::path::PathBuf;

use anyhow::anyhow;
use longhaul_workspace::WorkspaceFolder;

use super::Desk;
use crate::failure::hinted;
use crate::settings_files::settings_files;

/// Whose skills are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Yours, in every project.
    User,
    /// Those of the current folder.
    Workspace,
}

impl Scope {
    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

impl Desk {
    /// The folder for skills of this scope. That of a workspace must be trusted, or nothing in it would count.
    pub fn skill_folder(&self, scope: Scope) -> anyhow::Result<PathBuf> {
        match scope {
            Scope::User => Ok(self.home.skills()),
            Scope::Workspace => {
                self.check_trust()?;
                Ok(WorkspaceFolder::of(&self.around.cwd).skills())
            }
        }
    }

    /// The settings file of this scope.
    pub(super) fn settings_file(&self, scope: Scope) -> anyhow::Result<PathBuf> {
        match scope {
            Scope::User => Ok(self.home.settings()),
            Scope::Workspace => {
                self.check_trust()?;
                let there = settings_files(Some(&self.home), &self.around.cwd)
                    .workspace
                    .map(|workspace| workspace.file);
                Ok(there.unwrap_or_else(|| WorkspaceFolder::of(&self.around.cwd).settings()))
            }
        }
    }

    fn check_trust(&self) -> anyhow::Result<()> {
        if self.around.trust.is_trusted() {
            return Ok(());
        }
        let folder = self.around.cwd.display();
        Err(hinted(
            anyhow!("{folder} is not trusted, so that its skills would not count"),
            "`longhaul trust add` trusts it",
        ))
    }
}
