//! The skills that count in the current folder, those that wait, and switching them.

mod inbox;
mod scope;
mod switch;

use longhaul_skills::{BUILTIN, SkillError, SkillFolder, SkillPlaces, SkillTier, Skills, load_skills};
use longhaul_workspace::{Home, WorkspaceFolder};

use crate::environment;
use crate::failure::hinted;
use crate::project::Project;
use crate::settings::Settings;
use crate::strays;
use crate::workspace::WorkspaceContext;

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
    /// Finds out about the current folder.
    pub fn find(settings: Settings) -> anyhow::Result<Self> {
        let home = Home::resolve(&environment::of_process())?;
        let context = WorkspaceContext::find(&settings, &[])?;
        let project = Project::find()?.map(|project| project.home);
        strays::remove(&home, project.as_ref(), &context.cwd);
        Ok(Self { home, context, settings })
    }

    /// The places they are looked for in.
    pub fn places(&self) -> SkillPlaces {
        places(&self.home, &self.context)
    }

    /// The skills that are found here.
    pub fn skills(&self) -> Skills {
        load_skills(&self.places(), &self.settings.skills())
    }
}

/// The places skills are looked for in.
pub fn places(home: &Home, context: &WorkspaceContext) -> SkillPlaces {
    let workspace = WorkspaceFolder::of(&context.cwd);
    let extensions = context.extensions.iter().map(|folder| (SkillTier::Extension, folder.join("skills")));
    let user = [
        Some((SkillTier::User, home.skills())),
        home.shared_skills().map(|path| (SkillTier::UserShared, path)),
    ];
    let own =
        [(SkillTier::Workspace, workspace.skills()), (SkillTier::WorkspaceShared, workspace.shared_skills())];
    let folders = extensions.chain(user.into_iter().flatten()).chain(own);
    SkillPlaces {
        builtin: BUILTIN.to_vec(),
        folders: folders.map(|(tier, path)| SkillFolder { tier, path }).collect(),
        is_trusted: context.trust.is_trusted(),
    }
}

/// A failure with what to do about it.
pub fn failure(error: SkillError) -> anyhow::Error {
    let hint = match &error {
        SkillError::NoSkill { .. } => {
            "a SKILL.md begins with a line ---, then name: and description:, then another line ---"
        }
        SkillError::NothingThere { .. } => "name a folder with a SKILL.md in it",
        SkillError::Refused { .. } => "take it out of the folder, then try again",
        SkillError::Exists { .. } => {
            "`longhaul skills uninstall NAME` removes it; --scope chooses another place"
        }
        SkillError::Unknown { .. } => "`longhaul skills list --all` shows every skill",
        SkillError::NothingWaits { .. } => "`longhaul skills inbox` lists what waits",
        SkillError::NotAcceptable { .. } => {
            "`longhaul skills inbox show NAME` shows it; `dismiss NAME` removes it"
        }
        SkillError::NotOurs { .. } => "`longhaul skills disable NAME` switches it off",
        _ => return error.into(),
    };
    hinted(error, hint)
}

/// The error for a name that no skill has.
pub fn unknown(name: &str) -> anyhow::Error {
    failure(SkillError::Unknown { name: name.to_string() })
}
