//! Trust in a folder: whether its files may count, as the user, the environment and the rules have it; and whether they are
//! still what was trusted.

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

/// Decides whether a folder is trusted. `needs_trust` is what the user's own settings say: were a workspace asked, it could
/// trust itself. Without a home there are no rules, and only the environment can say yes.
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

/// A notice of what an agent leaves out in a folder that is not trusted; `None` where that is nothing. `memory` says
/// what memory files are called, `file` names the settings that do not count.
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
        _ => "`longhaul trust add` shows what it would activate, and trusts it".into(),
    };
    Ok(Some(format!("{} is not trusted and has no say; left out: {left_out}; {hint}", folder.display())))
}

/// The decider, as the end of a sentence; `file` is that of the rules.
pub fn because(decider: &Decider, file: &str) -> String {
    match decider {
        Decider::Environment => "GEMINI_CLI_TRUST_WORKSPACE says so".into(),
        Decider::FeatureDisabled => {
            "security.folderTrust.enabled is false, so that no folder needs trust".into()
        }
        Decider::Editor => "the editor says so".into(),
        Decider::Rule(rule) => {
            format!("the rule {:?}: {:?} in {file}", rule.path.display().to_string(), rule.level.as_str())
        }
    }
}
