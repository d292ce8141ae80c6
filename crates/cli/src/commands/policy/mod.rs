//! `longhaul policy`: the rules about tool calls, and saved approvals.

mod check;
mod list;
mod revoke;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;

use crate::output::{Color, Screen, print_aside, visible};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PolicyArgs {
    #[command(flatten)]
    list: list::ListOptions,
    #[command(subcommand)]
    command: Option<PolicyCommand>,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// List saved approvals and every active rule.
    List(list::ListOptions),
    /// Revoke a saved approval.
    Revoke(revoke::RevokeOptions),
    /// Explain which rule applies to a tool call, and why others do not.
    Check(check::CheckOptions),
}

/// Runs one of the commands.
pub(crate) fn run(
    args: &PolicyArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    match &args.command {
        None => list::run(&args.list, &settings, color),
        Some(PolicyCommand::List(options)) => list::run(options, &settings, color),
        Some(PolicyCommand::Revoke(options)) => revoke::run(options, &settings, color),
        Some(PolicyCommand::Check(options)) => check::run(options, &settings, color),
    }
}

/// Prints warnings about invalid rules on standard error.
fn warn(warnings: &[String], color: Color) {
    for warning in warnings {
        let label = Screen::of_stderr(color).warning("warning:");
        print_aside(&format!("{label} {}\n", visible(warning)));
    }
}
