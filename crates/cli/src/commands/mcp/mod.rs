//! `longhaul mcp`: the server of the Model Context Protocol, and the servers of Longhaul's own agent.

mod auth;
mod configure;
mod list;
mod serve;

use clap::{Args, Subcommand};
use longhaul_app::settings::Settings;

use crate::output::Color;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    serve: serve::ServeOptions,
    #[command(subcommand)]
    command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Serve an agent over standard input and output, or on loopback; the default.
    Serve(serve::ServeOptions),
    /// List the servers that Longhaul's agent uses here.
    List(list::ListOptions),
    /// Start servers and list their tools.
    Test(list::TestOptions),
    /// Sign in at a server that asks for it.
    Auth(auth::AuthOptions),
    /// Add a server to the settings.
    Add(configure::AddOptions),
    /// Remove a server from the settings.
    Remove(configure::RemoveOptions),
}

impl McpArgs {
    /// Returns true if programs are started that must not see secrets.
    pub(crate) fn starts_servers(&self) -> bool {
        matches!(self.command, Some(McpCommand::Test(_) | McpCommand::Auth(_)))
    }
}

/// Runs one of the commands. Serving loads settings itself, each time they are needed.
pub(crate) fn run(
    args: &McpArgs,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    match &args.command {
        None => serve::run(&args.serve),
        Some(McpCommand::Serve(options)) => serve::run(options),
        Some(McpCommand::List(options)) => list::list(options, &load_settings()?, color),
        Some(McpCommand::Test(options)) => list::test(options, &load_settings()?, color),
        Some(McpCommand::Auth(options)) => auth::run(options, &load_settings()?),
        Some(McpCommand::Add(options)) => configure::add(options),
        Some(McpCommand::Remove(options)) => configure::remove(options),
    }
}
