//! The tools of the agents we know: what each does, and which arguments say what it does it to.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
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
    /// Asks how a job stands.
    AskJob,
    /// Stops a job.
    StopJob,
    /// Has no effect that a ledger keeps.
    Nothing,
}

/// One row of the vocabulary.
pub(super) struct Tool {
    pub(super) does: Does,
    /// The argument that matters most, by the names it goes under: a path, a command, a patch, a job's id.
    pub(super) argument: &'static [&'static str],
}

/// Names under which tools are given a path.
pub(super) const PATH: &[&str] = &[
    "file_path",
    "absolute_path",
    "path",
    "filePath",
    "filename",
    "file_name",
    "file",
    "notebook_path",
    "target_file",
    "relative_path",
    "source",
];
/// Names under which tools are given several.
pub(super) const PATHS: &[&str] = &["files", "paths", "include", "file_paths", "target_files"];
/// Names under which tools are given a command.
pub(super) const COMMAND: &[&str] = &["command", "cmd", "commands", "script", "bash_command"];
/// Names under which tools are given a patch.
pub(super) const PATCH: &[&str] = &["patch", "input", "diff", "patchText"];
/// Names under which jobs go.
const JOB: &[&str] =
    &["bash_id", "shell_id", "task_id", "agent_id", "agentId", "session_id", "id", "job_id", "job", "pid"];
/// What a sub-agent is told, the shortest first.
const TASK: &[&str] = &["description", "title", "objective", "task", "prompt", "query", "message", "context"];

const TOOLS: &[(&[&str], Tool)] = &[
    // Names are compared in lower case and without `_` and `-`: `Read`, `read_file` and `ReadFile` meet their rows.
    (
        &["read", "readfile", "view", "viewfile", "open", "openfile", "catfile", "notebookread"],
        Tool { does: Does::Read, argument: PATH },
    ),
    (&["readmanyfiles", "readfiles", "readmultiplefiles"], Tool { does: Does::ReadMany, argument: PATHS }),
    (
        &["write", "writefile", "writetofile", "savefile", "createfile", "newfile"],
        Tool { does: Does::Write, argument: PATH },
    ),
    (&["create"], Tool { does: Does::Create, argument: PATH }),
    (
        &[
            "edit",
            "editfile",
            "replace",
            "replaceinfile",
            "multiedit",
            "notebookedit",
            "searchreplace",
            "strreplace",
            "insert",
            "applydiff",
            "insertcontent",
            "smartedit",
        ],
        Tool { does: Does::Edit, argument: PATH },
    ),
    (&["deletefile", "removefile"], Tool { does: Does::Delete, argument: PATH }),
    (&["movefile", "renamefile"], Tool { does: Does::Move, argument: PATH }),
    (&["applypatch"], Tool { does: Does::Patch, argument: PATCH }),
    (
        &[
            "strreplaceeditor",
            "fileeditor",
            "editor",
            "strreplacebasededittool",
            "texteditor",
            "planningfileeditor",
        ],
        Tool { does: Does::Editor, argument: PATH },
    ),
    (
        &[
            "shell",
            "runshellcommand",
            "execcommand",
            "executecommand",
            "runcommands",
            "runcommand",
            "localshell",
            "localshellcall",
            "container.exec",
            "bash",
            "shellcommand",
            "exec",
            "unifiedexec",
            "runinterminal",
            "runterminalcmd",
        ],
        Tool { does: Does::Shell, argument: COMMAND },
    ),
    (&["executebash", "cmdrun", "run", "terminal"], Tool { does: Does::LastingShell, argument: COMMAND }),
    (
        &[
            "grep",
            "glob",
            "ls",
            "find",
            "listdirectory",
            "listfiles",
            "listdir",
            "searchfilecontent",
            "grepsearch",
            "greptool",
            "searchfiles",
            "findfile",
            "searchdir",
            "searchfile",
            "webfetch",
            "websearch",
            "googlewebsearch",
            "fetch",
            "listcodedefinitionnames",
            "codebasesearch",
            "toolsearch",
            "goto",
            "scrollup",
            "scrolldown",
            "search",
            "viewimage",
            "browseraction",
        ],
        Tool { does: Does::Look, argument: &[] },
    ),
    (
        &["todowrite", "updateplan", "writetodos", "tasktracker", "updatetodolist", "todo", "focuschain"],
        Tool { does: Does::Plan, argument: &[] },
    ),
    (&["taskcreate"], Tool { does: Does::AddStep, argument: &[] }),
    (&["taskupdate"], Tool { does: Does::UpdateStep, argument: &[] }),
    (
        &[
            "task",
            "agent",
            "delegatetoagent",
            "codebaseinvestigator",
            "spawnagent",
            "newtask",
            "subagent",
            "dispatchagent",
            "delegate",
            "usesubagents",
        ],
        Tool { does: Does::Agent, argument: TASK },
    ),
    (
        &[
            "bashoutput",
            "readjoboutput",
            "taskoutput",
            "agentoutput",
            "agentoutputtool",
            "writestdin",
            "waitagent",
            "wait",
        ],
        Tool { does: Does::AskJob, argument: JOB },
    ),
    (
        &["killshell", "killbash", "stopjob", "taskstop", "stopagent", "closeagent"],
        Tool { does: Does::StopJob, argument: JOB },
    ),
    (
        &[
            "savememory",
            "think",
            "finish",
            "submit",
            "exitplanmode",
            "enterplanmode",
            "askuserquestion",
            "askuser",
            "askfollowupquestion",
            "attemptcompletion",
            "skill",
            "activateskill",
            "useskill",
            "planmoderespond",
            "tasklist",
            "taskget",
            "todoread",
            "requestuserinput",
            "slashcommand",
        ],
        Tool { does: Does::Nothing, argument: &[] },
    ),
];

/// The rows of [`TOOLS`] by each of their names.
static BY_NAME: LazyLock<HashMap<&[u8], &Tool>> = LazyLock::new(|| {
    TOOLS.iter().flat_map(|(names, tool)| names.iter().map(move |name| (name.as_bytes(), tool))).collect()
});

/// What is known of a tool by its name.
pub(super) fn find_tool(name: &str) -> Option<&'static Tool> {
    // A server's tools carry the server's name before their own.
    let server = name.as_bytes().windows(2).rposition(|pair| pair == b"__");
    let own = server.map_or(name, |end| &name[end + 2..]);
    let bytes = own.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    let squeezed: Vec<u8> = bytes.map(|byte| byte.to_ascii_lowercase()).collect();
    BY_NAME.get(&squeezed[..]).copied()
}

/// Whether a tool's shell stays from one call to the next; only its exact name tells these apart.
pub(super) fn has_lasting_shell(name: &str, does: Does) -> bool {
    does == Does::LastingShell || name == "Bash"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_however_their_names_are_spelled() {
        for (name, does) in [
            ("Read", Does::Read),
            ("read_file", Does::Read),
            ("mcp__files__write_file", Does::Write),
            ("MultiEdit", Does::Edit),
            ("str_replace_editor", Does::Editor),
            ("run_shell_command", Does::Shell),
            ("execute_bash", Does::LastingShell),
            ("write_todos", Does::Plan),
            ("KillShell", Does::StopJob),
            ("read_job_output", Does::AskJob),
            ("stop_job", Does::StopJob),
        ] {
            assert_eq!(find_tool(name).map(|tool| tool.does), Some(does), "{name}");
        }
        assert!(find_tool("mcp__linear__create_comment").is_none());
    }

    #[test]
    fn no_name_stands_in_two_rows() {
        let mut names: Vec<_> = TOOLS.iter().flat_map(|(names, _)| names.iter()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
