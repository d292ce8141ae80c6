//! What a project's `.env` file may set.

use longhaul_providers::known_providers;

/// The use that Longhaul makes of a variable in a project's `.env` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectRole {
    /// The key of a provider.
    Key,
    /// The address of a provider or of a proxy.
    Address,
    /// A choice that grants nothing: the model, parts of the system prompt, a sandbox that is wanted.
    Choice,
    /// None, although Longhaul reads it from the environment: a project that sets it would decide about itself.
    Refused,
}

/// Variables that only the environment can set.
pub(super) const ENVIRONMENT_ONLY: &[&str] = &[
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
    "GEMINI_CLI_TRUST_WORKSPACE",
    "LONGHAUL_HOME",
];

/// Variables that a project cannot set besides those: files to write, and the claim to be in a sandbox.
const NOT_OF_PROJECTS: &[&str] = &["GEMINI_WRITE_SYSTEM_MD", "SANDBOX"];

const PROXIES: &[&str] = &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];

/// The role of a variable in a project's file; `None` if Longhaul does not read it.
pub(crate) fn role_in_project(name: &str) -> Option<ProjectRole> {
    let is_address = known_providers().iter().any(|known| known.endpoint_variable == Some(name))
        || PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name));
    if is_address {
        return Some(ProjectRole::Address);
    }
    if name.len() > "_API_KEY".len() && name.ends_with("_API_KEY") {
        return Some(ProjectRole::Key);
    }
    if matches!(name, "GEMINI_MODEL" | "GEMINI_SANDBOX" | "GEMINI_SYSTEM_MD")
        || name.starts_with("GEMINI_PROMPT_")
    {
        return Some(ProjectRole::Choice);
    }
    let is_refused = ENVIRONMENT_ONLY.contains(&name) || NOT_OF_PROJECTS.contains(&name);
    is_refused.then_some(ProjectRole::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_role(name: &str, expected: Option<ProjectRole>) {
        assert_eq!(role_in_project(name), expected, "{name}");
    }

    #[test]
    fn a_project_has_a_say_in_few_variables() {
        for key in ["GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPEN_ROUTER_API_KEY"] {
            check_role(key, Some(ProjectRole::Key));
        }
        for address in ["GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL", "https_proxy", "NO_PROXY"] {
            check_role(address, Some(ProjectRole::Address));
        }
        for choice in ["GEMINI_MODEL", "GEMINI_PROMPT_PREAMBLE", "GEMINI_SANDBOX", "GEMINI_SYSTEM_MD"] {
            check_role(choice, Some(ProjectRole::Choice));
        }
        for refused in ["GEMINI_CLI_TRUST_WORKSPACE", "LONGHAUL_HOME", "SANDBOX", "GEMINI_WRITE_SYSTEM_MD"] {
            check_role(refused, Some(ProjectRole::Refused));
        }
        for other in ["PATH", "LD_PRELOAD", "DATABASE_URL", "_API_KEY", "HOME", ""] {
            check_role(other, None);
        }
    }
}
