//! `longhaul mcp`: the server of the Model Context Protocol.

mod serve;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {}

/// Serves over standard input and output.
pub(crate) fn run(_: &McpArgs) -> anyhow::Result<()> {
    serve::run()
}
