//! Serves an agent over standard input and output.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use longhaul_app::failure::hinted;
use longhaul_app::runtime::runtime;
use longhaul_mcp::{AgentFolders, CallerEnvironment, ServerOptions, serve_stdio};

pub(super) fn run() -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        let error = anyhow!("`longhaul mcp` is started by an agent, which talks to it over standard input");
        return Err(hinted(
            error,
            "add it to your agent: `claude mcp add longhaul -- longhaul mcp`; docs/mcp.md has the others",
        ));
    }
    enter_project()?;
    let served = runtime()?.block_on(serve_stdio(options(), tokio::io::stdin(), tokio::io::stdout()));
    served.context("could not serve the agent")
}

/// Changes to the folder that the agent works in, where it says so: it may start its servers elsewhere.
fn enter_project() -> anyhow::Result<()> {
    let Some(folder) = variable("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|folder| folder.is_dir())
    else {
        return Ok(());
    };
    std::env::set_current_dir(&folder).with_context(|| format!("could not change to {}", folder.display()))
}

fn options() -> ServerOptions {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let folder = |name: &str, usual: &str| {
        let below = |home: &PathBuf| Path::new(home).join(usual);
        variable(name).map(PathBuf::from).or_else(|| home.as_ref().map(below))
    };
    ServerOptions {
        version: env!("CARGO_PKG_VERSION").to_string(),
        folders: AgentFolders {
            claude: folder("CLAUDE_CONFIG_DIR", ".claude"),
            codex: folder("CODEX_HOME", ".codex"),
        },
        caller: CallerEnvironment { claude_session: variable("CLAUDE_CODE_SESSION_ID") },
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
