//! `longhaul skills`: the active skills of the current folder, and where they come from.

mod extract;
mod inbox;
mod install;
mod list;
mod show;
mod switch;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;
use longhaul_app::skills::SkillLibrary;

use crate::output::Color;

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
    /// List active skills.
    List(list::ListOptions),
    /// Show a skill as a model reads it.
    Show(show::ShowOptions),
    /// Enable a skill.
    Enable(switch::SwitchOptions),
    /// Disable a skill, so that models are not offered it.
    Disable(switch::SwitchOptions),
    /// Install skills from a folder, an archive or a git repository, after showing their contents.
    Install(install::InstallOptions),
    /// Remove an installed or linked skill.
    Uninstall(install::UninstallOptions),
    /// Link a skill folder instead of copying it.
    Link(install::LinkOptions),
    /// Learn skills and facts from past sessions, and put them in the inbox.
    Extract(extract::ExtractOptions),
    /// Review, accept or dismiss proposed skills; defaults to `list`.
    Inbox(inbox::InboxArgs),
}

impl SkillsArgs {
    /// Returns true if a model may be called.
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
    let library = SkillLibrary::find(load_settings()?)?;
    if !matches!(args.command, Some(SkillsCommand::Inbox(_))) {
        // What waits may count by now; each command of the inbox does this by itself.
        library.resume_inbox()?;
    }
    match &args.command {
        None => list::run(&args.list, &library, color),
        Some(SkillsCommand::List(options)) => list::run(options, &library, color),
        Some(SkillsCommand::Show(options)) => show::run(options, &library),
        Some(SkillsCommand::Enable(options)) => switch::enable(options, &library),
        Some(SkillsCommand::Disable(options)) => switch::disable(options, &library),
        Some(SkillsCommand::Install(options)) => install::install(options, &library, color),
        Some(SkillsCommand::Uninstall(options)) => install::uninstall(options, &library),
        Some(SkillsCommand::Link(options)) => install::link(options, &library),
        Some(SkillsCommand::Extract(options)) => extract::run(options, &library, color),
        Some(SkillsCommand::Inbox(args)) => inbox::run(args, &library, color),
    }
}
