//! Whether the files of a folder may count, as the user, the environment and the rules have it.

use std::path::Path;

use longhaul_workspace::{Decider, Environment, Home, Trust, TrustQuery, TrustedFolders, WorkspaceError};

/// Whether a folder is trusted. `needs_trust` is what the user's own settings say: were a workspace asked, it could trust
/// itself. Without a home there are no rules, and only the environment can say yes.
pub(crate) fn decide(
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

/// Who decided, as the end of a sentence; `file` is that of the rules.
pub(crate) fn because(decider: &Decider, file: &str) -> String {
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
