//! Serves an agent over standard input and output.

use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::failure::hinted;
use longhaul_app::runtime::runtime;
use longhaul_app::sessions::new_id;
use longhaul_mcp::{AccessToken, CallerEnvironment, ServerOptions, serve_http, serve_stdio};
use tokio::net::TcpListener;

use crate::output::print_aside;
use crate::running::until_interrupted;

/// The variable that holds the token for HTTP.
const TOKEN: &str = "LONGHAUL_MCP_TOKEN";

#[derive(Debug, Args)]
pub(super) struct ServeOptions {
    /// Serve on 127.0.0.1 at this port instead (0: any free one), with the token in LONGHAUL_MCP_TOKEN or a new one.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
}

pub(super) fn run(options: &ServeOptions) -> anyhow::Result<()> {
    if let Some(port) = options.http {
        return run_http(port);
    }
    if std::io::stdin().is_terminal() {
        let error = anyhow!("`longhaul mcp` is started by an agent, which talks to it over standard input");
        return Err(hinted(
            error,
            "add it to your agent: `claude mcp add longhaul -- longhaul mcp`; docs/mcp.md has the others",
        ));
    }
    enter_project()?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve_stdio(server_options(), tokio::io::stdin(), tokio::io::stdout()));
    // Of a client that is gone, standard input may still be open, and reading it cannot be broken off.
    runtime.shutdown_background();
    served.context("could not serve the agent")
}

/// Serves on loopback until it is interrupted. The address and the token are said on standard error.
fn run_http(port: u16) -> anyhow::Result<()> {
    let (given, token) = match variable(TOKEN) {
        Some(text) => (true, text),
        None => (false, format!("{}{}", new_id(), new_id()).replace('-', "")),
    };
    let Some(access) = AccessToken::new(&token) else {
        return Err(hinted(
            anyhow!("the token in {TOKEN} is too short"),
            "use at least 16 letters, digits or signs",
        ));
    };
    until_interrupted(async |cancel| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = listener.await.with_context(|| format!("could not listen on port {port}"))?;
        let address = listener.local_addr().context("could not tell the port")?;
        let shown = if given { format!("the token in {TOKEN}") } else { format!("the token {token}") };
        print_aside(&format!("Serving http://{address}/mcp for who sends {shown} as a bearer token.\n"));
        // The environment of this process says nothing about who connects.
        let options = ServerOptions { caller: CallerEnvironment::default(), ..server_options() };
        let served = cancel.run_until_cancelled(serve_http(options, listener, access)).await;
        served.unwrap_or(Ok(()))
    })?
}

/// Changes to the folder that the agent works in, where it says so: it may start its servers elsewhere.
fn enter_project() -> anyhow::Result<()> {
    let Some(folder) = variable("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|folder| folder.is_dir())
    else {
        return Ok(());
    };
    std::env::set_current_dir(&folder).with_context(|| format!("could not change to {}", folder.display()))
}

fn server_options() -> ServerOptions {
    ServerOptions {
        version: env!("CARGO_PKG_VERSION").to_string(),
        caller: CallerEnvironment { claude_session: variable("CLAUDE_CODE_SESSION_ID") },
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
