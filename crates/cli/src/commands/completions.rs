//! `longhaul completions SHELL`.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::Args;

/// Prints the completion script for a shell.
pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "longhaul", &mut script);
    std::io::stdout().lock().write_all(&script).context("could not write the output")
}
