//! `longhaul mcp auth`: signs in at a server, and out.

use std::process::{Command, Stdio};

use anyhow::anyhow;
use clap::Args;
use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::mcp::{ConfiguredServers, load_servers};
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_mcp_client::{ServerConfig, ServerPlace, sign_in};

use crate::output::{print, print_aside, visible};
use crate::running::{Interrupted, until_interrupted};

#[derive(Debug, Args)]
pub(super) struct AuthOptions {
    /// Name of a server; all of them are shown without it.
    name: Option<String>,
    /// Forget the token instead.
    #[arg(long, requires = "name")]
    forget: bool,
    /// Only print the address to open.
    #[arg(long, conflicts_with = "forget")]
    no_browser: bool,
}

pub(super) fn run(options: &AuthOptions, settings: &Settings) -> anyhow::Result<()> {
    let home = environment::home(&environment::of_process())?;
    let context = WorkspaceContext::find(settings, &[])?;
    let servers = load_servers(settings, home.as_ref(), &context);
    let Some(name) = &options.name else { return list(&servers) };
    if let Some((_, reason)) = servers.left_out.iter().find(|(known, _)| known == name) {
        return Err(anyhow!("the MCP server {name} is not started: {reason}"));
    }
    let Some(config) = servers.configs.iter().find(|config| config.name == *name) else {
        let error = anyhow!("no MCP server is named {name}");
        return Err(hinted(error, "run `longhaul mcp list` to see them"));
    };
    if options.forget {
        return forget(config);
    }
    let failed = |error| anyhow!("could not sign in at {name}: {error}");
    let visit = |address: &str| {
        print_aside(&format!("Open this address to sign in at {}:\n{}\n", visible(name), visible(address)));
        if !options.no_browser {
            open_browser(address);
        }
    };
    until_interrupted(async |cancel| {
        let signed = cancel.run_until_cancelled(sign_in(config, visit)).await;
        signed.ok_or(Interrupted)?.map_err(failed)?;
        print(&format!("Signed in at {}.\n", visible(name)))
    })?
}

fn list(servers: &ConfiguredServers) -> anyhow::Result<()> {
    let mut text = String::new();
    for config in &servers.configs {
        let ServerPlace::Address(address) = &config.place else { continue };
        let is_signed_in =
            address.tokens.as_ref().is_some_and(|tokens| tokens.has_token(&config.name, &address.url));
        let state = if is_signed_in { "signed in" } else { "not signed in" };
        text.push_str(&format!("{}  {state}\n", visible(&config.name)));
    }
    if text.is_empty() {
        text.push_str("No MCP server here has an address to sign in at.\n");
    }
    print(&text)
}

fn forget(config: &ServerConfig) -> anyhow::Result<()> {
    let name = visible(&config.name);
    let tokens = match &config.place {
        ServerPlace::Address(address) => address.tokens.as_ref(),
        ServerPlace::Command(_) => None,
    };
    let was_there =
        tokens.map(|tokens| tokens.forget(&config.name)).transpose().map_err(|error| anyhow!(error))?;
    print(&match was_there {
        Some(true) => {
            format!("Forgot the token for {name}. The server may still know it: sign out there, too.\n")
        }
        _ => format!("There is no token for {name}.\n"),
    })
}

/// Asks the desktop to open an address. Where there is none, the address was printed.
fn open_browser(address: &str) {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(windows) => "explorer",
        () => "xdg-open",
    };
    let started = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = started {
        // It is waited for so that nothing of it is left; it may take as long as the browser runs.
        std::thread::spawn(move || child.wait());
    }
}
