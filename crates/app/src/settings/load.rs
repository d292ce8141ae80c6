//! Loads the settings that hold in a folder, from all their files and variables.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_hooks::VariableRules;
use longhaul_workspace::{Decider, Environment, Home, Trust};

use super::check::{check_document, check_references, hide_value};
use super::document::{Content, Node, parse};
use super::expand::{Expansion, FoundVariable, VariableLookup, expand};
use super::layers::{Layer, Settings, Source};
use super::problem::{SettingsError, SettingsFault, SettingsWarning, UnsupportedKey};
use super::provenance::nested;
use crate::environment;
use crate::settings_files::{SettingsFiles, WorkspaceFile, settings_files};
use crate::trust::{GrantKind, TrustReview, decide, review};
use crate::variables::{
    EnvFile, EnvFileKind, ProjectEnvFile, ProjectRole, Variables, project_env_files, role_in_project,
    unreadable,
};
use crate::withheld::WithheldVariables;

/// The variable that names the model.
const MODEL: &str = "GEMINI_MODEL";

/// No settings file is larger than this.
const LARGEST: u64 = 1 << 20;

/// Settings, with warnings about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Settings,
    /// Warnings about ignored keys.
    pub warnings: Vec<SettingsWarning>,
    /// The workspace's file, if it is ignored because its folder is not trusted.
    pub untrusted: Option<PathBuf>,
    /// True if folders must be trusted; only the user's settings decide that.
    pub needs_trust: bool,
    /// Changes in the workspace since its folder was trusted.
    pub review: TrustReview,
    /// Gemini CLI keys that are set but not supported.
    pub unsupported: Vec<UnsupportedKey>,
    /// Warnings about `.env` files.
    pub env_warnings: Vec<String>,
    /// The project's `.env` file with variables for Longhaul, if it is ignored because its folder is not trusted.
    pub untrusted_env: Option<PathBuf>,
}

/// Loads the settings that hold now in the current folder.
pub fn load_here() -> anyhow::Result<LoadedSettings> {
    load_here_with(WithheldVariables::default())
}

/// The same, with variables that were removed from the environment.
pub fn load_here_with(withheld: WithheldVariables) -> anyhow::Result<LoadedSettings> {
    let environment = environment::of_process();
    let home = environment::home(&environment)?;
    Settings::load_with(home.as_ref(), &environment::current_folder(), &environment, withheld)
}

/// The owner of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    /// The user or the administrator.
    UserOrSystem,
    /// A workspace.
    Workspace,
}

impl Settings {
    /// Loads the files for `cwd`. A missing file is skipped, and so is that of an untrusted workspace.
    pub fn load(
        home: Option<&Home>,
        cwd: &Path,
        environment: &Environment,
    ) -> anyhow::Result<LoadedSettings> {
        Self::load_with(home, cwd, environment, WithheldVariables::default())
    }

    /// The same, with variables that were removed from the environment.
    fn load_with(
        home: Option<&Home>,
        cwd: &Path,
        environment: &Environment,
        withheld: WithheldVariables,
    ) -> anyhow::Result<LoadedSettings> {
        let (variables, warning) = Variables::of_user(environment, home, withheld);
        let mut loaded = LoadedSettings { env_warnings: warning.into_iter().collect(), ..Default::default() };
        let SettingsFiles { user, workspace } = settings_files(home, cwd);
        loaded.add_own_file(&environment.system_defaults(), &variables)?;
        if let Some(user) = user {
            loaded.add_own_file(&user, &variables)?;
        }
        let mut system = LoadedSettings::default();
        system.add_own_file(&environment.system_settings(), &variables)?;
        // Were a workspace asked, it could trust itself.
        loaded.needs_trust = system.settings.says_trust().unwrap_or_else(|| loaded.settings.needs_trust());
        if let Some(home) = home {
            let review = review(home, cwd)?;
            // Where the environment or a setting says so, every folder is trusted as it is.
            let is_by_rule =
                |trust: &Trust| matches!(trust, Trust::Trusted(Decider::Rule(_) | Decider::Editor));
            if !review.changes.is_empty()
                && is_by_rule(&decide(cwd, Some(home), environment, loaded.needs_trust)?)
            {
                loaded.settings.suspended = review.suspended.clone();
                loaded.review = review;
            }
        }
        if let Some(WorkspaceFile { folder, file }) = workspace {
            if decide(&folder, home, environment, loaded.needs_trust)?.is_trusted() {
                let rules = loaded.settings.variable_rules(home);
                if loaded.add_workspace_file(&file, &variables, &rules)? {
                    loaded.settings.suspend_last();
                    loaded.settings.workspace = Some(file);
                }
            } else {
                loaded.untrusted = Some(file);
            }
        }
        loaded.settings.layers.append(&mut system.settings.layers);
        loaded.warnings.append(&mut system.warnings);
        loaded.unsupported.append(&mut system.unsupported);
        loaded.settings.variables = match loaded.find_project_env(home, cwd) {
            Some(file) if decide(&file.folder, home, environment, loaded.needs_trust)?.is_trusted() => {
                loaded.add_project_env(variables, &file)
            }
            Some(file) => {
                let read = EnvFile::load(&file.path).ok().flatten();
                loaded.untrusted_env =
                    read.filter(|read| read.for_longhaul().next().is_some()).map(|_| file.path);
                variables
            }
            None => variables,
        };
        loaded.settings.add_model_variable();
        Ok(loaded)
    }

