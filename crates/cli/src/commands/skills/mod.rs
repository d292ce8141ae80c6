//! `longhaul skills`: the skills that count in the current folder, and where they come from.

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
    /// Returns true if a model may be asked.
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
