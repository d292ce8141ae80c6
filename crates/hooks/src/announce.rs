//! A record of the project hooks that the user has been told about.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use longhaul_workspace::{Lock, LockTimeout, WorkspaceError, write_private_atomically};
use serde_json::{Map, Value};

use crate::HookError;
use crate::config::{Hook, HookScope};

/// Returns the hooks of a project that the user has not been told about, and records them as known.
///
/// `path` is [`longhaul_workspace::Home::trusted_hooks`]: an object with a list of `name:command` for each project. A
/// hook whose command has changed is new again. This only serves a notice: the folder's trust decides whether hooks
/// run.
///
/// # Errors
/// [`HookError::NotNoted`] if the file cannot be read or written, [`HookError::Broken`] if it holds something else. The
/// caller then announces every hook of the project.
pub fn note_new_hooks<'a>(
    path: &Path,
    project: &Path,
    hooks: &'a [Hook],
    timeout: LockTimeout,
) -> Result<Vec<&'a Hook>, HookError> {
    let hooks: Vec<_> = hooks.iter().filter(|hook| hook.scope == HookScope::Project).collect();
    if hooks.is_empty() {
        return Ok(hooks);
    }
    let _lock = Lock::beside(path, "recording announced hooks", timeout)?;
    let mut noted = load(path)?;
    let project = project.to_string_lossy().into_owned();
    let known = noted.entry(project).or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(known) = known else { return Err(HookError::Broken { path: path.to_path_buf() }) };
    let mut new = Vec::new();
    for hook in hooks {
        let key = Value::from(hook.key());
        if !known.contains(&key) {
            known.push(key);
            new.push(hook);
        }
    }
    if !new.is_empty() {
        let text = format!("{:#}\n", Value::Object(noted));
        write_private_atomically(path, text.as_bytes())?;
    }
    Ok(new)
}

fn load(path: &Path) -> Result<Map<String, Value>, HookError> {
    match fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|_| HookError::Broken { path: path.to_path_buf() })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Map::new()),
        Err(cause) => Err(WorkspaceError::Failed { act: "read", path: path.to_path_buf(), cause }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse_hooks;
    use serde_json::json;

    fn hooks(commands: &[&str], scope: HookScope) -> Vec<Hook> {
        let entries: Vec<_> = commands
            .iter()
            .map(|command| json!({"type": "command", "name": "n", "command": command}))
            .collect();
        parse_hooks(&json!({"BeforeTool": [{"hooks": entries}]}), scope).0
    }

    #[track_caller]
    fn check(path: &Path, project: &str, hooks: &[Hook], expected: &[&str]) {
        let new = note_new_hooks(path, Path::new(project), hooks, LockTimeout::default()).expect("noted");
        let commands: Vec<_> = new.iter().map(|hook| hook.command.as_str()).collect();
        assert_eq!(commands, expected);
    }

    #[test]
    fn a_hook_is_announced_once_and_again_when_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trusted_hooks.json");
        check(&path, "/p", &hooks(&["a"], HookScope::User), &[]);
        assert!(!path.exists());
        check(&path, "/p", &hooks(&["a", "b"], HookScope::Project), &["a", "b"]);
        check(&path, "/p", &hooks(&["a", "b"], HookScope::Project), &[]);
        check(&path, "/p", &hooks(&["a --more", "b"], HookScope::Project), &["a --more"]);
        check(&path, "/q", &hooks(&["a"], HookScope::Project), &["a"]);
        let text = fs::read_to_string(&path).expect("there");
        let noted: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(noted, json!({"/p": ["n:a", "n:b", "n:a --more"], "/q": ["n:a"]}));
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        for broken in ["", "[]", "{", r#"{"/p": 1}"#] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("f");
            fs::write(&path, broken).expect("written");
            let hooks = hooks(&["a"], HookScope::Project);
            let error = note_new_hooks(&path, Path::new("/p"), &hooks, LockTimeout::default());
            assert!(matches!(error, Err(HookError::Broken { .. })), "{broken}");
            assert_eq!(fs::read_to_string(&path).expect("there"), broken);
        }
    }
}
