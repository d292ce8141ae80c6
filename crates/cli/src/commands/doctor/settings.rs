//! The settings files that count here: whether they are valid, and what in them nobody knows.

use std::path::Path;

use longhaul_workspace::Home;

use super::Diagnosis;
use crate::output::thousands;
use crate::settings::{Loaded, settings_files};

/// How many warnings about one file are listed.
const LISTED: usize = 10;

/// Looks at each file on its own, and returns whether the user wants folders to need trust.
pub(super) fn examine(diagnosis: &mut Diagnosis, home: Option<&Home>, cwd: Option<&Path>) -> bool {
    let mut needs_trust = true;
    for file in settings_files(home, cwd.unwrap_or(Path::new(""))) {
        let mut loaded = Loaded::default();
        let name = file.display();
        match loaded.add_file(&file) {
            Ok(true) => diagnosis.ok(format!("{name} is valid")),
            Ok(false) => diagnosis.ok(format!("{name} is not there: defaults hold")),
            Err(error) => {
                let what = format!("{name}: {}", error.fault);
                diagnosis.problem(what, error.hint());
            }
        }
        let count = loaded.warnings.len();
        for warning in loaded.warnings.iter().take(LISTED) {
            diagnosis.note(warning.to_string(), "correct the key, or take it out");
        }
        if count > LISTED {
            let more = thousands((count - LISTED) as u64);
            diagnosis.note(format!("{name}: and {more} more of the kind"), "");
        }
        // Were a workspace asked, it could trust itself.
        if home.is_some_and(|home| home.settings() == file) {
            needs_trust = loaded.settings.needs_trust();
        }
    }
    needs_trust
}
