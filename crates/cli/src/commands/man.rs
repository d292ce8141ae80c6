//! `longhaul man`: manual pages, made from the same definitions as the help.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_mangen::Man;

#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write the pages of all commands into this folder, instead of printing the first.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Prints the manual page, or writes one for each command.
pub(crate) fn run(options: &ManOptions, command: clap::Command) -> anyhow::Result<()> {
    // The groups of the help have no place on a manual page, which lists all commands.
    let command = command.help_template("").disable_help_subcommand(true);
    let Some(folder) = &options.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).context("could not make the manual page")?;
        return std::io::stdout().lock().write_all(&page).context("could not write the output");
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| format!("could not write manual pages into {}", folder.display()))
}
