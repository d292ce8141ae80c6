//! The variables that settings, models and prompts read: of the process, of the user's `.env` file, and of a trusted
//! project's.
//!
//! A variable of the process is never overridden; the project's file comes before the user's. What a project may set is
//! limited to what `ProjectRole` lists, and none of it reaches commands or hooks.

mod dotenv;
mod env_file;
mod role;

use std::path::Path;
use std::sync::Arc;

use longhaul_hooks::{Variable, VariableRules};
use longhaul_workspace::{Environment, Home};

pub(crate) use env_file::{EnvFile, EnvFileKind, ProjectEnvFile, project_env_files};
use role::ENVIRONMENT_ONLY;
pub(crate) use role::{ProjectRole, role_in_project};

use crate::withheld::{WithheldVariables, process_variables};

/// The source of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableSource {
    /// The environment of the process.
    Process,
    /// The user's own file.
    UserFile(Arc<Path>),
    /// A file of the project.
    ProjectFile(Arc<Path>),
}

/// The user's `.env` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvFileSummary {
    /// The file.
    pub path: Arc<Path>,
    /// The number of variables that it sets.
    pub variables: usize,
    /// The numbers of lines that are neither blank, nor a comment, nor a variable.
    pub faulty_lines: Vec<usize>,
}

impl EnvFileSummary {
    pub(crate) fn of(file: &EnvFile) -> Self {
        Self { path: file.path(), variables: file.iter().count(), faulty_lines: file.faulty_lines().to_vec() }
    }
}

/// All variables, by precedence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variables {
    withheld: WithheldVariables,
    user: Option<EnvFile>,
    project: Option<EnvFile>,
    /// Variables of the project's file that wait for the user's confirmation.
    suspended: Vec<String>,
}

impl Variables {
    /// The variables of the process and of the user's file, and a warning if that cannot be read.
    pub(crate) fn of_user(
        environment: &Environment,
        home: Option<&Home>,
        withheld: WithheldVariables,
    ) -> (Self, Option<String>) {
        let found = env_file::user_env_files(environment, home).into_iter().find_map(|path| {
            EnvFile::load(&path).transpose().map(|loaded| loaded.map_err(|error| unreadable(&path, &error)))
        });
        match found.transpose() {
            Ok(user) => (Self { withheld, user, ..Self::default() }, None),
            Err(warning) => (Self { withheld, ..Self::default() }, Some(warning)),
        }
    }

    /// The same with a project's file, of which only variables with a role are used, and not those that `is_suspended` names.
    pub(crate) fn with_project(self, file: EnvFile, is_suspended: impl Fn(&str) -> bool) -> Self {
        let names = file.iter().map(|(name, _)| name).filter(|name| is_suspended(name));
        let suspended = names.map(str::to_string).collect();
        Self { project: Some(file.without(is_suspended)), suspended, ..self }
    }

    /// True if a variable would be set by the project's file, had the user confirmed it, and is set nowhere else.
    pub(crate) fn awaits_confirmation(&self, name: &str) -> bool {
        self.suspended.iter().any(|suspended| suspended == name) && self.find(name).is_none()
    }

    /// The user's file.
    pub(crate) fn user_file(&self) -> Option<&EnvFile> {
        self.user.as_ref()
    }

    /// The project's file.
    pub(crate) fn project_file(&self) -> Option<&EnvFile> {
        self.project.as_ref()
    }

    /// The value of a variable, and its source.
    pub(crate) fn find(&self, name: &str) -> Option<(String, VariableSource)> {
        if let Some(value) = self.withheld.variable(name) {
            return Some((value, VariableSource::Process));
        }
        if self.withheld.is_set(name) {
            return None;
        }
        let of_project = || {
            let file = self.project.as_ref()?;
            role_in_project(name).filter(|role| *role != ProjectRole::Refused)?;
            Some((file.get(name)?.to_string(), VariableSource::ProjectFile(file.path())))
        };
        of_project().or_else(|| {
            let value = self.of_user_file(name)?.to_string();
            Some((value, VariableSource::UserFile(self.user.as_ref()?.path())))
        })
    }

