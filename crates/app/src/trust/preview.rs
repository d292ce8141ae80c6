//! Previews what a folder would activate if it were trusted. Its files are only read.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::plural;
use longhaul_memory::{Discovery, MemorySettings};
use longhaul_workspace::{Contents, WorkspaceFolder};
use serde_json::{Map, Value};

use super::grants::{GrantKind, env_variables, memory_files, memory_links_out, read_settings, rights_of};
use crate::project_servers::project_servers;

/// A preview of what a folder would activate.
#[derive(Debug, Default)]
pub struct TrustPreview {
    /// Each kind of thing, with names.
    pub kinds: Vec<(&'static str, Vec<String>)>,
    /// Each hook: its event and its command.
    pub hooks: Vec<(String, String)>,
    /// Each MCP server: its name and its command or address.
    pub servers: Vec<(String, String)>,
    /// Each endpoint: the provider's name, the address and the key that goes there.
    pub endpoints: Vec<(String, String)>,
    /// Links among these files: from where, to where.
    pub links: Vec<(String, String)>,
    /// Warnings about risky content.
    pub warnings: Vec<String>,
}

/// The kind of variables that `.env` files set for Longhaul.
const VARIABLES: &str = "variables";

/// The most links to look for.
const MOST_LINKS: usize = 50;

impl TrustPreview {
    /// Looks at a folder.
    pub fn of(folder: &Path, memory: &MemorySettings) -> Self {
        let place = WorkspaceFolder::of(folder);
        let mut preview = Self::default();
        let settings = match read_settings(&place.settings()) {
            Ok(settings) => settings,
            Err(reason) => {
                preview.warnings.push(format!("could not read its settings: {reason}"));
                Map::new()
            }
        };
        let section = |name: &str| settings.get(name).and_then(Value::as_object);
        let keys =
            |name: &str| section(name).map(|section| section.keys().cloned().collect()).unwrap_or_default();
        let upward = memory_files(folder, memory);
        let everywhere = MemorySettings {
            discovery: Discovery::Full { most_folders: Discovery::MOST_FOLDERS },
            ..memory.clone()
        };
        let below: Vec<PathBuf> =
            memory_files(folder, &everywhere).into_iter().filter(|file| !upward.contains(file)).collect();
        let name = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
        preview.add("memory files", upward.iter().map(name).collect());
        preview.add("memory below", below.iter().map(name).collect());
        preview.add("settings", settings.keys().cloned().collect());
        preview.add("hooks", keys("hooks"));
        let of_project = project_servers(folder).unwrap_or_default();
        preview.add("MCP servers", keys("mcpServers").into_iter().chain(of_project.into_keys()).collect());
        let of_claude = names_in(&folder.join(".claude").join("commands"), "md");
        preview.add("commands", names_in(&place.commands(), "toml").into_iter().chain(of_claude).collect());
        preview.add(
            "skills",
            std::iter::once(place.skills())
                .chain(place.shared_skills())
                .flat_map(|skills| folders_in(&skills))
                .collect(),
        );
        preview.add("agents", names_in(&place.agents(), "md"));
        preview.add("policies", names_in(&place.policies(), "toml"));
        let variables: Vec<String> = env_variables(folder, None)
            .iter()
            .map(|(place, name, ..)| format!("{name} in {place}"))
            .collect();
        let rights = rights_of(folder, &place.settings(), None);
        preview.hooks = shown(&rights, GrantKind::Hooks);
        preview.servers = shown(&rights, GrantKind::McpServers);
        preview.endpoints = shown(&rights, GrantKind::Endpoints);
        // A key has no address, and stands among the variables.
        preview.endpoints.retain(|(name, address)| !address.is_empty() || !variables.contains(name));
        preview.add(VARIABLES, variables);
        let memory = upward.into_iter().chain(below).chain(memory_links_out(folder, &everywhere));
        let own = [place.root().to_path_buf(), folder.join(".agents"), folder.join(".claude").join("skills")];
        for path in own.into_iter().chain(memory) {
            preview.find_links(folder, &path, 4);
        }
        preview.warn(&settings);
        preview
    }

