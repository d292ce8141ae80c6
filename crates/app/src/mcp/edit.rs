//! Adds and removes servers in settings files, and keeps everything else, comments included.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use longhaul_workspace::{Home, WorkspaceFolder};
use serde_json::Value;

use crate::environment;
use crate::failure::hinted;
use crate::settings::set_entry;

/// The settings file to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerScope {
    /// The user's.
    User,
    /// The current folder's.
    Project,
}

fn file(scope: ServerScope) -> anyhow::Result<PathBuf> {
    match scope {
        ServerScope::User => Ok(Home::resolve(&environment::of_process())?.settings()),
        ServerScope::Project => Ok(WorkspaceFolder::of(&environment::current_folder()).settings()),
    }
}

/// Adds a server to a settings file, or replaces the one of that name; returns the file.
pub fn add_server(name: &str, server: &Value, scope: ServerScope) -> anyhow::Result<PathBuf> {
    if name.trim().is_empty() {
        return Err(hinted(anyhow!("the server's name is empty"), "pass a name such as files"));
    }
    let file = file(scope)?;
    set_entry(&file, "mcpServers", name, Some(server))?;
    Ok(file)
}

/// Removes a server from a settings file; returns the file.
pub fn remove_server(name: &str, scope: ServerScope) -> anyhow::Result<PathBuf> {
    let file = file(scope)?;
    if !set_entry(&file, "mcpServers", name, None)? {
        let error = anyhow!("no MCP server named {name} in {}", display(&file));
        return Err(hinted(error, "run `longhaul mcp list` to see where each one is set"));
    }
    Ok(file)
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
