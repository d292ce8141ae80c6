//! `longhaul agents`: the sub-agents that can be started here.

mod list;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;

use crate::output::Color;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    list: list::ListOptions,
    #[command(subcommand)]
    command: Option<AgentsCommand>,
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// List sub-agents with their definitions, and report invalid ones.
    List(list::ListOptions),
}

/// Runs one of the commands.
pub(crate) fn run(
    args: &AgentsArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    match &args.command {
        None => list::run(&args.list, &settings, color),
        Some(AgentsCommand::List(options)) => list::run(options, &settings, color),
    }
}
