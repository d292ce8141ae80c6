//! Settings as layers; the uppermost with a key decides.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_conversation::{EstimateProfile, Estimator, TokenCount, Weights};
use longhaul_workspace::{Decider, Environment, Home, Trust};
use serde_json::Value;

use super::check::check_document;
use super::document::{Content, Node, parse};
use super::kind;
use super::problem::{SettingsError, SettingsFault, SettingsWarning, UnsupportedKey};
use super::provenance::Provenance;
use crate::environment;
use crate::settings_files::{SettingsFiles, WorkspaceFile, settings_files};
use crate::trust::{GrantKind, TrustReview, decide, review};
use crate::withheld::WithheldVariables;

/// The settings that hold in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The weakest first. Keys in none of them are at their default.
    pub(super) layers: Vec<Layer>,
    /// Kinds of workspace content that are suspended, because they changed since its folder was trusted.
    suspended: BTreeSet<GrantKind>,
    /// The workspace's file among the layers.
    pub(super) workspace: Option<PathBuf>,
    /// Variables that were taken out of the environment.
    withheld: WithheldVariables,
}

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
}

/// Loads the settings that hold now in the current folder.
pub fn load_here() -> anyhow::Result<LoadedSettings> {
    let environment = environment::of_process();
    Settings::load(environment::home(&environment)?.as_ref(), &environment::current_folder(), &environment)
}

/// The settings of one source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) source: Source,
    pub(super) root: Node,
}

/// The source of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    File(Arc<Path>),
    Flag(&'static str),
}

/// No settings file is larger than this.
const LARGEST: u64 = 1 << 20;

impl Settings {
    /// Loads the files for `cwd`. A missing file is skipped, and so is that of an untrusted workspace.
    pub fn load(
        home: Option<&Home>,
        cwd: &Path,
        environment: &Environment,
    ) -> anyhow::Result<LoadedSettings> {
        let mut loaded = LoadedSettings::default();
        let SettingsFiles { user, workspace } = settings_files(home, cwd);
        loaded.add_file(&environment.system_defaults())?;
        if let Some(user) = user {
            loaded.add_file(&user)?;
        }
        let mut system = Self::default().load_on_top(&environment.system_settings())?;
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
                if loaded.add_file(&file)? {
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
        Ok(loaded)
    }

    fn load_on_top(self, file: &Path) -> Result<LoadedSettings, SettingsError> {
        let mut loaded = LoadedSettings { settings: self, ..LoadedSettings::default() };
        loaded.add_file(file)?;
        Ok(loaded)
    }

    /// Returns true if this kind of workspace content is suspended, because it changed since its folder was trusted.
    pub(crate) fn is_suspended(&self, kind: GrantKind) -> bool {
        self.suspended.contains(&kind)
    }

    /// Removes suspended content from the uppermost layer.
    fn suspend_last(&mut self) {
        let keys = self.suspended.iter().flat_map(|kind| kind.keys());
        if let Some(layer) = self.layers.last_mut() {
            keys.for_each(|steps| layer.root.remove(steps));
        }
    }

    /// The context window set for a model, by its full name or without the provider's.
    pub fn window(&self, model: &str) -> Option<TokenCount> {
        let stated = |name| kind::tokens(self.value(&["longhaul", "windows", name])?);
        stated(model).or_else(|| stated(model.rsplit_once('/')?.1))
    }

    /// Returns true if folders must be trusted before their own files are used.
    pub fn needs_trust(&self) -> bool {
        self.says_trust().unwrap_or(true)
    }

    fn says_trust(&self) -> Option<bool> {
        self.value(&["security", "folderTrust", "enabled"]).and_then(Value::as_bool)
    }

    /// The place where a restricting switch has this value, in any layer: no other layer can undo it.
    pub(super) fn restricted_by(&self, key: &str, value: bool) -> Option<Provenance> {
        self.layers.iter().find_map(|Layer { source, root }| {
            let node = key.split('.').try_fold(root, |node, step| node.get(step))?;
            (node.content == Content::Plain(Value::Bool(value))).then(|| Provenance::of(source, node))
        })
    }

    /// The same without the workspace's file.
    pub(super) fn without_workspace(&self) -> Self {
        let is_kept = |layer: &&Layer| match &layer.source {
            Source::File(file) => self.workspace.as_deref() != Some(file.as_ref()),
            Source::Flag(_) => true,
        };
        Self { layers: self.layers.iter().filter(is_kept).cloned().collect(), ..self.clone() }
    }

    /// The estimator of tokens.
    pub fn estimator(&self) -> Estimator {
        let non_ascii = self.value(&["longhaul", "estimate", "nonAscii"]).and_then(kind::weight);
        let standard = Weights::default();
        let profile = match self.text(&["longhaul", "estimate", "profile"]) {
            Some("reference") => EstimateProfile::Reference,
            _ => EstimateProfile::Uniform,
        };
        Estimator {
            weights: Weights { non_ascii: non_ascii.unwrap_or(standard.non_ascii), ..standard },
            profile,
        }
    }

    /// The model to talk to.
    pub fn model(&self) -> Option<&str> {
        self.text(&["model", "name"])
    }

    /// Returns true if the model is shown the workspace tree.
    pub(crate) fn shows_tree(&self) -> bool {
        self.value(&["context", "includeDirectoryTree"]).and_then(Value::as_bool).unwrap_or(true)
    }

    /// The same with this file only.
    pub(crate) fn only(&self, file: &Path) -> Self {
        let is_kept = |layer: &&Layer| match &layer.source {
            Source::File(own) => own.as_ref() == file,
            Source::Flag(_) => true,
        };
        let layers = self.layers.iter().filter(is_kept).cloned().collect();
        Self { layers, ..self.clone() }
    }

    /// The same, with variables that were removed from the environment.
    pub fn with_withheld(self, withheld: WithheldVariables) -> Self {
        Self { withheld, ..self }
    }

    /// The value of an environment variable, including removed ones.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.withheld.variable(name)
    }

