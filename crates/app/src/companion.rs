//! The folders of other agents, for the guard.

use std::path::{Path, PathBuf};

use longhaul_companion::AgentPlaces;
use longhaul_workspace::{Home, WorkspaceError};

use crate::environment;

/// The folders of other agents, from this process's environment.
///
/// # Errors
/// If no home folder is set.
pub fn agent_places(project: &Path) -> Result<AgentPlaces, WorkspaceError> {
    let environment = environment::of_process();
    let home = Home::resolve(&environment)?;
    let user = environment.user_home.unwrap_or_default();
    let folder = |variable: &str, usual: &str| {
        let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        named.unwrap_or_else(|| user.join(usual))
    };
    let gemini = environment.gemini_cli_home.unwrap_or_else(|| user.clone());
    Ok(AgentPlaces {
        claude: folder("CLAUDE_CONFIG_DIR", ".claude"),
        codex: folder("CODEX_HOME", ".codex"),
        gemini: gemini.join(".gemini"),
        opencode: folder("XDG_CONFIG_HOME", ".config").join("opencode"),
        project: project.to_path_buf(),
        notes: home.guard(),
    })
}
