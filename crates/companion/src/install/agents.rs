//! The agents that can be guarded: the files of an installation in each of them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::pieces::{COMMAND, InstalledFile, Piece};
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
    /// opencode.
    Opencode,
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
    /// opencode's folder of settings, `~/.config/opencode` unless it is elsewhere.
    pub opencode: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// The folder where notes about installations are kept.
    pub notes: PathBuf,
}

/// The seconds that an agent waits for a hook; the guard itself gives up after one.
const SECONDS: u64 = 5;
/// The name of the plug-in, the extension, the skill and the MCP server.
const NAME: &str = "longhaul";
/// The name of the collection that the plug-in stands in.
const COLLECTION: &str = "longhaul-tools";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = "Brings your rules and work back after a compaction, and finds earlier sessions.";
const SKILL: &str = include_str!("texts/skill.md");
const OPENCODE: &str = include_str!("texts/opencode.js");

impl GuardedAgent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The product's name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
        }
    }

    /// The step that is left to the user after installing, if there is one.
    pub fn next_step(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some(
                "start codex, enter /hooks, and press t to trust the hooks: until then Codex does not run them",
            ),
            Self::Claude | Self::Gemini | Self::Opencode => None,
        }
    }

    /// The files of an installation. For all projects, Claude Code and Codex get one plug-in and Gemini CLI an extension; a
    /// project's own folder gets entries that name no path of this machine, so that it can be shared.
    pub(super) fn files(self, scope: InstallScope, places: &AgentPlaces) -> Vec<InstalledFile> {
        let project = &places.project;
        let mcp = json!({"command": NAME, "args": ["mcp"]});
        let entry =
            |keys: &[&str], value: Value| Piece::Entry(keys.iter().map(ToString::to_string).collect(), value);
        match (self, scope) {
            (Self::Claude, InstallScope::User) => {
                let folder = places.notes.join("plugin-claude");
                let place = json!({"source": {"source": "directory", "path": folder}});
                let mut files = plug_in(&folder);
                files.push(InstalledFile::new(
                    places.claude.join("settings.json"),
                    vec![
                        Piece::Hooks(Vec::new()),
                        entry(&["extraKnownMarketplaces", COLLECTION], place),
                        entry(&["enabledPlugins", &format!("{NAME}@{COLLECTION}")], true.into()),
                    ],
                ));
                files
            }
            (Self::Claude, InstallScope::Project) => vec![
                InstalledFile::new(
                    project.join(".claude").join("settings.json"),
                    vec![Piece::Hooks(self.groups())],
                ),
                InstalledFile::new(project.join(".mcp.json"), vec![entry(&["mcpServers", NAME], mcp)]),
                skill(&project.join(".claude")),
            ],
            (Self::Codex, InstallScope::User) => {
                let folder = places.notes.join("plugin-codex");
                let copy =
                    places.codex.join("plugins").join("cache").join(COLLECTION).join(NAME).join(VERSION);
                let mut files = plug_in(&folder);
                files.extend(plug_in_files(&copy));
                files.push(InstalledFile::new(
                    places.codex.join("hooks.json"),
                    vec![Piece::Hooks(Vec::new())],
                ));
                let lines = format!(
                    "[marketplaces.{COLLECTION}]\nsource_type = \"local\"\nsource = {}\n\n[plugins.\"{NAME}@{COLLECTION}\"]\nenabled = true\n",
                    json!(folder)
                );
                files.push(InstalledFile::new(places.codex.join("config.toml"), vec![Piece::Lines(lines)]));
                files
            }
            (Self::Codex, InstallScope::Project) => {
                let lines = format!("[mcp_servers.{NAME}]\ncommand = \"{NAME}\"\nargs = [\"mcp\"]\n");
                let folder = project.join(".codex");
                vec![
                    InstalledFile::new(folder.join("hooks.json"), vec![Piece::Hooks(self.groups())]),
                    InstalledFile::new(folder.join("config.toml"), vec![Piece::Lines(lines)]),
                    skill(&folder),
                ]
            }
            (Self::Gemini, InstallScope::User) => {
                let folder = places.gemini.join("extensions").join(NAME);
                let manifest = json!({"name": NAME, "version": VERSION, "description": DESCRIPTION, "mcpServers": {NAME: mcp}});
                vec![
                    InstalledFile::own(folder.join("gemini-extension.json"), pretty(&manifest)),
                    InstalledFile::own(folder.join("hooks").join("hooks.json"), hooks_file(&self.groups())),
                    skill(&folder),
                    InstalledFile::new(places.gemini.join("settings.json"), vec![Piece::Hooks(Vec::new())]),
                ]
            }
            (Self::Gemini, InstallScope::Project) => vec![
                InstalledFile::new(
                    project.join(".gemini").join("settings.json"),
                    vec![Piece::Hooks(self.groups()), entry(&["mcpServers", NAME], mcp)],
                ),
                skill(&project.join(".gemini")),
            ],
            (Self::Opencode, scope) => {
                let folder = match scope {
                    InstallScope::User => places.opencode.clone(),
                    InstallScope::Project => project.join(".opencode"),
                };
                vec![InstalledFile::own(folder.join("plugins").join("longhaul.js"), OPENCODE), skill(&folder)]
            }
        }
    }

    /// The events the guard listens to, each with its group of hooks.
    fn groups(self) -> Vec<(&'static str, Value)> {
        let hook = |arguments: String| json!({"type": "command", "command": format!("{COMMAND}{arguments}"), "timeout": SECONDS});
        let handlers = |room: GuardRoom| -> Vec<Value> {
            (1..=room.handlers).map(|handler| hook(format!(" --handler {handler}"))).collect()
        };
        // Gemini CLI counts its timeouts in milliseconds.
        let named = || json!({"hooks": [{"type": "command", "name": "longhaul-guard", "command": COMMAND, "timeout": SECONDS * 1_000}]});
        match self {
            // The rooms of both have as many handlers, so that one list serves both.
            Self::Claude | Self::Codex => vec![
                ("SessionStart", json!({"hooks": handlers(GuardRoom::CLAUDE)})),
                ("UserPromptSubmit", json!({"hooks": handlers(GuardRoom::CLAUDE)})),
                ("PreCompact", json!({"hooks": [hook(String::new())]})),
                ("Stop", json!({"hooks": [hook(String::new())]})),
                ("SessionEnd", json!({"hooks": [hook(String::new())]})),
            ],
            Self::Gemini => {
                vec![("BeforeModel", named()), ("AfterAgent", named()), ("SessionEnd", named())]
            }
            Self::Opencode => Vec::new(),
        }
    }
}

