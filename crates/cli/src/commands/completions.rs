//! `longhaul completions SHELL`.

use std::io::Write;

use anyhow::Context;

/// Prints the completion script for a shell.
pub(crate) fn run(mut command: clap::Command, shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "longhaul", &mut script);
    std::io::stdout().lock().write_all(&script).context("could not write the output")
}
