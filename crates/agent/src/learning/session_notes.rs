//! Notes on how a session went, taken without a model: the tools, the files, and whether the last check passed.

use std::path::Path;

use longhaul_conversation::{CallId, Message, ToolCall, ToolStatus};
use serde::Serialize;
use serde_json::Value;

const SHELL: &str = "run_shell_command";
const MOST_TOOLS: usize = 6;
const MOST_PATHS: usize = 4;
/// The deepest value of the arguments that is looked at.
const DEEPEST: usize = 6;
/// The longest path that is one, and the longest that is noted whole, in characters.
const LONGEST_PATH: usize = 240;
const LONGEST_NOTED: usize = 120;
const LONGEST_SUMMARY: usize = 160;

/// Notes on how a session went, in the form in which a session's file keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionNotes {
    version: u32,
    /// All of the following in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_summary: Option<String>,
    /// The tools that were used, in the order of their first use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_sequence: Vec<String>,
    /// Files and folders that calls named, relative to the project where they are in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touched_paths: Vec<String>,
    /// The outcome of the last test, build or the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_status: Option<Validation>,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Validation {
    /// It passed.
    Passed,
    /// It failed, or was stopped.
    Failed,
}

impl SessionNotes {
    /// Notes on these messages of a project in `root`.
    pub fn of(messages: &[Message], root: &Path) -> Self {
        let (mut tools, mut paths, mut validation) = (Vec::new(), Vec::new(), None);
        for call in messages.iter().flat_map(Message::calls) {
            add(&mut tools, MOST_TOOLS, tool_name(call));
            find_paths(&call.args, None, 0, &mut |path| add(&mut paths, MOST_PATHS, noted(path, root)));
            if validates(call)
                && let Some(status) = status_of(&call.id, messages)
            {
                validation = Some(status);
            }
        }
        let mut pieces = Vec::new();
        if !tools.is_empty() {
            pieces.push(tools.join(" -> "));
        }
        if !paths.is_empty() {
            pieces.push(format!("paths {}", paths.join(", ")));
        }
        match validation {
            Some(Validation::Passed) => pieces.push("validated".to_string()),
            Some(Validation::Failed) => pieces.push("validation failed".to_string()),
            None => {}
        }
        let summary: String = pieces.join(" | ").chars().take(LONGEST_SUMMARY).collect();
        Self {
            version: 1,
            workflow_summary: Some(summary).filter(|summary| !summary.is_empty()),
            tool_sequence: tools,
            touched_paths: paths,
            validation_status: validation,
        }
    }
}

fn add(list: &mut Vec<String>, most: usize, item: String) {
    if list.len() < most && !item.is_empty() && !list.contains(&item) {
        list.push(item);
    }
}

fn command(call: &ToolCall) -> Option<&str> {
    call.args.get("command")?.as_str().filter(|_| call.name == SHELL)
}

fn tool_name(call: &ToolCall) -> String {
    match command(call) {
        Some(command) => format!("{SHELL}: {}", program(command)),
        None => call.name.chars().filter(|c| !c.is_control()).collect(),
    }
}

/// The program that a command runs, if its name is plain.
fn program(command: &str) -> &str {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_word(name, "_"));
    let first = command.split_whitespace().find(|word| !is_assignment(word));
    let name = first.map(|path| path.rsplit('/').next().unwrap_or(path));
    name.filter(|name| is_word(name, "._+-")).unwrap_or("shell")
}

