//! Trust in a folder: decided by the user, the environment and the rules; and whether its content is still what was trusted.

mod grants;
mod preview;
mod review;

use std::path::{Path, PathBuf};

use longhaul_memory::MemorySettings;
use longhaul_workspace::{
    Decider, Environment, Home, Trust, TrustQuery, TrustedFolders, WorkspaceError, WorkspaceFolder,
};

pub use grants::GrantKind;
pub(crate) use grants::hook_scripts;
pub use preview::TrustPreview;
pub(crate) use review::note_texts;
pub use review::{TrustReview, confirm, review};

/// Decides whether a folder is trusted. `needs_trust` comes from the user's own settings: a workspace could otherwise trust
/// itself. Without a home there are no rules, and only the environment can say yes.
pub fn decide(
    folder: &Path,
    home: Option<&Home>,
    environment: &Environment,
    needs_trust: bool,
) -> Result<Trust, WorkspaceError> {
    let query =
        TrustQuery { is_enabled: needs_trust, ..TrustQuery::about(folder) }.in_environment(environment);
    // A path that names no file stands for no rules.
    let rules = home.map_or(Path::new(""), Home::trusted_folders);
    TrustedFolders::at(rules).decide(&query)
}

/// A notice of what an agent ignores in an untrusted folder; `None` if nothing. `memory` has the names of memory files,
/// `file` is the ignored settings file.
pub fn untrusted_notice(
    folder: &Path,
    home: Option<&Home>,
    environment: &Environment,
    needs_trust: bool,
    memory: &MemorySettings,
    file: Option<PathBuf>,
) -> Result<Option<String>, WorkspaceError> {
    let trust = decide(folder, home, environment, needs_trust)?;
    let is_home = home.is_some_and(|home| home.is_folder_of(&WorkspaceFolder::of(folder)));
    if trust.is_trusted() || is_home || !folder.is_absolute() {
        return Ok(None);
    }
    let mut left_out = TrustPreview::of(folder, memory).left_out();
    if let Some(file) = file.filter(|file| !file.starts_with(folder)) {
        let more = if left_out.is_empty() { String::new() } else { format!(", {left_out}") };
        left_out = format!("{}{more}", file.display());
    }
    if left_out.is_empty() {
        return Ok(None);
    }
    let hint = match trust {
        Trust::Untrusted(decider) => {
            let rules = home.map(|home| home.trusted_folders().display().to_string()).unwrap_or_default();
            because(&decider, &rules)
        }
        _ => "run `longhaul trust add` to see what it would activate and trust it".into(),
    };
    Ok(Some(format!("{} is not trusted; ignored: {left_out}; {hint}", folder.display())))
}

/// The decider, as the end of a sentence; `file` is that of the rules.
pub fn because(decider: &Decider, file: &str) -> String {
    match decider {
        Decider::Environment => "set by GEMINI_CLI_TRUST_WORKSPACE".into(),
        Decider::FeatureDisabled => {
            "security.folderTrust.enabled is false, so every folder is trusted".into()
        }
        Decider::Editor => "set by the editor".into(),
        Decider::Rule(rule) => {
            format!("rule {:?}: {:?} in {file}", rule.path.display().to_string(), rule.level.as_str())
        }
    }
}
