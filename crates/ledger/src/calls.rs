//! Reads a tool call: its effect, before its result is known.

use longhaul_conversation::ToolCall;
use serde_json::Value;

use super::arguments::{argument_id, content_in, get, is_true, patch_in, path_in, range_in, text_argument};
use super::effect::{FileEffect, FileOperation, replaced, written};
use super::entries::FileChange;
use super::fields::Field;
use super::patch::read_patch;
use super::paths::{file_name, join};
use super::shell::{ScriptEffects, read_script};
use super::tools::{ToolAction, find_tool, has_lasting_shell};

/// A tool call, by its effect.
#[derive(Debug)]
pub(super) enum ParsedCall {
    /// It does these things to files.
    Files(Vec<FileEffect>),
    /// It runs a command.
    Shell {
        command: String,
        script: ScriptEffects,
        /// True if the shell stays where the script leaves it.
        lasts: bool,
        /// True if the call asks for it to run in the background.
        in_background: bool,
    },
    /// It keeps the plan.
    Plan(ToolAction),
    /// It starts a sub-agent.
    Agent { text: String, in_background: bool },
    /// It asks how a job stands.
    AskJob(String),
    /// It stops a job.
    StopJob(String),
    /// Nothing that a ledger keeps.
    Nothing,
}

/// The context of a call: the shell's directory and the file that is open.
pub(super) struct CallContext<'a> {
    pub(super) directory: &'a str,
    pub(super) open_file: Option<&'a str>,
}

/// Reads a call by the tool's name, or by its arguments where the name is unknown.
pub(super) fn parse_call(call: &ToolCall, around: &CallContext<'_>) -> ParsedCall {
    let args = &call.args;
    let Some(tool) = find_tool(&call.name) else { return by_arguments(call, around) };
    let files = |effect: Option<FileEffect>| ParsedCall::Files(effect.into_iter().collect());
    match tool {
        ToolAction::Read => files(path_in(args).map(|path| FileEffect::read(path, range_in(args)))),
        ToolAction::ReadMany => ParsedCall::Files(read_many(args)),
        ToolAction::Write => files(path_in(args).map(|path| FileEffect::write(path, content_in(args)))),
        ToolAction::Create => files(path_in(args).map(|path| created(path, content_in(args)))),
        ToolAction::Edit if path_in(args).is_none() && patch_in(args).is_some() => {
            ParsedCall::Files(read_patch(patch_in(args).unwrap_or_default()))
        }
        ToolAction::Edit => {
            // An editor that has a file open is not told which.
            let path = path_in(args).or_else(|| around.open_file.map(str::to_string));
            files(path.map(|path| FileEffect::new(path, FileOperation::Edit { change: change_in(args) })))
        }
        ToolAction::Delete => files(path_in(args).map(|path| FileEffect::new(path, FileOperation::Delete))),
        ToolAction::Move => {
            let to = text_argument(args, Field::Destination).and_then(file_name);
            files(
                path_in(args)
                    .zip(to)
                    .map(|(path, to)| FileEffect::new(path, FileOperation::Move { to: to.to_string() })),
            )
        }
        ToolAction::Patch => {
            let patch = text_argument(args, Field::Patch)
                .or(args.as_str())
                .or_else(|| command_in(args).and_then(|words| words.last_text()));
            ParsedCall::Files(read_patch(patch.unwrap_or_default()))
        }
        ToolAction::Editor => files(editor(args)),
        ToolAction::Shell | ToolAction::LastingShell => {
            shell(call, around, has_lasting_shell(&call.name, tool))
        }
        ToolAction::Plan | ToolAction::AddStep | ToolAction::UpdateStep => ParsedCall::Plan(tool),
        ToolAction::Agent => ParsedCall::Agent {
            text: text_argument(args, Field::Task).unwrap_or(&call.name).to_string(),
            in_background: is_true(args, "run_in_background"),
        },
        ToolAction::JobStatus => {
            argument_id(args, Field::Job).map_or(ParsedCall::Nothing, ParsedCall::AskJob)
        }
        ToolAction::StopJob => argument_id(args, Field::Job).map_or(ParsedCall::Nothing, ParsedCall::StopJob),
        ToolAction::Look | ToolAction::Nothing => ParsedCall::Nothing,
    }
}

