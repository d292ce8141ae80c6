//! `longhaul memory`: the memory files of the current folder.

mod add;
mod edit;
mod facts;
mod imports;
mod inbox;
mod list;
mod placing;
mod reload;
mod remove;
mod report;
mod show;
mod why;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;

use crate::output::Color;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    show: show::ShowOptions,
    #[command(subcommand)]
    command: Option<MemoryCommand>,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Show memory as a new session sees it.
    Show(show::ShowOptions),
    /// List memory files, both used and skipped.
    List(list::ListOptions),
    /// Remember a fact.
    Add(add::AddOptions),
    /// Change the wording of a fact.
    Edit(edit::EditOptions),
    /// Forget a fact.
    Remove(remove::RemoveOptions),
    /// Reload memory and show its size.
    #[command(alias = "refresh")]
    Reload(reload::ReloadOptions),
    /// Show a file with its imports expanded.
    Imports(imports::ImportsOptions),
    /// Explain which memory files apply to a path, in which order, and why others do not.
    Why(why::WhyOptions),
    /// Review, apply or dismiss proposed changes to memory; defaults to `list`.
    Inbox(inbox::InboxArgs),
}

/// Runs one of the commands.
pub(crate) fn run(
    args: &MemoryArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    match &args.command {
        None => show::run(&args.show, &settings, color),
        Some(MemoryCommand::Show(options)) => show::run(options, &settings, color),
        Some(MemoryCommand::List(options)) => list::run(options, &settings, color),
        Some(MemoryCommand::Add(options)) => add::run(options, &settings, color),
        Some(MemoryCommand::Edit(options)) => edit::run(options, &settings),
        Some(MemoryCommand::Remove(options)) => remove::run(options, &settings),
        Some(MemoryCommand::Reload(options)) => reload::run(options, &settings, color),
        Some(MemoryCommand::Imports(options)) => imports::run(options, &settings),
        Some(MemoryCommand::Why(options)) => why::run(options, &settings, color),
        Some(MemoryCommand::Inbox(args)) => inbox::run(args, &settings, color),
    }
}
