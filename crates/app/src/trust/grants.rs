//! Content of a folder that trust activates, with fingerprints that reveal changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_hooks::{HookScope, parse_hooks};
use longhaul_memory::{Memory, MemorySettings, Places, SkipReason, WorkFolder, load_memory};
use longhaul_redact::has_secret;
use longhaul_workspace::{Contents, Fingerprint, Home, WorkspaceFolder, blank_comments};
use serde_json::{Map, Value};

use crate::project_servers::{PROJECT_FILE, project_servers};
use crate::variables::{EnvFile, ProjectRole, project_env_files, role_in_project};

/// A kind of content that a trusted folder activates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantKind {
    /// Commands that run automatically, and their scripts.
    Hooks,
    /// Programs whose tools a model may call.
    McpServers,
    /// Addresses that requests and keys are sent to, and keys in `.env` files.
    Endpoints,
    /// Policy rules, and settings that let tools run without asking.
    Policies,
    /// Sub-agents.
    Agents,
    /// Memory files.
    Memory,
    /// Skills.
    Skills,
    /// Custom commands.
    Commands,
}

impl GrantKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 8] = [
        Self::Hooks,
        Self::McpServers,
        Self::Endpoints,
        Self::Policies,
        Self::Agents,
        Self::Memory,
        Self::Skills,
        Self::Commands,
    ];

    /// Its name, for people and in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::McpServers => "MCP servers",
            Self::Endpoints => "endpoints",
            Self::Policies => "policies",
            Self::Agents => "agents",
            Self::Memory => "memory",
            Self::Skills => "skills",
            Self::Commands => "commands",
        }
    }

    /// The kind of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The settings that are ignored while it is suspended. What only restricts stays.
    pub(crate) fn keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Hooks => &[&["hooks"], &["hooksConfig"]],
            Self::McpServers => &[&["mcpServers"], &["mcp"]],
            Self::Endpoints => &[&["longhaul", "providers"], &["longhaul", "telemetry"]],
            Self::Policies => &[
                &["tools", "allowed"],
                &["tools", "autoAccept"],
                &["general", "defaultApprovalMode"],
                &["context", "includeDirectories"],
            ],
            Self::Agents | Self::Memory | Self::Skills | Self::Commands => &[],
        }
    }
}

/// The size above which a file's fingerprint covers only its start and size.
const LARGEST: u64 = 4 << 20;

/// The most files of one folder to fingerprint.
const MOST_FILES: usize = 500;

/// Content of a folder that is suspended when it changes: hooks, servers, endpoints, policies and agents. `settings` is its
/// settings file; the `.env` files of `home` are the user's own.
pub(crate) fn rights_of(folder: &Path, settings: &Path, home: Option<&Home>) -> Contents {
    let place = WorkspaceFolder::of(folder);
    let settings = read_settings(settings).unwrap_or_default();
    let mut contents = Contents::new();
    let mut add = |kind: GrantKind, items: BTreeMap<String, Fingerprint>| {
        contents.insert(kind.name().to_owned(), items);
    };
    add(GrantKind::Hooks, hooks(folder, &place, &settings));
    let named = |section: Option<&Value>, shown: fn(&Value) -> String| {
        let entries = section.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), fingerprint(value, &shown(value)))).collect()
    };
    let mut servers: BTreeMap<_, _> = named(settings.get("mcpServers"), server);
    // Those of the project's own file stand beside those of its settings.
    let of_project = project_servers(folder).unwrap_or_default();
    servers.extend(
        of_project
            .iter()
            .map(|(name, value)| (format!("{name} ({PROJECT_FILE})"), fingerprint(value, &server(value)))),
    );
    add(GrantKind::McpServers, servers);
    let ours = settings.get("longhaul");
    let mut endpoints: BTreeMap<_, _> = named(ours.and_then(|ours| ours.get("providers")), endpoint);
    if let Some(telemetry) = ours.and_then(|ours| ours.get("telemetry")) {
        endpoints.insert("longhaul.telemetry".into(), fingerprint(telemetry, &telemetry.to_string()));
    }
    endpoints.extend(keys_and_addresses(folder, home));
    add(GrantKind::Endpoints, endpoints);
    let mut policies = files(&place.policies(), &["toml"], 1);
    for steps in GrantKind::Policies.keys().iter().chain([&["tools", "core"].as_slice()]) {
        let value = steps.iter().skip(1).try_fold(settings.get(steps[0]), |at, step| Some(at?.get(step)));
        if let Some(value) = value.flatten() {
            policies.insert(steps.join("."), fingerprint(value, &value.to_string()));
        }
    }
    add(GrantKind::Policies, policies);
    add(GrantKind::Agents, files(&place.agents(), &["md"], 1));
    contents
}