fn is_word(text: &str, more: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// `true` if a call tests, builds or checks something.
fn validates(call: &ToolCall) -> bool {
    const WORDS: [&str; 4] = ["test", "lint", "build", "check"];
    let is_part = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    command(call).is_some_and(|command| {
        command.split(is_part).any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
    })
}

fn status_of(call: &CallId, messages: &[Message]) -> Option<Validation> {
    let result = messages.iter().flat_map(Message::results).find(|result| result.call == *call)?;
    match result.status {
        ToolStatus::Succeeded => Some(Validation::Passed),
        ToolStatus::Failed | ToolStatus::Cancelled => Some(Validation::Failed),
        ToolStatus::Unstated => None,
    }
}

/// Hands over each text whose name says that it is a path.
fn find_paths(value: &Value, name: Option<&str>, depth: usize, found: &mut impl FnMut(&str)) {
    const NAMES: [&str; 5] = ["path", "file", "dir", "directory", "folder"];
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => {
            let is_named = name.is_some_and(|name| {
                let last = name.rsplit('_').next().unwrap_or(name).trim_end_matches('s');
                let capital = last.rfind(char::is_uppercase).unwrap_or_default();
                NAMES.iter().any(|known| last[capital..].eq_ignore_ascii_case(known))
            });
            let is_path = !text.trim().is_empty() && !text.chars().any(char::is_control);
            if is_named && is_path && text.chars().count() <= LONGEST_PATH {
                found(text.trim());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_paths(item, name, depth + 1, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| find_paths(value, Some(name), depth + 1, found));
        }
        _ => {}
    }
}

/// A path as it is noted: relative to the project, and of a very long one the last parts.
fn noted(path: &str, root: &Path) -> String {
    let relative = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let relative = relative.to_string_lossy();
    let relative = relative.strip_prefix("./").unwrap_or(&relative);
    if relative.chars().count() <= LONGEST_NOTED {
        return if relative.is_empty() { ".".to_string() } else { relative.to_string() };
    }
    let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty()).collect();
    parts[parts.len().saturating_sub(3)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolResult};
    use serde_json::json;

    fn call(id: usize, name: &str, args: Value, status: ToolStatus) -> [Message; 2] {
        let id = format!("c{id}");
        let call = Part::call(ToolCall::new(id.as_str(), name).with_args(args));
        let result = Part::result(ToolResult::text(id.as_str(), "x").with_status(status));
        [Message::new("a", Role::Model, vec![call]), Message::new("b", Role::User, vec![result])]
    }

    #[track_caller]
    fn check(calls: &[(&str, Value, ToolStatus)], expected: &Value) {
        let messages: Vec<Message> = calls
            .iter()
            .enumerate()
            .flat_map(|(place, (name, args, status))| call(place, name, args.clone(), *status))
            .collect();
        let notes = SessionNotes::of(&messages, Path::new("/home/dev/app"));
        assert_eq!(serde_json::to_value(notes).expect("plain data"), *expected);
    }

    fn run(command: &str, status: ToolStatus) -> (&'static str, Value, ToolStatus) {
        (SHELL, json!({"command": command}), status)
    }

    #[test]
    fn the_way_of_working_is_noted() {
        use ToolStatus::{Failed, Succeeded};
        check(&[], &json!({"version": 1}));
        check(
            &[
                ("read_file", json!({"file_path": "/home/dev/app/src/main.rs"}), Succeeded),
                ("read_file", json!({"file_path": "./src/lib.rs"}), Succeeded),
                ("replace", json!({"file_path": "src/lib.rs", "old_string": "a/b"}), Succeeded),
                run("RUST_LOG=x cargo test -q", Succeeded),
            ],
            &json!({
                "version": 1,
                "workflowSummary": "read_file -> replace -> run_shell_command: cargo | paths src/main.rs, src/lib.rs | validated",
                "toolSequence": ["read_file", "replace", "run_shell_command: cargo"],
                "touchedPaths": ["src/main.rs", "src/lib.rs"],
                "validationStatus": "passed",
            }),
        );
        check(
            &[run("npm run lint", Succeeded), run("$(evil) build", Failed), run("latest", Succeeded)],
            &json!({
                "version": 1,
                "workflowSummary":
                    "run_shell_command: npm -> run_shell_command: shell -> run_shell_command: latest | validation failed",
                "toolSequence": ["run_shell_command: npm", "run_shell_command: shell", "run_shell_command: latest"],
                "validationStatus": "failed",
            }),
        );
    }

    #[track_caller]
    fn check_paths(args: Value, expected: &[&str]) {
        let messages = call(1, "x", args, ToolStatus::Succeeded);
        assert_eq!(SessionNotes::of(&messages, Path::new("/p")).touched_paths, expected);
    }

    #[test]
    fn paths_are_what_is_named_so() {
        check_paths(json!({"dir_path": "/p", "paths": ["a", "b"], "pattern": "c"}), &[".", "a", "b"]);
        check_paths(json!({"path": ["1", "2", "3", "4", "5"]}), &["1", "2", "3", "4"]);
        check_paths(json!({"absolutePath": "a"}), &["a"]);
        check_paths(json!({"File": "a", "profile": "b", "_": "c", "": "d"}), &["a"]);
        check_paths(json!({"path": "x".repeat(241)}), &[]);
        check_paths(json!({"path": "a\nb"}), &[]);
        let long = format!("{}/src/deep/file.rs", "x".repeat(120));
        check_paths(json!({"path": long}), &["src/deep/file.rs"]);
        let deep = json!({"a": {"b": {"c": {"d": {"e": {"f": {"path": "too deep"}}}}}}});
        check_paths(deep, &[]);
    }

    #[test]
    fn the_line_is_bounded() {
        let calls: Vec<Message> = (0..9)
            .flat_map(|place| {
                call(
                    place,
                    &format!("tool_with_a_rather_long_name_{place}"),
                    json!({}),
                    ToolStatus::Succeeded,
                )
            })
            .collect();
        let notes = SessionNotes::of(&calls, Path::new("/p"));
        assert_eq!(notes.tool_sequence.len(), MOST_TOOLS);
        assert_eq!(notes.workflow_summary.map(|summary| summary.chars().count()), Some(LONGEST_SUMMARY));
    }
}
