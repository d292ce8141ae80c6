//! Checks the active settings files: invalid values, unknown keys and unsupported keys.

use std::path::Path;

use longhaul_app::settings::{LoadedSettings, Settings};
use longhaul_app::settings_files::{SettingsFiles, settings_files};
use longhaul_app::trust::decide;
use longhaul_workspace::{Environment, Home};

use super::Diagnosis;
use crate::output::thousands;

/// The most warnings about one file that are listed.
const LISTED: usize = 10;

/// Examines each file on its own, and returns whether the user's settings require trust.
pub(super) fn examine(
    diagnosis: &mut Diagnosis,
    home: Option<&Home>,
    cwd: Option<&Path>,
    environment: &Environment,
) -> bool {
    let SettingsFiles { user, workspace } = settings_files(home, cwd.unwrap_or(Path::new("")));
    for file in [environment.system_defaults(), environment.system_settings()] {
        // Few machines have an administrator.
        if file.exists() {
            examine_file(diagnosis, &file);
        }
    }
    if let Some(user) = user {
        examine_file(diagnosis, &user);
    }
    // What is wrong with a file was told just now.
    let loaded = Settings::load(home, Path::new(""), environment);
    let needs_trust = loaded.map_or(true, |loaded| loaded.needs_trust);
    if let Some(workspace) = workspace {
        examine_file(diagnosis, &workspace.file);
        // What is wrong with the rules themselves is told with them.
        let trust = decide(&workspace.folder, home, environment, needs_trust);
        if trust.is_ok_and(|trust| !trust.is_trusted()) {
            let what = format!("{} is ignored: its folder is not trusted", workspace.file.display());
            diagnosis.note(what, "run `longhaul trust add` to trust it");
        }
    }
    needs_trust
}

fn examine_file(diagnosis: &mut Diagnosis, file: &Path) {
    let mut loaded = LoadedSettings::default();
    let name = file.display();
    match loaded.add_file(file) {
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
