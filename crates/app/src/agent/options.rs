//! Options of an agent, which the user states when it is started.

use std::path::PathBuf;

use longhaul_policy::ApprovalMode;

/// Options of an agent, which the user states when it is started; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// The approval mode; otherwise the settings decide.
    pub mode: Option<ApprovalMode>,
    /// Tools that run without asking, such as `write_file` or `run_shell_command(cargo test)`.
    pub allowed_tools: Vec<String>,
    /// More folders that belong to the workspace.
    pub include_directories: Vec<PathBuf>,
    /// The most model calls in one turn.
    pub max_turns: Option<u32>,
    /// Files or folders of rules that count in place of those in the home.
    pub policy: Vec<PathBuf>,
}

/// The presence of somebody who can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// A person at a terminal.
    Attended,
    /// Nobody.
    Unattended,
}
