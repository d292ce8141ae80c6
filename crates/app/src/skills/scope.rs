//! The scope of a skill: the user's, or the workspace's.

use std::path::PathBuf;

use anyhow::anyhow;
use longhaul_workspace::WorkspaceFolder;

use super::SkillLibrary;
use crate::failure::hinted;
use crate::settings_files::settings_files;

/// The owner of skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillScope {
    /// Yours, in every project.
    User,
    /// The current folder's.
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
    /// The skill folder of this scope. A workspace must be trusted, or its skills would be ignored.
    pub fn skill_folder(&self, scope: SkillScope) -> anyhow::Result<PathBuf> {
        match scope {
            SkillScope::User => Ok(self.home.skills()),
            SkillScope::Workspace => {
                self.check_trust()?;
                Ok(WorkspaceFolder::of(&self.context.cwd).skills())
            }
        }
    }

    /// The scope of a proposed skill unless the user says otherwise: an inbox holds what sessions of one project taught, and that
    /// is for this project.
    pub fn propose_scope(&self, name: &str) -> anyhow::Result<SkillScope> {
        if self.context.trust.is_trusted() {
            return Ok(SkillScope::Workspace);
        }
        let folder = self.context.cwd.display();
        Err(hinted(
            anyhow!("{name} was learned in this project, and {folder} is not trusted"),
            "run `longhaul trust add` to accept it for the project, or pass --scope user to accept it for every project",
        ))
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
            anyhow!("{folder} is not trusted, so its skills would be ignored"),
            "run `longhaul trust add` to trust it",
        ))
    }
}
