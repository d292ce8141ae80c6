//! What a folder would activate if it were trusted. Its files are only looked at.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_memory::{MemorySettings, Places, WorkFolder, load_memory};
use longhaul_workspace::{WorkspaceFolder, blank_comments};
use serde_json::{Map, Value, json};

use crate::output::{Page, visible};

/// What a folder would activate.
#[derive(Debug, Default)]
pub(super) struct Activated {
    /// Each kind of thing, with names.
    kinds: Vec<(&'static str, Vec<String>)>,
    /// What deserves a second look.
    warnings: Vec<String>,
}

impl Activated {
    /// Looks at a folder.
    pub(super) fn by(folder: &Path, memory: &MemorySettings) -> Self {
        let place = WorkspaceFolder::of(folder);
        let mut activated = Self::default();
        let settings = match read_settings(&place.settings()) {
            Ok(settings) => settings,
            Err(reason) => {
                activated.warnings.push(format!("its settings cannot be read: {reason}"));
                Map::new()
            }
        };
        let section = |name: &str| settings.get(name).and_then(Value::as_object);
        let keys =
            |name: &str| section(name).map(|section| section.keys().cloned().collect()).unwrap_or_default();
        activated.add("memory files", memory_files(folder, memory));
        activated.add("settings", settings.keys().cloned().collect());
        activated.add("hooks", keys("hooks"));
        activated.add("MCP servers", keys("mcpServers"));
        activated.add("commands", names_in(&place.commands(), "toml"));
        activated.add(
            "skills",
            [place.skills(), place.shared_skills()].iter().flat_map(|skills| folders_in(skills)).collect(),
        );
        activated.add("agents", names_in(&place.agents(), "md"));
        activated.add("policies", names_in(&place.policies(), "toml"));
        activated.warn(&settings);
        activated
    }

    fn add(&mut self, kind: &'static str, names: Vec<String>) {
        if !names.is_empty() {
            self.kinds.push((kind, names));
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
        for key in ["tools.allowed", "tools.autoAccept"] {
            if at(key).is_some_and(is_filled) {
                self.warnings.push(format!("{key} lets tools run without asking"));
            }
        }
        if at("security.folderTrust.enabled") == Some(&Value::Bool(false)) {
            self.warnings.push(
                "security.folderTrust.enabled tries to switch trust off; it does not count there".into(),
            );
        }
        if at("tools.sandbox") == Some(&Value::Bool(false)) {
            self.warnings.push("tools.sandbox switches the sandbox off".into());
        }
        for (kind, what) in [
            ("hooks", "hooks run commands by themselves"),
            ("agents", "agents have instructions of their own"),
        ] {
            if self.kinds.iter().any(|(known, _)| *known == kind) {
                self.warnings.push(what.into());
            }
        }
    }

    /// For people.
    pub(super) fn tell(&self, page: &mut Page, folder: &Path) {
        let name = visible(&folder.display().to_string());
        if self.kinds.is_empty() {
            page.line(&format!("{name} has nothing that trust would activate."));
        } else {
            page.line(&format!("Trusted, {name} activates:"));
        }
        for (kind, names) in &self.kinds {
            page.item(kind, 12, &visible(&names.join(", ")));
        }
        for warning in &self.warnings {
            page.line(&page.screen.warning(&format!("warning: {}", visible(warning))));
        }
        page.gap();
    }

    /// As JSON.
    pub(super) fn to_json(&self) -> Value {
        let kinds =
            self.kinds.iter().map(|(kind, names)| (kind.replace(' ', "_").to_lowercase(), json!(names)));
        let mut object: Map<String, Value> = kinds.collect();
        object.insert("warnings".into(), json!(self.warnings));
        object.into()
    }
}

/// The memory files of a folder, as they would be loaded at the start.
fn memory_files(folder: &Path, settings: &MemorySettings) -> Vec<String> {
    let place = WorkFolder { path: folder.to_path_buf(), is_trusted: true };
    let places = Places { folders: vec![place], ..Places::default() };
    let memory = load_memory(&places, settings);
    let name = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    memory.files.iter().map(|file| name(&file.path)).collect()
}

fn read_settings(file: &Path) -> Result<Map<String, Value>, String> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(error.to_string()),
    };
    let blanked = blank_comments(&bytes).map_err(|_| "a comment never ends".to_owned())?;
    if blanked.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&blanked).map_err(|error| error.to_string())
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
