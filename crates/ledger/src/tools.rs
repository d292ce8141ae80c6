//! The tools of the agents that Longhaul knows, by name: `data/tools.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::data::{DataError, DataFile, loaded};

/// The action of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAction {
    /// Reads a file.
    Read,
    /// Reads several files.
    ReadMany,
    /// Writes a whole file.
    Write,
    /// Makes a new, empty file.
    Create,
    /// Changes parts of a file.
    Edit,
    /// Removes a file.
    Delete,
    /// Moves a file.
    Move,
    /// Applies a patch to several files.
    Patch,
    /// Views, writes or changes a file, as its `command` says.
    Editor,
    /// Runs a command in a shell of its own.
    Shell,
    /// Runs a command in a shell that stays: a change of directory lasts.
    LastingShell,
    /// Lists, searches, fetches: touches no file that would be worth noting.
    Look,
    /// Writes down the whole plan.
    Plan,
    /// Adds a step to the plan.
    AddStep,
    /// Changes a step of the plan.
    UpdateStep,
    /// Starts a sub-agent.
    Agent,
    /// Asks for the state of a job.
    JobStatus,
    /// Stops a job.
    StopJob,
    /// Has no effect that the ledger keeps.
    Nothing,
}

impl ToolAction {
    fn from_key(key: &str) -> Option<Self> {
        Some(match key {
            "read" => Self::Read,
            "read-many" => Self::ReadMany,
            "write" => Self::Write,
            "create" => Self::Create,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "patch" => Self::Patch,
            "editor" => Self::Editor,
            "shell" => Self::Shell,
            "lasting-shell" => Self::LastingShell,
            "look" => Self::Look,
            "plan" => Self::Plan,
            "add-step" => Self::AddStep,
            "update-step" => Self::UpdateStep,
            "agent" => Self::Agent,
            "job-status" => Self::JobStatus,
            "stop-job" => Self::StopJob,
            "nothing" => Self::Nothing,
            _ => return None,
        })
    }
}

type ToolActions = HashMap<&'static str, ToolAction>;

static ACTIONS: LazyLock<ToolActions> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile = DataFile { name: "tools.txt", text: include_str!("../data/tools.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<ToolActions, DataError> {
    let mut actions = ToolActions::new();
    for line in file.lines() {
        let line = line?;
        let action = ToolAction::from_key(line.key).ok_or_else(|| line.unknown_key())?;
        if line.value != compared(line.value) {
            return Err(line.error("names must be in lower case, without _ and -"));
        }
        if actions.insert(line.value, action).is_some() {
            return Err(line.error(format!("`{}` already has an action", line.value)));
        }
    }
    Ok(actions)
}

/// The action of a tool, by its name.
pub(super) fn find_tool(name: &str) -> Option<ToolAction> {
    // A server's tools carry the server's name before their own.
    let own = name.rsplit("__").next().unwrap_or(name);
    ACTIONS.get(compared(own).as_str()).copied()
}

/// The form in which names are compared: lower case, without `_` and `-`.
fn compared(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// True if the shell of a tool stays from one call to the next. Only the exact name tells `Bash` from `bash`.
pub(super) fn has_lasting_shell(name: &str, action: ToolAction) -> bool {
    action == ToolAction::LastingShell || name == "Bash"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_however_their_names_are_spelled() {
        for (name, action) in [
            ("Read", ToolAction::Read),
            ("read_file", ToolAction::Read),
            ("mcp__files__write_file", ToolAction::Write),
            ("MultiEdit", ToolAction::Edit),
            ("str_replace_editor", ToolAction::Editor),
            ("run_shell_command", ToolAction::Shell),
            ("execute_bash", ToolAction::LastingShell),
            ("write_todos", ToolAction::Plan),
            ("KillShell", ToolAction::StopJob),
            ("read_job_output", ToolAction::JobStatus),
            ("stop_job", ToolAction::StopJob),
        ] {
            assert_eq!(find_tool(name), Some(action), "{name}");
        }
        assert!(find_tool("mcp__linear__create_comment").is_none());
    }
}
