//! `longhaul trust`: the trusted folders, whose own settings and memory are used.

mod add;
mod list;
mod remove;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use longhaul_app::environment;
use longhaul_workspace::{Home, TrustedFolders, canonical_workspace};

use crate::output::Color;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TrustArgs {
    #[command(flatten)]
    list: list::ListOptions,
    #[command(subcommand)]
    command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List trust rules, and whether the current folder is trusted.
    List(list::ListOptions),
    /// Trust a folder, after showing what it would activate.
    Add(add::AddOptions),
    /// Remove the trust rule of a folder.
    Remove(remove::RemoveOptions),
}

/// Runs one of the commands.
pub(crate) fn run(args: &TrustArgs, color: Color) -> anyhow::Result<()> {
    let Some(command) = &args.command else { return list::run(&args.list, color) };
    match command {
        TrustCommand::List(options) => list::run(options, color),
        TrustCommand::Add(options) => add::run(options, color),
        TrustCommand::Remove(options) => remove::run(options),
    }
}

/// The user's trust rules, and the folder: the current one if none is given.
fn rules_and_folder(given: Option<&PathBuf>) -> anyhow::Result<(Home, TrustedFolders, PathBuf)> {
    let home = Home::resolve(&environment::of_process())?;
    let folder = match given {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir()?,
    };
    let rules = TrustedFolders::at(home.trusted_folders());
    Ok((home, rules, canonical_workspace(&folder)?))
}
