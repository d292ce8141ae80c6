//! Finds the active extensions and their memory files, from what is on the disk.

use std::fs;
use std::path::{Component, Path, PathBuf};

use longhaul_workspace::blank_comments;
use serde_json::Value;

use crate::places::ExtensionContext;
use crate::settings::DEFAULT_NAME;

const MANIFEST: &str = "gemini-extension.json";
const ENABLEMENT: &str = "extension-enablement.json";

/// Extensions, and what is wrong with those that do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The active ones that have memory files, by name.
    pub active: Vec<ExtensionContext>,
    /// The folders of all active ones.
    pub folders: Vec<PathBuf>,
    /// The others that should be, each with the reason in words.
    pub problems: Vec<String>,
}

/// Finds the extensions in this folder that are active in a workspace. Those without a manifest are none.
pub fn find_extensions(folder: &Path, workspace: &Path) -> Extensions {
    let mut found = Extensions::default();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    let enablement = read_json(&folder.join(ENABLEMENT)).ok().flatten().unwrap_or(Value::Null);
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    for extension in folders {
        match load(&extension) {
            Ok(Some(context)) if is_enabled(&enablement, &context.name, workspace) => {
                found.folders.push(extension);
                if !context.files.is_empty() {
                    found.active.push(context);
                }
            }
            Ok(_) => {}
            Err(reason) => found.problems.push(format!("{}: {reason}", extension.display())),
        }
    }
    found
}

fn load(folder: &Path) -> Result<Option<ExtensionContext>, String> {
    let Some(manifest) = read_json(&folder.join(MANIFEST))? else { return Ok(None) };
    let name = manifest.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("{MANIFEST} has no name"))?.to_owned();
    let stated = match manifest.get("contextFileName") {
        None | Some(Value::Null) => vec![DEFAULT_NAME.to_owned()],
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => return Err("contextFileName must be a string or a list of strings".into()),
    };
    let root = folder.canonicalize().map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for stated in stated {
        let leads_out = Path::new(&stated)
            .components()
            .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir));
        let file = folder.join(&stated);
        let real = file.canonicalize().ok();
        if leads_out || real.as_ref().is_some_and(|real| !real.starts_with(&root)) {
            return Err(format!("contextFileName {stated:?} points outside the extension"));
        }
        if file.is_file() {
            files.push(file);
        }
    }
    Ok(Some(ExtensionContext { name, folder: folder.to_path_buf(), files }))
}

/// The contents of a file; `None` if there is none.
fn read_json(path: &Path) -> Result<Option<Value>, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let blanked = blank_comments(&bytes).map_err(|_| format!("{name}: unclosed comment"))?;
    serde_json::from_slice(&blanked).map(Some).map_err(|error| format!("{name}: {error}"))
}

/// True if an extension is active in a workspace: the last of its rules that is about the workspace decides. A rule names
/// a folder, with a `*` behind it also those below; an exclamation mark before it switches the extension off there.
fn is_enabled(enablement: &Value, name: &str, workspace: &Path) -> bool {
    let rules = enablement.get(name).and_then(|rules| rules.get("overrides")).and_then(Value::as_array);
    let rules = rules.into_iter().flatten().filter_map(Value::as_str);
    let mut matching = rules.filter(|rule| covers(rule.trim_start_matches('!'), workspace));
    matching.next_back().is_none_or(|rule| !rule.starts_with('!'))
}

fn covers(rule: &str, workspace: &Path) -> bool {
    match rule.strip_suffix('*') {
        Some(folder) => workspace.starts_with(Path::new("/").join(folder)),
        None => workspace == Path::new("/").join(rule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_folder(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("made");
            fs::write(path, text).expect("written");
        }
        let found = find_extensions(&root.path().join("e"), Path::new("/w/app"));
        let relative = |path: &PathBuf| path.strip_prefix(root.path()).expect("inside").display().to_string();
        let files = found.active.iter().flat_map(|extension| extension.files.iter().map(relative)).collect();
        (files, found.problems)
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str], problem: &str) {
        let (found, problems) = check_folder(files);
        assert_eq!(found, expected);
        match problem {
            "" => assert!(problems.is_empty(), "{problems:?}"),
            problem => assert!(problems.len() == 1 && problems[0].contains(problem), "{problems:?}"),
        }
    }

    #[test]
    fn files_are_those_that_the_manifest_names() {
        let memory = ("e/a/GEMINI.md", "x");
        check(&[("e/a/gemini-extension.json", r#"{"name": "a"}"#), memory], &["e/a/GEMINI.md"], "");
        check(
            &[("e/a/gemini-extension.json", r#"{"name": "a", "contextFileName": "B.md"}"#), memory],
            &[],
            "",
        );
        let two = r#"{"name": "a", "contextFileName": ["docs/B.md", "GEMINI.md"], /* c */}"#;
        check(
            &[("e/a/gemini-extension.json", two), memory, ("e/a/docs/B.md", "x")],
            &["e/a/docs/B.md", "e/a/GEMINI.md"],
            "",
        );
        check(&[memory], &[], "");
        check(&[], &[], "");
    }

    #[test]
    fn what_leads_out_or_is_broken_does_not_count() {
        let out = r#"{"name": "a", "contextFileName": ["GEMINI.md", "../b.md"]}"#;
        check(
            &[("e/a/gemini-extension.json", out), ("e/a/GEMINI.md", "x"), ("e/b.md", "x")],
            &[],
            "points outside",
        );
        check(
            &[("e/a/gemini-extension.json", r#"{"name": "a", "contextFileName": 1}"#)],
            &[],
            "must be a string",
        );
        check(&[("e/a/gemini-extension.json", "{")], &[], "gemini-extension.json");
        check(&[("e/a/gemini-extension.json", "{}")], &[], "no name");
    }

    #[track_caller]
    fn check_enabled(overrides: &[&str], expected: bool) {
        let enablement = serde_json::json!({"a": {"overrides": overrides}});
        assert_eq!(is_enabled(&enablement, "a", Path::new("/w/app")), expected, "{overrides:?}");
    }

    #[test]
    fn the_last_rule_about_the_workspace_decides() {
        check_enabled(&[], true);
        check_enabled(&["!/w/*"], false);
        check_enabled(&["!/w/app/"], false);
        check_enabled(&["!/w/"], true);
        check_enabled(&["!/w/*", "/w/app/*"], true);
        check_enabled(&["/w/*", "!/*"], false);
        check_enabled(&["!/w/application/*"], true);
    }
}
