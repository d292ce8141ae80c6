//! The environment of this process. Nothing else in the program reads variables for paths.

use std::ffi::OsString;
use std::path::PathBuf;

use longhaul_workspace::{Environment, Home, WorkspaceError};

/// The environment of this process: paths and trust.
pub fn of_process() -> Environment {
    let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Environment {
        longhaul_home: path("LONGHAUL_HOME"),
        gemini_cli_home: path("GEMINI_CLI_HOME"),
        user_home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        trusted_folders_path: path("GEMINI_CLI_TRUSTED_FOLDERS_PATH"),
        system_settings_path: path("GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
        system_defaults_path: path("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        trust_workspace: std::env::var("GEMINI_CLI_TRUST_WORKSPACE").ok(),
    }
}

/// The folders in which a shell looks for programs.
pub fn search_path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// The home; `None` if none is set, so that everything is at its default.
pub fn home(environment: &Environment) -> Result<Option<Home>, WorkspaceError> {
    match Home::resolve(environment) {
        Ok(home) => Ok(Some(home)),
        Err(WorkspaceError::NoHome) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The current folder; empty if it was deleted, so that it has no settings.
pub fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_home_is_no_error_but_a_wrong_one_is() {
        let mut environment = Environment::default();
        assert!(home(&environment).expect("nothing named").is_none());
        environment.longhaul_home = Some("relative".into());
        assert!(home(&environment).is_err());
    }
}
