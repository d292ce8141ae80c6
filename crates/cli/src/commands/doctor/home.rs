//! Checks the home: its path, where that was set, and its permissions.

use std::path::Path;

use longhaul_app::failure::workspace_hint;
use longhaul_workspace::{Environment, Home, WorkspaceError, may_write_in};

use super::Diagnosis;

/// Examines the home, and returns it if there is one.
pub(super) fn examine(diagnosis: &mut Diagnosis, environment: &Environment) -> Option<Home> {
    let home = match Home::resolve(environment) {
        Ok(home) => home,
        Err(error @ WorkspaceError::NoHome) => {
            diagnosis
                .note("no home is set, so nothing is stored", workspace_hint(&error).unwrap_or_default());
            return None;
        }
        Err(error) => {
            diagnosis.problem(error.to_string(), workspace_hint(&error).unwrap_or_default());
            return None;
        }
    };
    let root = home.root();
    diagnosis.home = Some(root.to_path_buf());
    let who = match home.named_by() {
        variable if variable.starts_with(char::is_uppercase) => format!("set by {variable}"),
        folder => format!("in {folder}"),
    };
    let place = format!("{}, {who}", root.display());
    if !root.exists() && root.symlink_metadata().is_ok() {
        diagnosis
            .problem(format!("{place}: broken link"), "create the folder it points to, or remove the link");
    } else if !root.exists() {
        diagnosis.ok(format!("{place}: not there yet; created on first use"));
    } else if !root.is_dir() {
        diagnosis.problem(format!("{place}: not a folder"), "move the file away, or set another home");
    } else {
        diagnosis.ok(place);
        privacy(diagnosis, &home);
    }
    if !may_write_in(root) && (root.is_dir() || !root.exists()) {
        diagnosis.problem("not writable: nothing can be stored", format!("make {} writable", root.display()));
    }
    Some(home)
}

/// Checks that other users can neither read nor change it.
#[cfg(unix)]
fn privacy(diagnosis: &mut Diagnosis, home: &Home) {
    use std::os::unix::fs::PermissionsExt;
    let root = home.root();
    let places = [
        root.to_path_buf(),
        home.settings(),
        home.trusted_folders().to_path_buf(),
        home.projects(),
        home.tmp(),
        home.history(),
    ];
    let mode_of = |path: &Path| path.metadata().map(|found| found.permissions().mode() & 0o777).ok();
    let is_open = |path: &Path| mode_of(path).is_some_and(|mode| mode & 0o077 != 0);
    for path in places.iter().filter(|path| is_open(path)) {
        let mode = mode_of(path).unwrap_or_default();
        let can_change = mode & 0o022 != 0;
        // Closing the home closes what is in it.
        if path != root && path.starts_with(root) && !(is_open(root) && can_change) {
            continue;
        }
        let private = if path.is_dir() { "700" } else { "600" };
        let advice = format!("chmod {private} {}", path.display());
        if can_change {
            diagnosis.problem(format!("other users can change {} (mode {mode:o})", path.display()), advice);
        } else {
            diagnosis.note(format!("other users can read {} (mode {mode:o})", path.display()), advice);
        }
    }
}

#[cfg(not(unix))]
fn privacy(_diagnosis: &mut Diagnosis, _home: &Home) {}