    /// The value of a variable without the project's: what settings may refer to.
    pub(crate) fn find_own(&self, name: &str) -> Option<String> {
        match self.withheld.is_set(name) {
            true => self.withheld.variable(name),
            false => self.of_user_file(name).map(str::to_string),
        }
    }

    fn of_user_file(&self, name: &str) -> Option<&str> {
        let file = self.user.as_ref().filter(|_| !ENVIRONMENT_ONLY.contains(&name))?;
        file.get(name)
    }

    /// The values of variables that settings may refer to and commands do not get, the longest first.
    pub(crate) fn secrets(&self, rules: &VariableRules) -> Vec<String> {
        /// Shorter values stand in too many texts.
        const SHORTEST: usize = 6;
        let own = self.user.iter().flat_map(EnvFile::iter).map(|(name, value)| (name.into(), value.into()));
        let withheld = rules.split(process_variables().chain(own)).withheld;
        let values = withheld.into_iter().filter_map(|(_, value)| value.into_string().ok());
        let mut values: Vec<String> = values.filter(|value| value.len() >= SHORTEST).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values
    }

    /// The environment of commands and hooks: that of the process and the user's file, without secrets.
    pub(crate) fn for_commands(&self, rules: &VariableRules) -> Vec<Variable> {
        let mut variables: Vec<Variable> = process_variables().collect();
        let own = self.user.iter().flat_map(EnvFile::iter).filter(|(name, _)| !self.withheld.is_set(name));
        let own: Vec<Variable> = own
            .filter(|(name, _)| !ENVIRONMENT_ONLY.contains(name))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        variables.extend(own);
        rules.split(variables).given
    }
}

/// A warning about a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{} is ignored: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(user: &str, project: &str) -> Variables {
        Variables {
            user: Some(EnvFile::parse(Path::new("/home/.env"), user)),
            project: Some(EnvFile::parse(Path::new("/work/.env"), project)),
            ..Variables::default()
        }
    }

    #[test]
    fn the_project_comes_before_the_user_and_the_process_before_both() {
        let own = variables(
            "LH_TEST_API_KEY=user\nLH_TEST_OTHER=user\nPATH=/evil\nLONGHAUL_HOME=/x",
            "LH_TEST_API_KEY=project\nLH_TEST_OTHER=project\nPATH=/evil\nGEMINI_MODEL=m\nSANDBOX=mine",
        );
        let find = |name: &str| own.find(name).map(|(value, _)| value);
        assert_eq!(find("LH_TEST_API_KEY").as_deref(), Some("project"));
        assert_eq!(find("LH_TEST_OTHER").as_deref(), Some("user"));
        assert_eq!(find("PATH"), std::env::var("PATH").ok());
        assert_eq!((find("SANDBOX"), find("LONGHAUL_HOME")), (None, None));
        let source = own.find("GEMINI_MODEL").map(|(_, source)| source);
        assert_eq!(source, Some(VariableSource::ProjectFile(Path::new("/work/.env").into())));
        // Settings do not see what a project sets.
        assert_eq!(own.find_own("LH_TEST_API_KEY").as_deref(), Some("user"));
        assert_eq!(own.find_own("GEMINI_MODEL"), None);
    }

    #[test]
    fn commands_get_what_the_user_sets_without_secrets_and_nothing_of_the_project() {
        let own = variables(
            "LH_TEST_API_KEY=sk-1234567890\nLH_TEST_REGION=north\nPATH=/evil",
            "LH_TEST_COLOUR=red\nLD_PRELOAD=/evil.so",
        );
        let given = own.for_commands(&VariableRules::default());
        let value = |name: &str| {
            let found: Vec<_> = given.iter().filter(|(known, _)| known == name).collect();
            assert!(found.len() < 2, "{name}");
            found.first().map(|(_, value)| value.to_string_lossy().into_owned())
        };
        assert_eq!(value("LH_TEST_REGION").as_deref(), Some("north"));
        assert_eq!(value("PATH"), std::env::var("PATH").ok());
        for missing in ["LH_TEST_API_KEY", "LH_TEST_COLOUR", "LD_PRELOAD"] {
            assert_eq!(value(missing), None, "{missing}");
        }
    }
}