/// The plug-in for Claude Code and Codex, in a collection of its own.
fn plug_in(folder: &Path) -> Vec<InstalledFile> {
    let source = format!("./{NAME}");
    let claude = json!({
        "name": COLLECTION, "owner": {"name": "Longhaul"},
        "plugins": [{"name": NAME, "source": source, "description": DESCRIPTION}],
    });
    let codex = json!({
        "name": COLLECTION, "interface": {"displayName": "Longhaul"},
        "plugins": [{
            "name": NAME, "source": {"source": "local", "path": source}, "policy": {"installation": "AVAILABLE"},
            "category": "Productivity",
        }],
    });
    let mut files = vec![
        InstalledFile::own(folder.join(".claude-plugin").join("marketplace.json"), pretty(&claude)),
        InstalledFile::own(folder.join(".agents").join("plugins").join("marketplace.json"), pretty(&codex)),
    ];
    files.extend(plug_in_files(&folder.join(NAME)));
    files
}

fn plug_in_files(folder: &Path) -> Vec<InstalledFile> {
    let claude = json!({"name": NAME, "version": VERSION, "description": DESCRIPTION});
    let codex = json!({
        "name": NAME, "version": VERSION, "description": DESCRIPTION,
        "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json", "skills": "./skills/",
    });
    let mcp = json!({"mcpServers": {NAME: {"command": NAME, "args": ["mcp"]}}});
    vec![
        InstalledFile::own(folder.join(".claude-plugin").join("plugin.json"), pretty(&claude)),
        InstalledFile::own(folder.join(".codex-plugin").join("plugin.json"), pretty(&codex)),
        InstalledFile::own(
            folder.join("hooks").join("hooks.json"),
            hooks_file(&GuardedAgent::Claude.groups()),
        ),
        InstalledFile::own(folder.join(".mcp.json"), pretty(&mcp)),
        skill(folder),
    ]
}

fn skill(folder: &Path) -> InstalledFile {
    InstalledFile::own(folder.join("skills").join(NAME).join("SKILL.md"), SKILL)
}

fn hooks_file(groups: &[(&'static str, Value)]) -> String {
    let events: serde_json::Map<String, Value> =
        groups.iter().map(|(event, group)| (event.to_string(), json!([group]))).collect();
    pretty(&json!({"hooks": events}))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