    /// The text of a key, unless it is empty.
    pub(super) fn text(&self, steps: &[&str]) -> Option<&str> {
        self.value(steps)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// The value of a key.
    pub(super) fn value(&self, steps: &[&str]) -> Option<&Value> {
        match &self.find(steps)?.1.content {
            Content::Plain(value) => Some(value),
            Content::Object(_) => None,
        }
    }

    /// The uppermost node for a key. Objects are merged key by key; null resets what the layers below set.
    pub(super) fn find(&self, steps: &[&str]) -> Option<(&Source, &Node)> {
        for Layer { source, root } in self.layers.iter().rev() {
            let mut node = Some(root);
            for step in steps {
                node = node.and_then(|object| object.get(step));
                if let Some(Node { content: Content::Plain(Value::Null), .. }) = node {
                    return None;
                }
            }
            if let Some(node) = node {
                return Some((source, node));
            }
        }
        None
    }
}

impl LoadedSettings {
    /// Reads a file and adds it on top; returns whether it exists.
    pub fn add_file(&mut self, file: &Path) -> Result<bool, SettingsError> {
        let file: Arc<Path> = file.into();
        let added = match read(&file) {
            Ok(Some(bytes)) => self.add(Arc::clone(&file), &bytes).map(|()| true),
            Ok(None) => Ok(false),
            Err(fault) => Err(fault),
        };
        added.map_err(|fault| SettingsError { file, fault })
    }

