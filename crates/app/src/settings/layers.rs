//! Settings as layers; the uppermost with a key decides.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_conversation::{EstimateProfile, Estimator, TokenCount, Weights};
use serde_json::Value;

use super::document::{Content, Node};
use super::kind;
use super::provenance::Provenance;
use crate::trust::GrantKind;
use crate::variables::{EnvFileSummary, VariableSource, Variables};

/// The settings that hold in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The weakest first. Keys in none of them are at their default.
    pub(super) layers: Vec<Layer>,
    /// Kinds of workspace content that are suspended, because they changed since its folder was trusted.
    pub(super) suspended: BTreeSet<GrantKind>,
    /// The workspace's file among the layers.
    pub(super) workspace: Option<PathBuf>,
    /// Variables of the process, with those taken out of its environment, and of `.env` files.
    pub(super) variables: Variables,
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
    Variable(&'static str),
    Flag(&'static str),
}

impl Settings {
    /// Returns true if this kind of workspace content is suspended, because it changed since its folder was trusted.
    pub(crate) fn is_suspended(&self, kind: GrantKind) -> bool {
        self.suspended.contains(&kind)
    }

    /// Removes suspended content from the uppermost layer.
    pub(super) fn suspend_last(&mut self) {
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

    pub(super) fn says_trust(&self) -> Option<bool> {
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
            Source::Variable(_) | Source::Flag(_) => true,
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
            Source::Variable(_) | Source::Flag(_) => true,
        };
        let layers = self.layers.iter().filter(is_kept).cloned().collect();
        Self { layers, ..self.clone() }
    }

    /// The value of a variable: of the process, removed ones included, else of a `.env` file.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variable_with_source(name).map(|(value, _)| value)
    }

    /// The same, with its source.
    pub fn variable_with_source(&self, name: &str) -> Option<(String, VariableSource)> {
        self.variables.find(name)
    }

    /// All variables.
    pub(crate) fn variables(&self) -> &Variables {
        &self.variables
    }

    /// The user's `.env` file.
    pub fn user_env_file(&self) -> Option<EnvFileSummary> {
        self.variables.user_file().map(EnvFileSummary::of)
    }

    /// The variables that a trusted project's `.env` file sets for Longhaul, and the file.
    pub fn project_variables(&self) -> Option<(Arc<Path>, Vec<&str>)> {
        let file = self.variables.project_file()?;
        let is_used = |name: &str| {
            let source = self.variables.find(name).map(|(_, source)| source);
            matches!(source, Some(VariableSource::ProjectFile(_)))
        };
        let names: Vec<&str> = file.iter().map(|(name, _)| name).filter(|name| is_used(name)).collect();
        (!names.is_empty()).then(|| (file.path(), names))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;
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
