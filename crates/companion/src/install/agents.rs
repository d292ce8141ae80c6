//! The agents that can be guarded: where their hooks stand, and the entries that call the guard.

use std::path::{Path, PathBuf};

use longhaul_workspace::{JsoncDocument, NewKey};
use serde_json::{Value, json};

use super::InstallError;
use crate::text::GuardRoom;

/// An agent that can be guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardedAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// The reach of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// All of the user's projects.
    User,
    /// One project.
    Project,
}

/// The folders of the agents and our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlaces {
    /// Claude Code's folder, `~/.claude` unless it is elsewhere.
    pub claude: PathBuf,
    /// Codex's folder, `~/.codex` unless it is elsewhere.
    pub codex: PathBuf,
    /// Gemini CLI's folder, `~/.gemini` unless it is elsewhere.
    pub gemini: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// The folder where notes about installations are kept.
    pub notes: PathBuf,
}

/// The beginning of every command of the guard.
const COMMAND: &str = "longhaul guard";
/// The seconds that an agent waits for a hook; the guard itself gives up after one.
const SECONDS: u64 = 5;

impl GuardedAgent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The product's name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The step that is left to the user after installing, if there is one.
    pub fn next_step(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some(
                "start codex, enter /hooks, and press t to trust the hooks: until then Codex does not run them",
            ),
            Self::Claude | Self::Gemini => None,
        }
    }

    /// The file with the agent's hooks.
    pub(super) fn file(self, scope: InstallScope, places: &AgentPlaces) -> PathBuf {
        let (user, folder, name) = match self {
            Self::Claude => (&places.claude, ".claude", "settings.json"),
            Self::Codex => (&places.codex, ".codex", "hooks.json"),
            Self::Gemini => (&places.gemini, ".gemini", "settings.json"),
        };
        match scope {
            InstallScope::User => user.join(name),
            InstallScope::Project => places.project.join(folder).join(name),
        }
    }

    /// The events the guard listens to, each with its group of hooks.
    fn groups(self) -> Vec<(&'static str, Value)> {
        let hook = |arguments: String| json!({"type": "command", "command": format!("{COMMAND}{arguments}"), "timeout": SECONDS});
        let handlers = |room: GuardRoom| -> Vec<Value> {
            (1..=room.handlers).map(|handler| hook(format!(" --handler {handler}"))).collect()
        };
        match self {
            Self::Claude => vec![
                ("SessionStart", json!({"matcher": "compact|resume", "hooks": handlers(GuardRoom::CLAUDE)})),
                ("UserPromptSubmit", json!({"hooks": handlers(GuardRoom::CLAUDE)})),
                ("PreCompact", json!({"hooks": [hook(String::new())]})),
            ],
            Self::Codex => vec![
                ("SessionStart", json!({"matcher": "compact|resume", "hooks": handlers(GuardRoom::CODEX)})),
                ("UserPromptSubmit", json!({"hooks": handlers(GuardRoom::CODEX)})),
            ],
            // Gemini CLI counts its timeouts in milliseconds.
            Self::Gemini => vec![(
                "BeforeModel",
                json!({"hooks": [{"type": "command", "name": "longhaul-guard", "command": COMMAND, "timeout": SECONDS * 1_000}]}),
            )],
        }
    }

    /// The text of the agent's file with the guard's hooks in it, and no others of ours.
    pub(super) fn with_guard(self, path: &Path, before: Option<&str>) -> Result<String, InstallError> {
        let malformed = |cause| InstallError::Malformed { path: path.to_path_buf(), cause };
        let mut document = JsoncDocument::parse(before.unwrap_or_default().to_string()).map_err(malformed)?;
        for (event, group) in self.groups() {
            let mut groups = groups_of(&document, event, path)?;
            let others = without_own(&groups);
            let mut wanted = others.clone();
            wanted.push(group.clone());
            if groups == wanted {
                continue;
            }
            groups = wanted;
            document =
                document.set(&["hooks", event], &Value::Array(groups), NewKey::Last).map_err(malformed)?;
        }
        Ok(document.text().to_string())
    }

    /// The text without the guard's hooks; none if nothing else is in it.
    pub(super) fn without_guard(self, path: &Path, now: &str) -> Result<Option<String>, InstallError> {
        let malformed = |cause| InstallError::Malformed { path: path.to_path_buf(), cause };
        let mut document = JsoncDocument::parse(now.to_string()).map_err(malformed)?;
        let Some(hooks) = document.root().and_then(|root| root.get("hooks")) else {
            return Ok(Some(now.to_string()));
        };
        let Value::Object(mut hooks) = hooks.to_value() else { return Ok(Some(now.to_string())) };
        let before = hooks.clone();
        for groups in hooks.values_mut() {
            if let Value::Array(list) = groups {
                *list = without_own(list);
            }
        }
        hooks.retain(|event, groups| {
            before.get(event) == Some(groups) || groups.as_array().is_none_or(|it| !it.is_empty())
        });
        if hooks == before {
            return Ok(Some(now.to_string()));
        }
        document = match hooks.is_empty() {
            true => document.remove("hooks").map_err(malformed)?,
            false => document.set(&["hooks"], &Value::Object(hooks), NewKey::Last).map_err(malformed)?,
        };
        let is_empty = document.root().is_none_or(|root| root.is_object() && root.entries().is_empty());
        Ok((!is_empty || document.text().contains("//")).then(|| document.text().to_string()))
    }

    /// True if hooks of the guard are in a text of the agent's.
    pub(super) fn has_guard(self, text: &str) -> bool {
        text.contains(COMMAND)
    }
}

/// The groups of hooks of an event.
fn groups_of(document: &JsoncDocument, event: &str, path: &Path) -> Result<Vec<Value>, InstallError> {
    let unexpected = |key: &str, expected| InstallError::Unexpected {
        path: path.to_path_buf(),
        key: key.to_string(),
        expected,
    };
    let Some(root) = document.root() else { return Ok(Vec::new()) };
    if !root.is_object() {
        return Err(unexpected("the file", "object"));
    }
    let Some(hooks) = root.get("hooks") else { return Ok(Vec::new()) };
    if !hooks.is_object() {
        return Err(unexpected("hooks", "object"));
    }
    match hooks.get(event).map(|groups| groups.to_value()) {
        None => Ok(Vec::new()),
        Some(Value::Array(groups)) => Ok(groups),
        Some(_) => Err(unexpected(&format!("hooks.{event}"), "list")),
    }
}

/// The groups without hooks of ours; a group that had no others is gone.
fn without_own(groups: &[Value]) -> Vec<Value> {
    let is_own = |hook: &Value| {
        hook.get("command").and_then(Value::as_str).is_some_and(|command| command.starts_with(COMMAND))
    };
    let mut kept = Vec::new();
    for group in groups {
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            kept.push(group.clone());
            continue;
        };
        if !hooks.iter().any(is_own) {
            kept.push(group.clone());
            continue;
        }
        let others: Vec<Value> = hooks.iter().filter(|hook| !is_own(hook)).cloned().collect();
        if !others.is_empty() {
            let mut group = group.clone();
            group["hooks"] = Value::Array(others);
            kept.push(group);
        }
    }
    kept
}
