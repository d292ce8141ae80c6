//! `longhaul skills enable NAME` and `disable NAME`.

use std::path::PathBuf;

use clap::Args;
use longhaul_workspace::WorkspaceFolder;
use serde_json::json;

use super::scope::Scope;
use super::{Desk, unknown};
use crate::commands::sessions::report::print_all;
use crate::output::{path_json, print, visible};
use crate::settings::set_list;

#[derive(Debug, Args)]
pub(crate) struct SwitchOptions {
    /// The skill; capitals do not matter.
    name: String,
    /// Whose settings say so [default: the workspace's if it has a folder .gemini and is trusted, else yours; `enable` looks
    /// in both].
    #[arg(long)]
    scope: Option<Scope>,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

pub(super) fn disable(options: &SwitchOptions, desk: &Desk) -> anyhow::Result<()> {
    let skills = desk.skills();
    let skill = skills.get(&options.name).ok_or_else(|| unknown(&options.name))?;
    let name = skill.name.to_string();
    let has_folder = || {
        let folder = WorkspaceFolder::of(&desk.around.cwd);
        folder.settings().parent().is_some_and(|folder| folder.is_dir()) && !desk.home.is_folder_of(&folder)
    };
    let is_workspace = desk.around.trust.is_trusted() && has_folder();
    let scope = options.scope.unwrap_or(if is_workspace { Scope::Workspace } else { Scope::User });
    let file = desk.settings_file(scope)?;
    let is_changed = set_list(&file, "skills", "disabled", |mut names| {
        if !names.iter().any(|known| skill.name.is_meant_by(known)) {
            names.push(name.clone());
        }
        names
    })?;
    tell(options, &name, false, &if is_changed { vec![file] } else { Vec::new() })
}

pub(super) fn enable(options: &SwitchOptions, desk: &Desk) -> anyhow::Result<()> {
    let skills = desk.skills();
    let is_off = |name: &String| name.trim().to_lowercase() == options.name.trim().to_lowercase();
    let listed = desk.settings.disabled_skills().into_iter().find(is_off);
    // A name that is only in the list can be taken out of it, too.
    let name = match (skills.get(&options.name), listed) {
        (Some(skill), _) => skill.name.to_string(),
        (None, Some(listed)) => listed,
        (None, None) => return Err(unknown(&options.name)),
    };
    let scopes = match options.scope {
        Some(scope) => vec![scope],
        None if desk.around.trust.is_trusted() => vec![Scope::User, Scope::Workspace],
        None => vec![Scope::User],
    };
    let mut changed = Vec::new();
    for scope in scopes {
        let file = desk.settings_file(scope)?;
        let is_named = |known: &String| known.trim().to_lowercase() == name.to_lowercase();
        if file.exists()
            && set_list(&file, "skills", "disabled", |names| {
                names.into_iter().filter(|known| !is_named(known)).collect()
            })?
        {
            changed.push(file);
        }
    }
    tell(options, &name, true, &changed)
}

fn tell(options: &SwitchOptions, name: &str, is_enabled: bool, changed: &[PathBuf]) -> anyhow::Result<()> {
    if options.json {
        let changed: Vec<_> = changed.iter().map(|file| path_json(file)).collect();
        return print_all(&json!({"schema": 1, "name": name, "enabled": is_enabled, "changed": changed}));
    }
    let state = if is_enabled { "on" } else { "off" };
    let name = visible(name);
    let files: Vec<String> = changed.iter().map(|file| visible(&file.display().to_string())).collect();
    match files.is_empty() {
        true => print(&format!("{name} was {state} already.\n")),
        false => print(&format!("{name} is {state} now: {} says so.\n", files.join(" and "))),
    }
}
