//! `longhaul memory`: the memory files that hold in the current folder.

mod add;
mod imports;
mod inbox;
mod list;
mod placing;
mod reload;
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
    /// Shows what the memory files say, as a session would begin with it.
    Show(show::ShowOptions),
    /// Lists the memory files in use, and those that are not.
    List(list::ListOptions),
    /// Remembers a fact.
    Add(add::AddOptions),
    /// Loads memory anew, and says how much there is.
    #[command(alias = "refresh")]
    Reload(reload::ReloadOptions),
    /// Shows what a file becomes with its imports.
    Imports(imports::ImportsOptions),
    /// Says which memory files apply when an agent touches a path, in which order, and which do not and why.
    Why(why::WhyOptions),
    /// Shows the changes to memory that wait for you, applies or removes them; alone it lists them.
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
        Some(MemoryCommand::Reload(options)) => reload::run(options, &settings, color),
        Some(MemoryCommand::Imports(options)) => imports::run(options, &settings),
        Some(MemoryCommand::Why(options)) => why::run(options, &settings, color),
        Some(MemoryCommand::Inbox(args)) => inbox::run(args, &settings, color),
    }
}
