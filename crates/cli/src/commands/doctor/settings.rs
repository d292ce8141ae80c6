//! Checks the active settings files: invalid values, unknown keys and unsupported keys.

use std::path::Path;

use longhaul_app::settings::{FileOwner, LoadedSettings, Settings, SettingsError};
use longhaul_app::settings_files::{SettingsFiles, settings_files};
use longhaul_app::trust::decide;
use longhaul_app::variables::EnvFileSummary;
use longhaul_workspace::{Environment, Home};

use super::Diagnosis;
use crate::output::{plural, thousands};

/// The most warnings about one file that are listed.
const LISTED: usize = 10;

/// Examines each file on its own and the `.env` files, and returns the settings that hold, as far as they can be loaded.
pub(super) fn examine(
    diagnosis: &mut Diagnosis,
    home: Option<&Home>,
    cwd: Option<&Path>,
    environment: &Environment,
) -> LoadedSettings {
    let cwd = cwd.unwrap_or(Path::new(""));
    let SettingsFiles { user, workspace } = settings_files(home, cwd);
    let mut examine_file = |file: &Path, owner: FileOwner| {
        let mut loaded = LoadedSettings::default();
        let found = loaded.examine_file(file, owner, home, environment);
        tell_file(diagnosis, file, found, loaded);
    };
    for file in [environment.system_defaults(), environment.system_settings()] {
        // Few machines have an administrator.
        if file.exists() {
            examine_file(&file, FileOwner::UserOrSystem);
        }
    }
    if let Some(user) = user {
        examine_file(&user, FileOwner::UserOrSystem);
    }
    if let Some(workspace) = &workspace {
        examine_file(&workspace.file, FileOwner::Workspace);
    }
    // What is wrong with a file was told just now; the user's own say whether folders must be trusted.
    let loaded =
        Settings::load(home, cwd, environment).or_else(|_| Settings::load(home, Path::new(""), environment));
    let loaded = loaded.unwrap_or_else(|_| LoadedSettings { needs_trust: true, ..Default::default() });
    if let Some(workspace) = workspace {
        // What is wrong with the rules themselves is told with them.
        let trust = decide(&workspace.folder, home, environment, loaded.needs_trust);
        if trust.is_ok_and(|trust| !trust.is_trusted()) {
            let what = format!("{} is ignored: its folder is not trusted", workspace.file.display());
            diagnosis.note(what, "run `longhaul trust add` to trust it");
        }
    }
    examine_env_files(diagnosis, &loaded);
    loaded
}

/// Reports the `.env` files in use, and what is wrong with them.
fn examine_env_files(diagnosis: &mut Diagnosis, loaded: &LoadedSettings) {
    if let Some(EnvFileSummary { path, variables, faulty_lines }) = loaded.settings.user_env_file() {
        let name = path.display();
        diagnosis.ok(format!("{name} sets {}", plural(variables, "variable", "variables")));
        if let [first, rest @ ..] = faulty_lines.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(", and {}", plural(count, "more line", "more lines")),
            };
            diagnosis.note(format!("{name}:{first}: not NAME=value{more}"), "fix or remove the line");
        }
    }
    if let Some((file, names)) = loaded.settings.project_variables() {
        diagnosis.ok(format!("{} sets {}", file.display(), names.join(", ")));
    }
    for warning in &loaded.env_warnings {
        diagnosis.note(warning.clone(), "");
    }
    if let Some(file) = &loaded.untrusted_env {
        let what = format!("{} is ignored: its folder is not trusted", file.display());
        diagnosis.note(what, "run `longhaul trust add` to trust it");
    }
}

fn tell_file(
    diagnosis: &mut Diagnosis,
    file: &Path,
    found: Result<bool, SettingsError>,
    mut loaded: LoadedSettings,
) {
    let name = file.display();
    match found {
        Ok(true) if loaded.unsupported.is_empty() => diagnosis.ok(format!("{name} is valid")),
        Ok(true) => diagnosis.ok(format!("{name} is readable")),
        Ok(false) => diagnosis.ok(format!("{name} does not exist; using defaults")),
        Err(error) => {
            let what = format!("{name}: {}", error.fault);
            diagnosis.problem(what, error.hint());
        }
    }
    let count = loaded.warnings.len();
    for warning in loaded.warnings.iter().take(LISTED) {
        diagnosis.note(warning.to_string(), "fix or remove the key");
    }
    if count > LISTED {
        let more = thousands((count - LISTED) as u64);
        diagnosis.note(format!("{name}: {more} more warnings"), "");
    }
    for one in &loaded.unsupported {
        let place = &one.place;
        match one.restricts {
            Some(asks_for) => diagnosis.problem(
                format!("{place}: {} asks for {asks_for}; no agent will start", one.key),
                "remove the key, or see docs/settings.md",
            ),
            None => diagnosis.note(format!("{place}: {} is not supported", one.key), ""),
        }
    }
    diagnosis.unsupported.append(&mut loaded.unsupported);
}