    /// Returns true if trust would activate nothing.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The content ignored without trust, in a few words such as `settings, 2 hooks, GEMINI.md`.
    pub(crate) fn left_out(&self) -> String {
        let mut parts = Vec::new();
        for (kind, names) in &self.kinds {
            match (*kind, names.as_slice()) {
                ("memory files", names) if names.len() < 4 => parts.extend(names.iter().cloned()),
                ("hooks", _) => parts.push(plural(self.hooks.len().max(1), "hook", "hooks")),
                ("settings", _) => parts.push("settings".into()),
                (VARIABLES, names) => {
                    parts.push(plural(names.len(), "variable in .env", "variables in .env"));
                }
                ("skills" | "agents" | "commands" | "MCP servers", names) => {
                    parts.push(plural(names.len(), &kind[..kind.len() - 1], kind));
                }
                ("memory files" | "memory below", names) => {
                    let below = if *kind == "memory below" { " below" } else { "" };
                    parts.push(format!("{}{below}", plural(names.len(), "memory file", "memory files")));
                }
                (kind, names) => parts.push(format!("{} {kind}", names.len())),
            }
        }
        parts.join(", ")
    }

    fn add(&mut self, kind: &'static str, names: Vec<String>) {
        if !names.is_empty() {
            self.kinds.push((kind, names));
        }
    }

    fn find_links(&mut self, folder: &Path, path: &Path, depth: usize) {
        let Ok(found) = path.symlink_metadata() else { return };
        if self.links.len() >= MOST_LINKS {
            return;
        }
        if found.is_symlink() {
            let from = path.strip_prefix(folder).unwrap_or(path).display().to_string();
            let to = path.canonicalize().or_else(|_| path.read_link()).unwrap_or_default();
            self.links.push((from, to.display().to_string()));
        } else if found.is_dir() && depth > 0 {
            for entry in entries(path).collect::<Vec<_>>() {
                self.find_links(folder, &entry, depth - 1);
            }
        }
    }

    fn warn(&mut self, settings: &Map<String, Value>) {
        let at = |path: &str| {
            let mut steps = path.split('.');
            let first = settings.get(steps.next()?)?;
            steps.try_fold(first, |value, step| value.get(step))
        };
        let is_filled = |value: &Value| {
            value.as_array().is_some_and(|list| !list.is_empty()) || value == &Value::Bool(true)
        };
        for key in ["tools.allowed", "tools.core", "tools.autoAccept"] {
            if at(key).is_some_and(is_filled) {
                self.warnings.push(format!("{key} lets tools run without asking"));
            }
        }
        let is_privileged = |mode: &Value| matches!(mode.as_str(), Some("auto_edit" | "autoEdit" | "yolo"));
        if at("general.defaultApprovalMode").is_some_and(is_privileged) {
            self.warnings.push("general.defaultApprovalMode lets tools run without asking".into());
        }
        if at("security.folderTrust.enabled") == Some(&Value::Bool(false)) {
            self.warnings
                .push("security.folderTrust.enabled tries to turn trust off; it is ignored there".into());
        }
        if at("tools.sandbox") == Some(&Value::Bool(false)) {
            self.warnings.push("tools.sandbox turns the sandbox off".into());
        }
        if at("context.includeDirectories").is_some_and(is_filled) {
            self.warnings.push("context.includeDirectories gives tools access to more folders".into());
        }
        if !self.endpoints.is_empty() {
            self.warnings.push("endpoints decide where your conversations and keys are sent".into());
        }
        if !self.links.is_empty() {
            self.warnings.push("links point to files that may change without notice".into());
        }
        for (kind, what) in
            [("hooks", "hooks run commands automatically"), ("agents", "agents have their own instructions")]
        {
            if self.kinds.iter().any(|(known, _)| *known == kind) {
                self.warnings.push(what.into());
            }
        }
    }
}

/// The things of a kind that have something to show.
fn shown(contents: &Contents, kind: GrantKind) -> Vec<(String, String)> {
    let items = contents.get(kind.name()).into_iter().flatten();
    let items = items.filter(|(name, _)| !matches!(name.as_str(), "hooks" | "hooksConfig"));
    items.map(|(name, item)| (name.clone(), item.shown().to_owned())).collect()
}

/// The files with this extension, sorted.
fn names_in(folder: &Path, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = entries(folder)
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

/// The folders that hold a skill, sorted.
fn folders_in(folder: &Path) -> Vec<String> {
    let skills = entries(folder).filter(|path| path.join("SKILL.md").is_file());
    let mut names: Vec<String> =
        skills.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
