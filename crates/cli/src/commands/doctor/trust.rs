//! Checks of the current folder's trust.

use std::path::Path;

use longhaul_app::failure::workspace_hint;
use longhaul_app::settings::Settings;
use longhaul_app::trust::{because, decide};
use longhaul_workspace::{Environment, Home, Trust, TrustedFolders, WorkspaceError};

use super::Diagnosis;

/// Asks the rules about the current folder.
pub(super) fn examine(
    diagnosis: &mut Diagnosis,
    home: &Home,
    cwd: &Path,
    environment: &Environment,
    needs_trust: bool,
) {
    let rules = TrustedFolders::at(home.trusted_folders());
    let file = home.trusted_folders().display();
    let decided = decide(cwd, Some(home), environment, needs_trust);
    if let Ok(trust) = &decided {
        tell(diagnosis, trust, cwd, &file.to_string());
    }
    match Settings::load(Some(home), cwd, environment).map(|loaded| loaded.review) {
        Ok(review) => {
            for change in &review.changes {
                let what = format!("suspended, because it changed since the folder was trusted: {change}");
                diagnosis.note(what, "run `longhaul trust add` to review and confirm it");
            }
        }
        Err(error) if error.is::<WorkspaceError>() && decided.is_ok() => {
            diagnosis.problem(error.to_string(), "fix or remove the file");
        }
        // What is wrong with settings was told with them.
        Err(_) => {}
    }
    // Whoever decided here, a file with mistakes will matter elsewhere.
    if let Err(error) = decided.map(drop).and_then(|()| rules.rules().map(drop)) {
        diagnosis.problem(error.to_string(), workspace_hint(&error).unwrap_or_default());
    }
    let stated = environment.trust_workspace.as_deref().map(str::trim).filter(|stated| !stated.is_empty());
    if stated.is_some_and(|stated| !["true", "false"].iter().any(|known| stated.eq_ignore_ascii_case(known)))
    {
        diagnosis.note(
            "GEMINI_CLI_TRUST_WORKSPACE is neither true nor false, and is ignored",
            "correct or unset it",
        );
    }
}

fn tell(diagnosis: &mut Diagnosis, trust: &Trust, cwd: &Path, file: &str) {
    let folder = cwd.display();
    match trust {
        Trust::Trusted(decider) => diagnosis.ok(format!("{folder} is trusted: {}", because(decider, file))),
        Trust::Untrusted(decider) => {
            let what = format!("{folder} is not trusted: {}", because(decider, file));
            diagnosis.note(what, "its own files are ignored until that changes");
        }
        Trust::Undecided => {
            let advice = "run `longhaul trust add` to see what it would activate and trust it";
            diagnosis.note(format!("{folder} is not trusted: no rule covers it"), advice);
        }
    }
    diagnosis.trusted = match trust {
        Trust::Trusted(_) => Some(true),
        Trust::Untrusted(_) => Some(false),
        Trust::Undecided => None,
    };
}
