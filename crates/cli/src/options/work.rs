//! The arguments that say what an agent may do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use longhaul_app::agent::AgentOptions;
use longhaul_policy::ApprovalMode;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkOptions {
    /// How much you want to be asked before a tool runs; where nobody can be asked, what would be asked is refused.
    #[arg(long, value_name = "MODE")]
    approval_mode: Option<Mode>,
    /// The same as --approval-mode yolo.
    #[arg(short, long, conflicts_with = "approval_mode")]
    yolo: bool,
    /// Tools that run without asking, such as write_file or "run_shell_command(cargo test)"; commas separate several.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    allowed_tools: Vec<String>,
    /// More folders that belong to the workspace; commas separate several.
    #[arg(long, value_name = "FOLDERS", value_delimiter = ',')]
    include_directories: Vec<PathBuf>,
    /// How often the model may be asked in one turn [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Files or folders of rules that count in place of those in the home.
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    policy: Vec<PathBuf>,
}

/// How much a user wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Reading is free, changing and running are asked for.
    Default,
    /// Edits of files are free, too.
    #[value(alias = "auto_edit", alias = "autoEdit")]
    AutoEdit,
    /// Everything is free that no rule of yours forbids.
    Yolo,
    /// Only reading, for making a plan.
    Plan,
}

impl WorkOptions {
    /// Returns true if nothing of all this was given.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { approval_mode, yolo, allowed_tools, include_directories, max_turns, policy } = self;
        approval_mode.is_none()
            && !yolo
            && allowed_tools.is_empty()
            && include_directories.is_empty()
            && max_turns.is_none()
            && policy.is_empty()
    }

    /// The same as values.
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
