//! Finds the policy files of every tier and reads them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::parse::parse_rules;
use crate::problem::{Problem, ProblemEffect};
use crate::rule::{Rule, RuleSource, Verdict};
use crate::save::mark_saved;
use crate::{ApprovalMode, RuleTier, SavedFiles};

/// The rules that come with Longhaul.
const DEFAULTS: &str = include_str!("default.toml");

/// The largest policy file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The policies of each tier: files, or folders whose `.toml` files are read in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct PolicyPlaces {
    /// The policies of active extensions.
    pub extensions: Vec<PathBuf>,
    /// The workspace's policies, given only if the workspace is trusted.
    pub workspace: Option<PathBuf>,
    /// The user's, or those that `--policy` names instead.
    pub user: Vec<PathBuf>,
    /// The administrator's folder, see [`longhaul_workspace::system_folder`].
    pub system: Option<PathBuf>,
    /// The files of `--admin-policy`, used only if the system folder has no policies.
    pub admin: Vec<PathBuf>,
    /// The saved approvals. Such a file may be in a folder of `user`: it is read once.
    pub saved: SavedFiles,
}

/// The rules of all files, and their problems.
#[derive(Clone, Debug, Default)]
pub struct LoadedPolicies {
    /// Every rule, the built-in ones included.
    pub rules: Vec<Rule>,
    /// The problems of the files.
    pub problems: Vec<Problem>,
}

/// The rules that come with Longhaul.
pub fn default_rules() -> Vec<Rule> {
    let (mut rules, problems) = parse_rules(DEFAULTS, Path::new("default.toml"), RuleTier::Default);
    debug_assert!(problems.is_empty(), "{problems:?}");
    for rule in &mut rules {
        rule.source = RuleSource::BuiltIn;
    }
    rules
}

/// Reads the policies of every tier. Whatever is wrong with them is reported and does no other harm.
pub fn load_policies(places: &PolicyPlaces) -> LoadedPolicies {
    let mut loaded = LoadedPolicies { rules: default_rules(), problems: Vec::new() };
    for place in &places.extensions {
        loaded.read(place, RuleTier::Extension);
    }
    if let Some(place) = &places.workspace {
        loaded.read(place, RuleTier::Workspace);
    }
    for place in &places.user {
        for path in loaded.files(place) {
            if !places.saved.iter().any(|(_, saved)| saved == path) {
                loaded.read_file(&path, RuleTier::User);
            }
        }
    }
    let saved = load_saved(&places.saved);
    loaded.rules.extend(saved.rules);
    loaded.problems.extend(saved.problems);
    let has_system = places.system.as_deref().is_some_and(|place| loaded.read_system(place));
    for place in &places.admin {
        if has_system {
            let reason = "ignored: the system policies take its place".to_owned();
            loaded.report(place, ProblemEffect::FileSkipped, reason);
        } else {
            loaded.read(place, RuleTier::Admin);
        }
    }
    loaded
}

/// Reads the files of saved approvals. Other rules in them work as anywhere else.
pub fn load_saved(files: &SavedFiles) -> LoadedPolicies {
    let mut loaded = LoadedPolicies::default();
    for (reach, path) in files.iter().filter(|(_, path)| path.exists()) {
        let before = loaded.rules.len();
        loaded.read_file(path, reach.tier());
        mark_saved(&mut loaded.rules[before..], reach);
    }
    loaded
}

impl LoadedPolicies {
    fn report(&mut self, path: &Path, effect: ProblemEffect, reason: String) {
        self.problems.push(Problem { path: path.to_path_buf(), line: None, effect, reason });
    }

    fn read(&mut self, place: &Path, tier: RuleTier) {
        for path in self.files(place) {
            self.read_file(&path, tier);
        }
    }

    /// Reads the system's policies, unless others than the administrator could have written them. Says whether there
    /// are any.
    fn read_system(&mut self, place: &Path) -> bool {
        let files = self.files(place);
        let reason = [place].into_iter().chain(files.iter().map(PathBuf::as_path)).find_map(|path| {
            let metadata = fs::metadata(path).ok()?;
            insecurity(&metadata).map(|reason| (path.to_path_buf(), reason))
        });
        if let Some((path, reason)) = reason {
            self.report(&path, ProblemEffect::FileSkipped, format!("ignored: {reason}"));
            return false;
        }
        for path in &files {
            self.read_file(path, RuleTier::Admin);
        }
        !files.is_empty()
    }

    /// The file itself, or the policy files of a folder.
    fn files(&mut self, place: &Path) -> Vec<PathBuf> {
        let entries = match fs::read_dir(place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return vec![place.to_path_buf()],
            Err(error) => {
                self.report(place, ProblemEffect::FileSkipped, format!("could not read the folder: {error}"));
                return Vec::new();
            }
        };
        let is_policy = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_policy).collect();
        files.sort();
        files
    }

    fn read_file(&mut self, path: &Path, tier: RuleTier) {
        let text = match read_bounded(path) {
            Ok(text) => text,
            Err(error) => {
                return self.report(
                    path,
                    ProblemEffect::FileSkipped,
                    format!("could not read the file: {error}"),
                );
            }
        };
        let (rules, problems) = parse_rules(&text, path, tier);
        self.problems.extend(problems);
        for rule in rules {
            match (tier == RuleTier::Extension).then(|| excess(&rule)).flatten() {
                None => self.rules.push(rule),
                Some(reason) => {
                    let line =
                        if let RuleSource::File { line, .. } = rule.source { Some(line) } else { None };
                    let (path, reason) = (path.to_path_buf(), reason.to_owned());
                    self.problems.push(Problem { path, line, effect: ProblemEffect::RuleSkipped, reason });
                }
            }
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    // A pipe would keep us waiting.
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > MAX_FILE {
        return Err(io::Error::other("larger than 1 MB"));
    }
    fs::read_to_string(path)
}

/// The reason why an extension must not have this rule: it would decide for the user.
fn excess(rule: &Rule) -> Option<&'static str> {
    if rule.verdict == Verdict::Allow {
        Some("extensions cannot allow calls")
    } else if rule.modes.contains(&ApprovalMode::Yolo) {
        Some("extensions cannot add rules for yolo mode")
    } else {
        None
    }
}

/// The reason why a file of the system could be someone else's.
#[cfg(unix)]
fn insecurity(metadata: &fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    insecure_mode(metadata.uid(), metadata.mode())
}

#[cfg(not(unix))]
fn insecurity(_metadata: &fs::Metadata) -> Option<&'static str> {
    None
}

#[cfg_attr(not(unix), allow(dead_code, reason = "owners and modes are a matter of Unix"))]
fn insecure_mode(owner: u32, mode: u32) -> Option<&'static str> {
    if owner != 0 {
        Some("not owned by root")
    } else if mode & 0o022 != 0 {
        Some("writable by group or others")
    } else {
        None
    }
}