    /// Puts the model that a variable names above all files.
    fn add_model_variable(&mut self) {
        let named = self.variable(MODEL).map(|model| model.trim().to_string());
        if let Some(model) = named.filter(|model| !model.is_empty()) {
            let leaf = Node { line: 1, content: Content::Plain(model.into()) };
            let root = nested(&["model", "name"], leaf);
            self.layers.push(Layer { source: Source::Variable(MODEL), root });
        }
    }
}

impl LoadedSettings {
    /// Reads a file of the user's or the administrator's and adds it on top; returns whether it exists. It may refer to the
    /// variables of the process and of the user's `.env`.
    fn add_own_file(&mut self, file: &Path, variables: &Variables) -> Result<bool, SettingsError> {
        let find = |name: &str| variables.find_own(name).map_or(FoundVariable::Unset, FoundVariable::Value);
        self.add_file(file, &find)
    }

    /// The same for the file of a trusted workspace, which may not refer to secrets: they would end up wherever it says.
    fn add_workspace_file(
        &mut self,
        file: &Path,
        variables: &Variables,
        rules: &VariableRules,
    ) -> Result<bool, SettingsError> {
        let find = |name: &str| match variables.find_own(name) {
            None => FoundVariable::Unset,
            Some(value) if rules.withholds(name.as_ref(), value.as_ref()) => FoundVariable::Secret,
            Some(value) => FoundVariable::Value(value),
        };
        self.add_file(file, &find)
    }

    /// Examines one file by itself, as it would be loaded; returns whether it exists.
    pub fn examine_file(
        &mut self,
        file: &Path,
        owner: FileOwner,
        home: Option<&Home>,
        environment: &Environment,
    ) -> Result<bool, SettingsError> {
        let variables = Variables::of_user(environment, home, WithheldVariables::default()).0;
        match owner {
            FileOwner::UserOrSystem => self.add_own_file(file, &variables),
            FileOwner::Workspace => {
                let users = Settings::load(home, Path::new(""), environment).unwrap_or_default();
                self.add_workspace_file(file, &variables, &users.settings.variable_rules(home))
            }
        }
    }

    /// The `.env` file that counts in a folder, if its folder is trusted.
    fn find_project_env(&self, home: Option<&Home>, cwd: &Path) -> Option<ProjectEnvFile> {
        let ignores_general = self.settings.restricted_by("advanced.ignoreLocalEnv", true).is_some();
        let mut files = project_env_files(home, cwd).into_iter();
        files.find(|file| file.kind == EnvFileKind::Gemini || !ignores_general)
    }