/// The keys and addresses that the `.env` files of a folder set: they decide where conversations and keys are sent.
fn keys_and_addresses(folder: &Path, home: Option<&Home>) -> BTreeMap<String, Fingerprint> {
    let mut found = BTreeMap::new();
    for (place, name, value, role) in env_variables(folder, home) {
        let value = Value::from(value);
        match role {
            ProjectRole::Address => {
                let shown = value.as_str().unwrap_or_default();
                found.insert(format!("{name} in {place}"), fingerprint(&value, shown));
            }
            ProjectRole::Key => drop(found.insert(format!("{name} in {place}"), fingerprint(&value, ""))),
            ProjectRole::Choice | ProjectRole::Refused => {}
        }
    }
    found
}

/// The variables for Longhaul in the `.env` files of a folder: the file's path from the folder, name, value and role.
pub(super) fn env_variables(
    folder: &Path,
    home: Option<&Home>,
) -> Vec<(String, String, String, ProjectRole)> {
    let files = project_env_files(home, folder).into_iter().filter(|file| !file.leads_out());
    let loaded = files.filter_map(|file| EnvFile::load(&file.path).ok().flatten());
    let variables = loaded.flat_map(|file| {
        let path = file.path();
        let place = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let own: Vec<_> = file
            .iter()
            .filter_map(|(name, value)| {
                let role = role_in_project(name)?;
                Some((place.clone(), name.to_string(), value.to_string(), role))
            })
            .collect();
        own
    });
    variables.filter(|(.., role)| *role != ProjectRole::Refused).collect()
}

/// Content of a folder that is used after a change as well, with a notice: memory, skills and commands.
pub(crate) fn texts_of(folder: &Path, memory: &MemorySettings) -> Contents {
    let place = WorkspaceFolder::of(folder);
    let skills = std::iter::once(place.skills()).chain(place.shared_skills());
    let skills = skills.flat_map(|skills| files(&skills, &[], 6)).collect();
    let memory = memory_files(folder, memory).into_iter().map(|path| {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        (name, fingerprint_file(&path))
    });
    Contents::from([
        (GrantKind::Memory.name().to_owned(), memory.collect()),
        (GrantKind::Skills.name().to_owned(), skills),
        (GrantKind::Commands.name().to_owned(), files(&place.commands(), &["toml"], 4)),
    ])
}

/// The memory files of a folder that would be loaded at the start, and its rules for certain paths.
pub(super) fn memory_files(folder: &Path, settings: &MemorySettings) -> Vec<PathBuf> {
    let Memory { files, skipped, .. } = load(folder, settings);
    let waits = |reason: &SkipReason| matches!(reason, SkipReason::OtherPaths { .. });
    let rules = skipped.into_iter().filter(|skipped| waits(&skipped.reason)).map(|skipped| skipped.path);
    files.into_iter().map(|file| file.path).chain(rules).collect()
}

/// The memory files of a folder that link out of it, and are not read.
pub(super) fn memory_links_out(folder: &Path, settings: &MemorySettings) -> Vec<PathBuf> {
    let skipped = load(folder, settings).skipped.into_iter();
    let leads_out = |reason: &SkipReason| matches!(reason, SkipReason::Outside { .. });
    skipped.filter(|skipped| leads_out(&skipped.reason)).map(|skipped| skipped.path).collect()
}

fn load(folder: &Path, settings: &MemorySettings) -> Memory {
    let place = WorkFolder { path: folder.to_path_buf(), is_trusted: true };
    load_memory(&Places { folders: vec![place], ..Places::default() }, settings)
}

