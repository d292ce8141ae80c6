//! `longhaul policy`: what the rules say about a tool call.

mod check;

use clap::Subcommand;

use crate::args::Color;
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Says whether a call would run, which rule decides, and why others do not.
    Check(check::CheckOptions),
}

/// Runs one of the commands.
pub(crate) fn run(
    command: &PolicyCommand,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    match command {
        PolicyCommand::Check(options) => check::run(options, &settings, color),
    }
}