    /// Adds a file on top.
    pub(super) fn add(&mut self, file: Arc<Path>, bytes: &[u8]) -> Result<(), SettingsFault> {
        let root = parse(bytes)?;
        let (warnings, unsupported) = check_document(&file, &root)?;
        self.warnings.extend(warnings);
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
    use proptest::prelude::*;

    /// The settings of these files, the weakest first.
    fn layered(files: &[&str]) -> Settings {
        let mut loaded = LoadedSettings::default();
        for (at, text) in files.iter().enumerate() {
            loaded.add(Path::new(&format!("{at}.json")).into(), text.as_bytes()).unwrap();
        }
        loaded.settings
    }

    #[track_caller]
    fn check(files: &[&str], key: &str, expected: Option<&str>) {
        let settings = layered(files);
        let steps: Vec<&str> = key.split('.').collect();
        assert_eq!(settings.value(&steps).map(Value::to_string).as_deref(), expected, "{key}");
    }

    #[test]
    fn the_uppermost_file_decides_key_by_key() {
        let files = [
            r#"{"model": {"name": "a", "maxSessionTurns": 5}, "context": {"fileName": ["A.md", "B.md"]}}"#,
            r#"{"model": {"name": "b"}, "context": {"fileName": ["C.md"]}}"#,
        ];
        check(&files, "model.name", Some(r#""b""#));
        check(&files, "model.maxSessionTurns", Some("5"));
        check(&files, "context.fileName", Some(r#"["C.md"]"#));
        check(&files, "model.compressionThreshold", None);
        check(&files, "model", None);
        check(&[], "model.name", None);
    }

    #[test]
    fn null_takes_back_what_is_below() {
        let lower = r#"{"model": {"name": "a"}, "longhaul": {"windows": {"m": 5}}}"#;
        check(&[lower, r#"{"model": {"name": null}}"#], "model.name", None);
        check(&[lower, r#"{"model": null}"#], "model.name", None);
        check(&[lower, r#"{"longhaul": {"windows": null}}"#], "longhaul.windows.m", None);
        check(&[lower, r#"{"model": null}"#, r#"{"model": {"name": "c"}}"#], "model.name", Some(r#""c""#));
    }

    #[track_caller]
    fn check_window(model: &str, expected: Option<u64>) {
        let windows =
            r#"{"longhaul": {"windows": {"gemini-2.5-pro": "1m", "local": 8000, "x/local": 9000}}}"#;
        let other = r#"{"longhaul": {"windows": {"gemini-2.5-pro": 64e3}}}"#;
        assert_eq!(layered(&[windows, other]).window(model).map(|tokens| tokens.0), expected, "{model}");
    }

    #[test]
    fn windows_are_found_by_model() {
        check_window("gemini-2.5-pro", Some(64_000));
        check_window("local", Some(8_000));
        check_window("x/local", Some(9_000));
        check_window("y/local", Some(8_000));
        check_window("gemini-2", None);
        check_window("", None);
    }

    #[test]
    fn the_weight_of_characters_can_be_set() {
        assert_eq!(layered(&[]).estimator(), Estimator::default());
        let heavy = layered(&[r#"{"longhaul": {"estimate": {"nonAscii": 1.5}}}"#]);
        assert_eq!(heavy.estimator().weights, Weights::HEAVY);
        let reference = layered(&[r#"{"longhaul": {"estimate": {"profile": "reference"}}}"#]);
        assert_eq!(reference.estimator().profile, EstimateProfile::Reference);
    }

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

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(),
            proptest::sample::select(b"/*\"\\\n,[]{}:1a ".to_vec()),
        ], 0..200)) {
            let mut loaded = LoadedSettings::default();
            let _ = loaded.add(Path::new("any").into(), &bytes);
            let _ = (loaded.settings.window("a"), loaded.settings.estimator());
        }

        /// Objects of known and unknown names with values of any type.
        #[test]
        fn no_settings_panic(steps in proptest::collection::vec(proptest::sample::select(vec![
            "longhaul", "compaction", "threshold", "thresholds", "ö*", "windows", "model", "name", "hooks", "security", "ö.x", "",
        ]), 0..5), value in prop_oneof![
            Just("null".to_string()), Just("[]".into()), Just("{}".into()), Just("1e308".into()), "\"[a-z0-9.%]{0,4}\"",
        ]) {
            let text = steps.iter().rev().fold(value, |inside, step| format!("{{{step:?}: {inside}}}"));
            let mut loaded = LoadedSettings::default();
            let _ = loaded.add(Path::new("any").into(), text.as_bytes());
            let _ = (loaded.settings.window(""), loaded.settings.threshold(Some("ö")), loaded.settings.keep());
        }
    }
}
