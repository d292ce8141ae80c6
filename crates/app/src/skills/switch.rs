//! Enables and disables skills in settings files.

use std::path::PathBuf;

use longhaul_workspace::WorkspaceFolder;

use super::scope::SkillScope;
use super::{SkillLibrary, unknown};
use crate::settings::set_list;

/// A skill that was enabled or disabled.
pub struct Switched {
    /// Its name.
    pub name: String,
    /// Its state now.
    pub is_enabled: bool,
    /// The settings files that were changed.
    pub changed: Vec<PathBuf>,
}

impl SkillLibrary {
    /// Disables a skill.
    pub fn switch_off(&self, name: &str, scope: Option<SkillScope>) -> anyhow::Result<Switched> {
        let skills = self.skills();
        let skill = skills.get(name).ok_or_else(|| unknown(name))?;
        let name = skill.name.to_string();
        let has_folder = || {
            let folder = WorkspaceFolder::of(&self.context.cwd);
            folder.settings().parent().is_some_and(|folder| folder.is_dir())
                && !self.home.is_folder_of(&folder)
        };
        let is_workspace = self.context.trust.is_trusted() && has_folder();
        let scope = scope.unwrap_or(if is_workspace { SkillScope::Workspace } else { SkillScope::User });
        let file = self.settings_file(scope)?;
        let is_changed = set_list(&file, "skills", "disabled", |mut names| {
            if !names.iter().any(|known| skill.name.is_meant_by(known)) {
                names.push(name.clone());
            }
            names
        })?;
        Ok(Switched { name, is_enabled: false, changed: if is_changed { vec![file] } else { Vec::new() } })
    }

    /// Enables a skill.
    pub fn switch_on(&self, given: &str, scope: Option<SkillScope>) -> anyhow::Result<Switched> {
        let skills = self.skills();
        let is_off = |name: &String| name.trim().eq_ignore_ascii_case(given.trim());
        let listed = self.settings.disabled_skills().into_iter().find(is_off);
        // A name that is only in the list can be taken out of it, too.
        let name = match (skills.get(given), listed) {
            (Some(skill), _) => skill.name.to_string(),
            (None, Some(listed)) => listed,
            (None, None) => return Err(unknown(given)),
        };
        let scopes = match scope {
            Some(scope) => vec![scope],
            None if self.context.trust.is_trusted() => vec![SkillScope::User, SkillScope::Workspace],
            None => vec![SkillScope::User],
        };
        let mut changed = Vec::new();
        for scope in scopes {
            let file = self.settings_file(scope)?;
            let is_named = |known: &String| known.trim().to_lowercase() == name.to_lowercase();
            if file.exists()
                && set_list(&file, "skills", "disabled", |names| {
                    names.into_iter().filter(|known| !is_named(known)).collect()
                })?
            {
                changed.push(file);
            }
        }
        Ok(Switched { name, is_enabled: true, changed })
    }
}

impl Switched {
    /// A sentence on the change.
    pub fn in_words(&self) -> String {
        let state = if self.is_enabled { "enabled" } else { "disabled" };
        let files: Vec<String> = self.changed.iter().map(|file| file.display().to_string()).collect();
        match files.is_empty() {
            true => format!("{} is already {state}.", self.name),
            false => format!("{} is now {state} (set in {}).", self.name, files.join(" and ")),
        }
    }
}
