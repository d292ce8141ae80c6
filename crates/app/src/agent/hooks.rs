//! The user's hooks, and a notice about those that a project adds.

use std::path::Path;

use longhaul_hooks::{HookEnvironment, Hooks, Variable, note_new_hooks};
use longhaul_workspace::{Home, LockTimeout, WorkspaceFolder};

use crate::project::Project;
use crate::settings::Settings;

/// The hooks of a session.
pub(super) struct LoadedHooks {
    pub(super) hooks: Hooks,
    pub(super) environment: HookEnvironment,
    pub(super) warnings: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Loads the hooks in the settings. Those of a project are announced once.
pub(super) fn load(
    settings: &Settings,
    home: &Home,
    project: Option<&Project>,
    cwd: &Path,
    is_trusted: bool,
    variables: Vec<Variable>,
) -> LoadedHooks {
    let workspace = WorkspaceFolder::of(cwd).settings();
    let (found, mut warnings) = settings.hooks(Some(&workspace));
    let hooks = Hooks::new(found, &settings.hook_settings(), is_trusted);
    let mut notes = Vec::new();
    let folder = project.map_or(cwd, |project| &project.folder);
    match note_new_hooks(&home.trusted_hooks(), folder, hooks.as_slice(), LockTimeout::default()) {
        Ok(new) => notes.extend(new.iter().map(|hook| {
            let (label, event, command) = (hook.label(), hook.event, &hook.command);
            format!("this project adds the hook {label:?}, which runs on {event}: {command}")
        })),
        Err(error) => warnings.push(error.to_string()),
    }
    let environment = HookEnvironment {
        variables,
        project: folder.to_path_buf(),
        is_trusted,
        plans: project.map(|project| project.home.plans(None)),
    };
    LoadedHooks { hooks, environment, warnings, notes }
}