/// The settings in a file; none if there is none.
pub(super) fn read_settings(file: &Path) -> Result<Map<String, Value>, String> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(error.to_string()),
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let blanked = blank_comments(bytes).map_err(|_| "unterminated comment".to_owned())?;
    if blanked.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&blanked).map_err(|error| error.to_string())
}

/// The files of the folder that the commands of its hooks name.
pub(crate) fn hook_scripts<'c>(folder: &Path, commands: impl IntoIterator<Item = &'c str>) -> Vec<PathBuf> {
    let words = commands.into_iter().flat_map(str::split_whitespace);
    let scripts = words.filter_map(|word| {
        let word = word.trim_matches(['"', '\'', ';']);
        let word = match word.rsplit_once("PROJECT_DIR") {
            Some((_, rest)) => rest.trim_start_matches(['}', '"', '/']),
            None => word,
        };
        let path = folder.join(word);
        (!word.is_empty() && path.is_file() && path.starts_with(folder)).then_some(path)
    });
    scripts.collect()
}

fn hooks(
    folder: &Path,
    place: &WorkspaceFolder,
    settings: &Map<String, Value>,
) -> BTreeMap<String, Fingerprint> {
    let mut items = files(&place.root().join("hooks"), &[], 4);
    let Some(section) = settings.get("hooks") else { return items };
    let (hooks, _) = parse_hooks(section, HookScope::Project);
    for hook in &hooks {
        let own = hook.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let base = format!("{}{own}", hook.event);
        let mut names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base} ({number})")));
        let name = names.find(|name| !items.contains_key(name)).unwrap_or(base);
        items.insert(name, fingerprint(&Value::from(format!("{hook:?}")), &hook.command));
    }
    for script in hook_scripts(folder, hooks.iter().map(|hook| hook.command.as_str())) {
        let name = script.strip_prefix(folder).unwrap_or(&script).display().to_string();
        items.insert(name, fingerprint_file(&script));
    }
    for (name, section) in [("hooks", Some(section)), ("hooksConfig", settings.get("hooksConfig"))] {
        if let Some(section) = section {
            items.insert(name.into(), fingerprint(section, ""));
        }
    }
    items
}

/// A server's command or address.
fn server(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    if let Some(address) = text("httpUrl").or_else(|| text("url")) {
        return address.to_owned();
    }
    let args = value.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    text("command").into_iter().chain(args).collect::<Vec<_>>().join(" ")
}

/// The endpoint of a provider, and the key it gets.
fn endpoint(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let key = text("keyVariable").map(|name| format!("with the key in {name}"));
    text("endpoint").map(str::to_owned).into_iter().chain(key).collect::<Vec<_>>().join(" ")
}

/// The fingerprint of a value; hides secrets.
fn fingerprint(value: &Value, shown: &str) -> Fingerprint {
    let shown = if has_secret(shown).is_some() { "(holds a secret)" } else { shown };
    Fingerprint::of(value.to_string().as_bytes(), shown)
}

fn fingerprint_file(path: &Path) -> Fingerprint {
    use std::io::Read;
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(path).map(|file| file.take(LARGEST)) {
        { file }.read_to_end(&mut bytes).ok();
    }
    let size = path.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    bytes.extend(size.to_le_bytes());
    Fingerprint::of(&bytes, "")
}

/// The files of a folder with one of these extensions, or all of them, by their path from the folder above it.
fn files(folder: &Path, extensions: &[&str], depth: usize) -> BTreeMap<String, Fingerprint> {
    let base = folder.parent().unwrap_or(folder);
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_path_buf(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            if found.len() >= MOST_FILES {
                return found;
            }
            let is_meant = extensions.is_empty()
                || path.extension().is_some_and(|own| extensions.iter().any(|known| own == *known));
            if path.is_dir() && depth > 1 {
                folders.push((path, depth - 1));
            } else if path.is_file() && is_meant {
                let name = path.strip_prefix(base).unwrap_or(&path).display().to_string();
                found.insert(name, fingerprint_file(&path));
            }
        }
    }
    found
}