    /// Adds a project's `.env` file, without what it may not set. Keys and addresses that changed since the folder was trusted
    /// wait for the user's confirmation.
    fn add_project_env(&mut self, variables: Variables, found: &ProjectEnvFile) -> Variables {
        let name = found.path.display();
        if found.leads_out() {
            self.env_warnings.push(format!("{name} is ignored: it is a link out of its folder"));
            return variables;
        }
        let file = match EnvFile::load(&found.path) {
            Ok(Some(file)) => file,
            Ok(None) => return variables,
            Err(error) => {
                self.env_warnings.push(unreadable(&found.path, &error));
                return variables;
            }
        };
        let role = |name: &str| role_in_project(name);
        let refused: Vec<&str> = file
            .iter()
            .map(|(name, _)| name)
            .filter(|name| role(name) == Some(ProjectRole::Refused))
            .collect();
        if !refused.is_empty() {
            let names = refused.join(", ");
            self.env_warnings.push(format!("{name}: a project cannot set {names}"));
        }
        let excluded = match found.kind {
            EnvFileKind::General => self.settings.united(&["advanced", "excludedEnvVars"]),
            EnvFileKind::Gemini => Vec::new(),
        };
        let waits = self.settings.is_suspended(GrantKind::Endpoints);
        let is_suspended =
            |name: &str| waits && matches!(role(name), Some(ProjectRole::Key | ProjectRole::Address));
        variables.with_project(file.without(|name| excluded.contains(&name)), is_suspended)
    }

    /// Reads a file and adds it on top; returns whether it exists.
    fn add_file(&mut self, file: &Path, variables: VariableLookup<'_>) -> Result<bool, SettingsError> {
        let file: Arc<Path> = file.into();
        let added = match read(&file) {
            Ok(Some(bytes)) => self.add_expanded(Arc::clone(&file), &bytes, variables).map(|()| true),
            Ok(None) => Ok(false),
            Err(fault) => Err(fault),
        };
        added.map_err(|fault| SettingsError { file, fault })
    }

    /// Adds a file on top that refers to no variables.
    #[cfg(test)]
    pub(super) fn add(&mut self, file: Arc<Path>, bytes: &[u8]) -> Result<(), SettingsFault> {
        self.add_expanded(file, bytes, &|_: &str| FoundVariable::Unset)
    }

    /// Adds a file on top, with the values of the variables that it refers to.
    fn add_expanded(
        &mut self,
        file: Arc<Path>,
        bytes: &[u8],
        variables: VariableLookup<'_>,
    ) -> Result<(), SettingsFault> {
        let mut root = parse(bytes)?;
        let Expansion { expanded, open } = expand(&mut root, variables);
        let (warnings, unsupported) =
            check_document(&file, &root).map_err(|fault| hide_value(fault, &expanded))?;
        self.warnings.extend(warnings);
        self.warnings.extend(check_references(&file, open));
        self.unsupported.extend(unsupported);
        self.settings.layers.push(Layer { source: Source::File(file), root });
        Ok(())
    }
}

