//! Options on what an agent may do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use longhaul_app::agent::AgentOptions;
use longhaul_policy::ApprovalMode;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkOptions {
    /// When to ask before a tool runs: default (edits and commands), auto-edit (commands), yolo (never, save for what a rule
    /// denies) or plan (read only); without a terminal, what would be asked is refused.
    #[arg(long, value_name = "MODE", hide_possible_values = true)]
    approval_mode: Option<Mode>,
    /// Same as --approval-mode yolo.
    #[arg(short, long, conflicts_with = "approval_mode")]
    yolo: bool,
    /// Tools that run without asking, such as write_file or "run_shell_command(cargo test)"; comma-separated.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    allowed_tools: Vec<String>,
    /// Additional workspace folders; comma-separated.
    #[arg(long, value_name = "FOLDERS", value_delimiter = ',')]
    include_directories: Vec<PathBuf>,
    /// Maximum model calls per turn [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Policy files or folders to use instead of those in the home; comma-separated.
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    policy: Vec<PathBuf>,
}

/// The approval mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Reads run freely; edits and other commands need approval.
    Default,
    /// File edits run freely, too.
    #[value(alias = "auto_edit", alias = "autoEdit")]
    AutoEdit,
    /// Everything runs that no rule denies.
    Yolo,
    /// Read-only, for planning.
    Plan,
}

impl WorkOptions {
    /// Returns true if none of these options was given.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { approval_mode, yolo, allowed_tools, include_directories, max_turns, policy } = self;
        approval_mode.is_none()
            && !yolo
            && allowed_tools.is_empty()
            && include_directories.is_empty()
            && max_turns.is_none()
            && policy.is_empty()
    }

    /// The same as options of an agent.
    pub(crate) fn to_agent_options(&self) -> AgentOptions {
        AgentOptions {
            mode: self.mode(),
            allowed_tools: self.allowed_tools.clone(),
            include_directories: self.include_directories.clone(),
            max_turns: self.max_turns,
            policy: self.policy.clone(),
        }
    }

    /// The approval mode, if one was stated.
    fn mode(&self) -> Option<ApprovalMode> {
        if self.yolo {
            return Some(ApprovalMode::Yolo);
        }
        self.approval_mode.map(|mode| match mode {
            Mode::Default => ApprovalMode::Default,
            Mode::AutoEdit => ApprovalMode::AutoEdit,
            Mode::Yolo => ApprovalMode::Yolo,
            Mode::Plan => ApprovalMode::Plan,
        })
    }
}
