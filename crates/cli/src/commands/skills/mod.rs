//! `longhaul skills`: the skills that count in the current folder, and where they come from.

mod extract;
pub(crate) mod inbox;
mod install;
mod list;
pub(crate) mod scope;
mod show;
pub(crate) mod switch;
pub(crate) mod waiting;

use clap::{Args, Subcommand};
use longhaul_skills::{BUILTIN, SkillError, SkillFolder, SkillPlaces, SkillTier, Skills, load_skills};
use longhaul_workspace::{Home, WorkspaceFolder};

use crate::commands::memory::surroundings::Surroundings;
use crate::environment;
use crate::failure::hinted;
use crate::output::Color;
use crate::project::Project;
use crate::settings::Settings;
use crate::strays;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SkillsArgs {
    #[command(flatten)]
    list: list::ListOptions,
    #[command(subcommand)]
    command: Option<SkillsCommand>,
}

#[derive(Debug, Subcommand)]
enum SkillsCommand {
    /// Lists the skills that count here.
    List(list::ListOptions),
    /// Shows a skill, as a model would read it.
    Show(show::ShowOptions),
    /// Switches a skill on again.
    Enable(switch::SwitchOptions),
    /// Switches a skill off, so that it is no longer offered.
    Disable(switch::SwitchOptions),
    /// Copies a skill from a folder, after showing what it holds.
    Install(install::InstallOptions),
    /// Removes a skill that was installed or linked.
    Uninstall(install::UninstallOptions),
    /// Makes a link to a skill in a folder, so that it counts as it is there.
    Link(install::LinkOptions),
    /// Learns from past sessions what happens again and again, and puts skills and facts into the inbox.
    Extract(extract::ExtractOptions),
    /// Shows the skills that wait for you, accepts or dismisses them; alone it lists them.
    Inbox(inbox::InboxArgs),
}

impl SkillsArgs {
    /// Whether a model may be asked.
    pub(crate) fn asks_models(&self) -> bool {
        matches!(self.command, Some(SkillsCommand::Extract(_)))
    }
}

/// Runs one of the commands.
pub(crate) fn run(
    args: &SkillsArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let desk = Desk::find(load_settings()?)?;
    if !matches!(args.command, Some(SkillsCommand::Inbox(_))) {
        // What waits may count by now; each command of the inbox does this by itself.
        desk.resume_inbox()?;
    }
    match &args.command {
        None => list::run(&args.list, &desk, color),
        Some(SkillsCommand::List(options)) => list::run(options, &desk, color),
        Some(SkillsCommand::Show(options)) => show::run(options, &desk),
        Some(SkillsCommand::Enable(options)) => switch::enable(options, &desk),
        Some(SkillsCommand::Disable(options)) => switch::disable(options, &desk),
        Some(SkillsCommand::Install(options)) => install::install(options, &desk, color),
        Some(SkillsCommand::Uninstall(options)) => install::uninstall(options, &desk),
        Some(SkillsCommand::Link(options)) => install::link(options, &desk),
        Some(SkillsCommand::Extract(options)) => extract::run(options, &desk, color),
        Some(SkillsCommand::Inbox(args)) => inbox::run(args, &desk, color),
    }
}

/// What all of the commands work with.
pub(crate) struct Desk {
    home: Home,
    around: Surroundings,
    settings: Settings,
}

impl Desk {
    /// Finds out about the current folder.
    pub(crate) fn find(settings: Settings) -> anyhow::Result<Self> {
        let home = Home::resolve(&environment::of_process())?;
        let around = Surroundings::find(&settings, &[])?;
        let project = Project::find()?.map(|project| project.home);
        strays::remove(&home, project.as_ref(), &around.cwd);
        Ok(Self { home, around, settings })
    }

    fn places(&self) -> SkillPlaces {
        places(&self.home, &self.around)
    }

    /// The skills that are found here.
    pub(crate) fn skills(&self) -> Skills {
        load_skills(&self.places(), &self.settings.skills())
    }
}

/// Where skills are looked for.
pub(crate) fn places(home: &Home, around: &Surroundings) -> SkillPlaces {
    let workspace = WorkspaceFolder::of(&around.cwd);
    let extensions = around.extensions.iter().map(|folder| (SkillTier::Extension, folder.join("skills")));
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
        is_trusted: around.trust.is_trusted(),
    }
}

/// A failure with what to do about it.
fn failure(error: SkillError) -> anyhow::Error {
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
fn unknown(name: &str) -> anyhow::Error {
    failure(SkillError::Unknown { name: name.to_string() })
}