/// A tool that nobody knows: what it is given tells what it does.
fn by_arguments(call: &ToolCall, around: &CallContext<'_>) -> ParsedCall {
    let args = &call.args;
    let name = call.name.to_ascii_lowercase();
    let named = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if let Some(patch) = patch_in(args) {
        return ParsedCall::Files(read_patch(patch));
    }
    let Some(path) = path_in(args) else {
        let is_shell = named(&["shell", "bash", "exec", "command", "terminal", "run"]);
        return if is_shell && command_in(args).is_some() {
            shell(call, around, false)
        } else {
            ParsedCall::Nothing
        };
    };
    let effect = if changes_text(args) {
        FileEffect::new(path, FileOperation::Edit { change: change_in(args) })
    } else if let Some(content) = content_in(args) {
        FileEffect::write(path, Some(content))
    } else if named(&["delete", "remove"]) {
        FileEffect::new(path, FileOperation::Delete)
    } else if named(&["read", "view", "open", "get_file", "cat"]) {
        FileEffect::read(path, range_in(args))
    } else {
        return ParsedCall::Nothing;
    };
    ParsedCall::Files(vec![effect])
}

fn shell(call: &ToolCall, around: &CallContext<'_>, lasts: bool) -> ParsedCall {
    let Some(command) = command_in(&call.args) else { return ParsedCall::Nothing };
    let own = text_argument(&call.args, Field::Directory);
    let start = own
        .filter(|directory| !directory.is_empty())
        .map_or_else(|| around.directory.to_string(), |directory| join(around.directory, directory));
    let script = read_script(&command.script(), &start, around.open_file);
    let in_background = Field::Background.names().iter().any(|key| is_true(&call.args, key));
    ParsedCall::Shell { command: command.shown(), script, lasts, in_background }
}

/// A command as calls give it: a script, the words of a program, or several scripts.
enum CommandArgument<'a> {
    Script(&'a str),
    Words(Vec<&'a str>),
    Scripts(Vec<&'a str>),
}

fn command_in(args: &Value) -> Option<CommandArgument<'_>> {
    let (key, value) = Field::Command.names().iter().find_map(|key| Some((*key, get(args, key)?)))?;
    match value {
        Value::String(script) => Some(CommandArgument::Script(script)),
        Value::Array(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then_some(if key == "commands" {
                CommandArgument::Scripts(words)
            } else {
                CommandArgument::Words(words)
            })
        }
        _ => None,
    }
}

impl<'a> CommandArgument<'a> {
    /// As one script.
    fn script(&self) -> String {
        match self {
            Self::Script(script) => script.to_string(),
            Self::Scripts(scripts) => scripts.join("\n"),
            Self::Words(words) => {
                let quoted: Vec<String> =
                    words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
                quoted.join(" ")
            }
        }
    }

    /// As a person would write it: without the shell that only runs it.
    fn shown(&self) -> String {
        match self {
            Self::Script(script) => script.trim().to_string(),
            Self::Scripts(scripts) => scripts.join("\n"),
            Self::Words(words) => match words[..] {
                [shell, option, script]
                    if option.starts_with('-') && option.ends_with('c') && shell.ends_with("sh") =>
                {
                    script.trim().to_string()
                }
                _ => words.join(" "),
            },
        }
    }

    fn last_text(&self) -> Option<&'a str> {
        match self {
            Self::Script(script) => Some(script),
            Self::Words(words) | Self::Scripts(words) => words.last().copied(),
        }
    }
}