/// The bytes of a file, if there is one.
fn read(file: &Path) -> Result<Option<Vec<u8>>, SettingsFault> {
    let is_missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let opened = match File::open(file) {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    opened.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        Err(SettingsFault::TooLarge { limit: LARGEST })
    } else {
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The home in a user's folder.
    fn at_home(folder: &Path) -> Home {
        let environment = Environment { user_home: Some(folder.into()), ..Environment::default() };
        Home::resolve(&environment).unwrap()
    }

    /// Loads what counts where the environment says whether workspaces are trusted.
    fn load(home: &Path, cwd: &Path, trust: &str) -> anyhow::Result<LoadedSettings> {
        let environment = Environment { trust_workspace: Some(trust.into()), ..Environment::default() };
        Settings::load(Some(&at_home(home)), cwd, &environment)
    }

    /// The error in the files of a user's folder.
    fn fault_at(folder: &Path) -> SettingsError {
        load(folder, folder, "true").unwrap_err().downcast().expect("settings are at fault")
    }

    #[test]
    fn files_are_loaded_from_home_and_workspace() {
        let root = tempfile::tempdir().unwrap();
        let (home, work) = (root.path().join("home"), root.path().join("work"));
        let nothing = load(&home, &work, "true").unwrap();
        assert_eq!(nothing, LoadedSettings { needs_trust: true, ..LoadedSettings::default() });
        for (folder, text) in [
            (&home, "{\"model\": {\"name\": \"a\", \"maxSessionTurns\": 5}, \"modle\": 1}"),
            (&work, "{\n\"model\": {\"name\": \"b\"}}"),
        ] {
            std::fs::create_dir_all(folder.join(".gemini")).unwrap();
            std::fs::write(folder.join(".gemini/settings.json"), text).unwrap();
        }
        let loaded = load(&home, &work, "true").unwrap();
        assert_eq!(loaded.settings.value(&["model", "name"]), Some(&"b".into()));
        assert_eq!(loaded.settings.value(&["model", "maxSessionTurns"]), Some(&5.into()));
        assert_eq!(loaded.warnings.len(), 1);
        let alone = load(&home, &home, "true").unwrap();
        assert_eq!((alone.settings.layers.len(), alone.warnings.len()), (1, 1));
        let untrusted = load(&home, &work, "false").unwrap();
        assert_eq!(untrusted.settings.value(&["model", "name"]), Some(&"a".into()));
        assert_eq!(untrusted.untrusted, Some(work.join(".gemini/settings.json")));
        // Even a broken file of strangers does no harm.
        std::fs::write(work.join(".gemini/settings.json"), "{").unwrap();
        assert!(load(&home, &work, "false").is_ok() && load(&home, &work, "true").is_err());
    }

    #[test]
    fn files_that_cannot_be_settings_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".gemini/settings.json");
        std::fs::create_dir_all(&folder).unwrap();
        let error = fault_at(root.path());
        assert!(matches!(error.fault, SettingsFault::Unreadable(_)), "{error:?}");
        std::fs::remove_dir(&folder).unwrap();
        std::fs::write(&folder, " ".repeat(LARGEST as usize)).unwrap();
        assert!(load(root.path(), root.path(), "true").is_ok());
        std::fs::write(&folder, " ".repeat(LARGEST as usize + 1)).unwrap();
        let error = fault_at(root.path());
        assert!(matches!(error.fault, SettingsFault::TooLarge { .. }), "{error:?}");
        assert_eq!(error.file.as_ref(), folder);
    }
    /// Writes files below a folder.
    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    /// Loads what counts in `work` below a folder that has the user's `home`, too.
    fn load_below(root: &Path, trust: &str) -> LoadedSettings {
        load(&root.join("home"), &root.join("work"), trust).unwrap()
    }

    #[test]
    fn settings_refer_to_the_users_variables_and_a_workspaces_to_none_with_secrets() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("home/.gemini/.env", "LH_TEST_NAME=mine\nLH_TEST_API_KEY=0123456789abcdef0123"),
                (
                    "home/.gemini/settings.json",
                    "{\"model\": {\"name\": \"${LH_TEST_NAME}-$LH_TEST_API_KEY\"}}",
                ),
                ("work/.env", "LH_TEST_NAME=theirs\nLH_TEST_OTHER=theirs"),
                (
                    "work/.gemini/settings.json",
                    "{\"longhaul\": {\"helper\": {\"model\": \"$LH_TEST_NAME\"}, \"compaction\": {\n\
                     \"model\": \"$LH_TEST_API_KEY/$LH_TEST_OTHER\"}}}",
                ),
            ],
        );
        let LoadedSettings { settings, warnings, .. } = load_below(root.path(), "true");
        assert_eq!(settings.model(), Some("mine-0123456789abcdef0123"));
        assert_eq!(settings.text(&["longhaul", "helper", "model"]), Some("mine"));
        assert_eq!(settings.compaction_model(), Some("$LH_TEST_API_KEY/$LH_TEST_OTHER"));
        let told: Vec<String> = warnings.iter().map(|warning| warning.to_string()).collect();
        let [secret, unset] = &told[..] else { panic!("{told:?}") };
        assert!(
            secret.contains(":2: longhaul.compaction.model refers to $LH_TEST_API_KEY, which holds a secret")
        );
        assert!(unset.ends_with("$LH_TEST_OTHER, which is not set"), "{unset}");
    }

    #[test]
    fn a_project_sets_variables_only_where_it_is_trusted() {
        let root = tempfile::tempdir().unwrap();
        let env = "LH_TEST_API_KEY=theirs\nGEMINI_MODEL=their-model\nGEMINI_CLI_TRUST_WORKSPACE=true\nLH_TEST_X=1\n";
        write(
            root.path(),
            &[
                ("home/.gemini/.env", "LH_TEST_API_KEY=mine"),
                ("home/.gemini/settings.json", "{\"model\": {\"name\": \"my-model\"}}"),
                ("work/.env", env),
            ],
        );
        let loaded = load_below(root.path(), "true");
        assert_eq!(loaded.settings.variable("LH_TEST_API_KEY").as_deref(), Some("theirs"));
        assert_eq!(loaded.settings.variable("LH_TEST_X"), None);
        assert_eq!(loaded.settings.model(), Some("their-model"));
        assert_eq!(loaded.settings.provenance("model.name").to_string(), "GEMINI_MODEL");
        let names = loaded.settings.project_variables().map(|(_, names)| names);
        assert_eq!(names, Some(vec!["GEMINI_MODEL", "LH_TEST_API_KEY"]));
        let [refused] = &loaded.env_warnings[..] else { panic!("{:?}", loaded.env_warnings) };
        assert!(refused.ends_with("a project cannot set GEMINI_CLI_TRUST_WORKSPACE"), "{refused}");

        let untrusted = load_below(root.path(), "false");
        assert_eq!(untrusted.settings.variable("LH_TEST_API_KEY").as_deref(), Some("mine"));
        assert_eq!(untrusted.settings.model(), Some("my-model"));
        assert_eq!(untrusted.untrusted_env, Some(root.path().join("work/.env")));
        assert!(untrusted.env_warnings.is_empty() && untrusted.settings.project_variables().is_none());
    }

    #[test]
    fn a_projects_variables_can_be_ignored() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &[("work/.env", "LH_TEST_API_KEY=a\nGEMINI_MODEL=b")]);
        let excluded = "{\"advanced\": {\"excludedEnvVars\": [\"GEMINI_MODEL\"]}}";
        write(root.path(), &[("home/.gemini/settings.json", excluded)]);
        let settings = load_below(root.path(), "true").settings;
        assert_eq!((settings.variable("LH_TEST_API_KEY").as_deref(), settings.model()), (Some("a"), None));
        let ignoring = "{\"advanced\": {\"ignoreLocalEnv\": true, \"excludedEnvVars\": [\"GEMINI_MODEL\"]}}";
        write(root.path(), &[("home/.gemini/settings.json", ignoring)]);
        assert_eq!(load_below(root.path(), "true").settings.project_variables(), None);
        // What is for agents alone still counts, and whole.
        write(root.path(), &[("work/.gemini/.env", "GEMINI_MODEL=c")]);
        assert_eq!(load_below(root.path(), "true").settings.model(), Some("c"));
    }

    #[test]
    fn keys_and_addresses_that_changed_since_a_folder_was_trusted_wait() {
        let root = tempfile::tempdir().unwrap();
        let (home, work) = (at_home(&root.path().join("home")), root.path().join("work"));
        write(root.path(), &[("work/.env", "LH_TEST_API_KEY=a\nOPENAI_BASE_URL=http://a\nGEMINI_MODEL=m")]);
        let timeout = longhaul_workspace::LockTimeout::default();
        longhaul_workspace::TrustedFolders::at(home.trusted_folders())
            .set(&work, longhaul_workspace::TrustLevel::TrustFolder, timeout)
            .unwrap();
        let load = || Settings::load(Some(&home), &work, &Environment::default()).unwrap();
        let found = |loaded: &LoadedSettings| {
            ["LH_TEST_API_KEY", "OPENAI_BASE_URL", "GEMINI_MODEL"].map(|name| loaded.settings.variable(name))
        };
        let memory = load().settings.memory().0;
        crate::trust::confirm(&home, &work, &memory).unwrap();
        assert_eq!(found(&load()), [Some("a".into()), Some("http://a".into()), Some("m".into())]);
        write(
            root.path(),
            &[("work/.env", "LH_TEST_API_KEY=a\nOPENAI_BASE_URL=http://evil\nGEMINI_MODEL=n")],
        );
        let changed = load();
        assert_eq!(found(&changed), [None, None, Some("n".into())]);
        assert!(changed.settings.variables().awaits_confirmation("OPENAI_BASE_URL"));
        assert!(!changed.settings.variables().awaits_confirmation("GEMINI_MODEL"));
        let warning = changed.review.warning(&work).unwrap();
        assert!(warning.contains("endpoints") && warning.contains("OPENAI_BASE_URL in .env"), "{warning}");
        crate::trust::confirm(&home, &work, &memory).unwrap();
        assert_eq!(found(&load())[1].as_deref(), Some("http://evil"));
    }
}
