//! `longhaul agents`: the sub-agents that can be started here.

mod list;

use clap::Subcommand;
use longhaul_app::settings::Settings;

use crate::output::Color;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List sub-agents with their definitions, and report invalid ones.
    List(list::ListOptions),
}

/// Runs one of the commands.
pub(crate) fn run(
    command: &AgentsCommand,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    match command {
        AgentsCommand::List(options) => list::run(options, &settings, color),
    }
}
