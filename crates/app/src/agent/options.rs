//! Options of an agent, given when it is started.

use std::path::PathBuf;

use longhaul_policy::ApprovalMode;

/// Options of an agent, given when it is started; empty by default.
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
    /// Policy files or folders to use instead of those in the home.
    pub policy: Vec<PathBuf>,
}

/// The presence of a user to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// A person at a terminal.
    Attended,
    /// No user.
    Unattended,
}
