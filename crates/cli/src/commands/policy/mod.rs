//! `longhaul policy`: what the rules about tool calls say, and what of it you always allowed.

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
    /// List what you always allowed, and every rule that counts here.
    List(list::ListOptions),
    /// Take back something that you always allowed.
    Revoke(revoke::RevokeOptions),
    /// Say whether a call would run, which rule decides, and why others do not.
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

/// Says on standard error what is wrong with some rules.
fn warn(warnings: &[String], color: Color) {
    for warning in warnings {
        let label = Screen::of_stderr(color).warning("warning:");
        print_aside(&format!("{label} {}\n", visible(warning)));
    }
}
