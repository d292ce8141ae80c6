//! The skills of the current folder, proposed ones, and enabling and disabling them.

mod fetch;
mod inbox;
mod scope;
mod switch;

use std::path::PathBuf;

use longhaul_skills::{
    BUILTIN, SkillError, SkillFolder, SkillPlaces, SkillSource, SkillTier, Skills, load_skills,
};
use longhaul_workspace::{Home, WorkspaceFolder};

use crate::environment;
use crate::failure::hinted;
use crate::project::Project;
use crate::settings::Settings;
use crate::strays;
use crate::workspace::WorkspaceContext;

pub use fetch::{FetchedSkills, SkillOrigin};
pub use inbox::{ProposalDetails, SkillProposal};
pub use scope::SkillScope;
pub use switch::Switched;

/// The skills of the current folder, with where they are kept and switched.
pub struct SkillLibrary {
    /// The home.
    pub home: Home,
    /// The current folder.
    pub context: WorkspaceContext,
    /// The settings that count there.
    pub settings: Settings,
}

impl SkillLibrary {
    /// Loads the current folder's context.
    pub fn find(settings: Settings) -> anyhow::Result<Self> {
        let home = Home::resolve(&environment::of_process())?;
        let context = WorkspaceContext::find(&settings, &[])?;
        let project = Project::find()?.map(|project| project.home);
        strays::remove(&home, project.as_ref(), &context.cwd);
        Ok(Self { home, context, settings })
    }

    /// The places to look for skills.
    pub fn places(&self) -> SkillPlaces {
        places(&self.home, &self.context)
    }

    /// Fetches skills to install; `inside` names a folder of a repository or an archive.
    pub fn fetch(&self, source: &SkillSource, inside: Option<&str>) -> anyhow::Result<FetchedSkills> {
        let rules = self.settings.variable_rules(Some(&self.home));
        let variables = self.settings.variables().for_commands(&rules);
        fetch::fetch(source, inside, &variables).map_err(failure)
    }

    /// The skills that are found here.
    pub fn skills(&self) -> Skills {
        load_skills(&self.places(), &self.settings.skills())
    }
}

/// The places to look for skills.
pub fn places(home: &Home, context: &WorkspaceContext) -> SkillPlaces {
    let workspace = WorkspaceFolder::of(&context.cwd);
    let extensions = context.extensions.iter().map(|folder| (SkillTier::Extension, folder.join("skills")));
    let of = |own: PathBuf, tier: SkillTier, shared: Vec<PathBuf>, shared_tier: SkillTier| {
        std::iter::once((tier, own)).chain(shared.into_iter().map(move |path| (shared_tier, path)))
    };
    let user = of(home.skills(), SkillTier::User, home.shared_skills(), SkillTier::UserShared);
    let own =
        of(workspace.skills(), SkillTier::Workspace, workspace.shared_skills(), SkillTier::WorkspaceShared);
    let folders = extensions.chain(user).chain(own);
    SkillPlaces {
        builtin: BUILTIN.to_vec(),
        folders: folders.map(|(tier, path)| SkillFolder { tier, path }).collect(),
        is_trusted: context.trust.is_trusted(),
    }
}

/// A skill error with its hint.
pub fn failure(error: SkillError) -> anyhow::Error {
    let hint = match &error {
        SkillError::NoSkill { .. } => {
            "start the SKILL.md with a line ---, then name: and description:, then another line ---"
        }
        SkillError::NothingThere { .. } => {
            "pass a folder, an archive (.skill, .zip) or a git address with a SKILL.md; --path names a folder of it"
        }
        SkillError::Refused { .. } => "remove it from the folder or the archive, then try again",
        SkillError::Source { .. } => "pass a path, or an address such as https://example.org/team/skills.git",
        SkillError::Fetch { .. } => "check the address, and that `git clone` can fetch it without a prompt",
        SkillError::Exists { .. } => {
            "run `longhaul skills uninstall NAME` to remove it, or choose another --scope"
        }
        SkillError::Unknown { .. } => "run `longhaul skills list --all` to see every skill",
        SkillError::NothingWaits { .. } => "run `longhaul skills inbox` to list pending items",
        SkillError::NotAcceptable { .. } => {
            "run `longhaul skills inbox show NAME` to see it, or `dismiss NAME` to remove it"
        }
        SkillError::NotOurs { .. } => "run `longhaul skills disable NAME` to disable it",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// The error for an unknown skill name.
pub fn unknown(name: &str) -> anyhow::Error {
    failure(SkillError::Unknown { name: name.to_string() })
}