/// The editor that views, makes and changes files as its `command` says; without one, its arguments tell.
fn editor(args: &Value) -> Option<FileEffect> {
    let path = path_in(args)?;
    let effect = match get(args, "command").and_then(Value::as_str).unwrap_or_default() {
        "view" => FileEffect::read(path, range_in(args)),
        "create" | "write" => FileEffect::write(path, content_in(args)),
        "undo_edit" => FileEffect::new(
            path,
            FileOperation::Edit { change: FileChange { edits: 1, ..FileChange::default() } },
        ),
        _ if changes_text(args) => FileEffect::new(path, FileOperation::Edit { change: change_in(args) }),
        _ if content_in(args).is_some() => FileEffect::write(path, content_in(args)),
        _ => FileEffect::read(path, range_in(args)),
    };
    Some(effect)
}

fn created(path: String, content: Option<&str>) -> FileEffect {
    FileEffect::new(path, FileOperation::Create { change: written(content), hash: None })
}

fn read_many(args: &Value) -> Vec<FileEffect> {
    let Some(Value::Array(items)) = Field::Paths.names().iter().find_map(|key| get(args, key)) else {
        return Vec::new();
    };
    let read = items.iter().take(64).filter_map(|item| match item {
        Value::String(path) => file_name(path).map(|path| FileEffect::read(path, None)),
        item => path_in(item).map(|path| FileEffect::read(path, range_in(item))),
    });
    read.collect()
}

fn changes_text(args: &Value) -> bool {
    Field::Old.names().iter().any(|key| get(args, key).is_some())
        || ["new_string", "new_str", "newText", "new_text", "edits"]
            .iter()
            .any(|key| get(args, key).is_some())
}

/// The size of an edit: one replacement, a list of them, or blocks of searches and replacements.
fn change_in(args: &Value) -> FileChange {
    if let Some(Value::Array(edits)) = get(args, "edits") {
        return edits.iter().map(change_in).fold(FileChange::default(), |mut sum, change| {
            sum.edits = sum.edits.saturating_add(change.edits);
            sum.added = sum.added.saturating_add(change.added);
            sum.removed = sum.removed.saturating_add(change.removed);
            sum.symbols.extend(change.symbols);
            sum
        });
    }
    if let Some(blocks) = get(args, "diff").and_then(Value::as_str) {
        return blocks_change(blocks);
    }
    let old = text_argument(args, Field::Old).unwrap_or_default();
    let new = text_argument(args, Field::New).unwrap_or_default();
    let mut change = replaced(old, new);
    let lines = |key: &str| get(args, key).and_then(Value::as_u64);
    if let (Some(first), Some(last)) = (lines("start_line"), lines("end_line")) {
        change.removed = super::effect::count(last.saturating_sub(first).saturating_add(1) as usize);
    }
    change
}

/// The change of blocks such as `------- SEARCH … ======= … +++++++ REPLACE`.
pub(super) fn blocks_change(blocks: &str) -> FileChange {
    let (mut old, mut new) = (String::new(), String::new());
    let mut sum = FileChange::default();
    let mut side = 0;
    for line in blocks.lines() {
        let is_mark = |word: &str| line.ends_with(word) && line.starts_with(['<', '-', '+', '>']);
        if is_mark("SEARCH") {
            side = 1;
        } else if side == 1 && line.len() >= 5 && line.bytes().all(|byte| byte == b'=') {
            side = 2;
        } else if is_mark("REPLACE") {
            let change = replaced(&old, &new);
            sum.edits += 1;
            sum.added = sum.added.saturating_add(change.added);
            sum.removed = sum.removed.saturating_add(change.removed);
            sum.symbols.extend(change.symbols);
            old.clear();
            new.clear();
            side = 0;
        } else if side > 0 {
            let text = if side == 1 { &mut old } else { &mut new };
            text.push_str(line);
            text.push('\n');
        }
    }
    sum.edits = sum.edits.max(1);
    sum
}
