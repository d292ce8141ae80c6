//! Finds where a value was set, and sets values by flags.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::check::check_value;
use super::document::{Content, Node};
use super::layers::{Layer, Settings, Source};
use super::lookup::{Known, look_up};
use super::problem::{FileLine, SettingsFault, WrongValue};

/// The place where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Nowhere.
    Default,
    /// In a file.
    File(FileLine),
    /// By this variable.
    Variable(&'static str),
    /// By this flag.
    Flag(&'static str),
}

impl Provenance {
    /// The place of a node of a layer.
    pub(super) fn of(source: &Source, node: &Node) -> Self {
        match source {
            Source::File(file) => Self::File(FileLine { file: Arc::clone(file), line: node.line }),
            Source::Variable(name) => Self::Variable(name),
            Source::Flag(flag) => Self::Flag(flag),
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => place.fmt(f),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Settings {
    /// The place where the value of a key was set. What follows `longhaul.windows.` is the name of a model, dots and all.
    pub fn provenance(&self, key: &str) -> Provenance {
        self.find(&steps(key)).map_or(Provenance::Default, |(source, node)| Provenance::of(source, node))
    }

    /// The same with a value that a flag sets.
    pub fn with_flag(mut self, key: &str, flag: &'static str, value: Value) -> Result<Self, WrongValue> {
        let steps = steps(key);
        let leaf = Node { line: 1, content: Content::Plain(value) };
        if let Known::SettingKey(known) = look_up(&steps)
            && let Err(SettingsFault::WrongValue { value, .. }) = check_value(known.kind, &steps, &leaf)
        {
            return Err(WrongValue { key: flag.into(), ..value });
        }
        self.layers.push(Layer { source: Source::Flag(flag), root: nested(&steps, leaf) });
        Ok(self)
    }
}

/// A tree with this leaf alone.
pub(super) fn nested(steps: &[&str], leaf: Node) -> Node {
    steps.iter().rev().fold(leaf, |inside, step| Node {
        line: 1,
        content: Content::Object(vec![((*step).to_string(), inside)]),
    })
}

/// The steps that lead to a key.
fn steps(key: &str) -> Vec<&str> {
    match key.strip_prefix("longhaul.windows.") {
        Some(model) => vec!["longhaul", "windows", model],
        None => key.split('.').collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;
    use longhaul_compaction::Threshold;
    use std::path::Path;

    const USER: &str = "{\n\"model\": {\"name\": \"a\",\n\"compressionThreshold\": 0.2},\n\"longhaul\": {\"windows\": {\n\"m-2.5\": 5}}}";
    const WORKSPACE: &str = "// ours\n\n{\"model\": {\"name\": \"b\", \"maxSessionTurns\": null}}";

    fn settings() -> Settings {
        let mut loaded = LoadedSettings::default();
        loaded.add(Path::new("user.json").into(), USER.as_bytes()).unwrap();
        loaded.add(Path::new("work.json").into(), WORKSPACE.as_bytes()).unwrap();
        loaded.settings
    }

    #[track_caller]
    fn check(settings: &Settings, key: &str, expected: &str) {
        assert_eq!(settings.provenance(key).to_string(), expected, "{key}");
    }

    #[test]
    fn values_know_their_file_and_line() {
        check(&settings(), "model.name", "work.json:3");
        check(&settings(), "model.compressionThreshold", "user.json:3");
        check(&settings(), "longhaul.windows.m-2.5", "user.json:5");
        check(&settings(), "longhaul.windows", "user.json:4");
        check(&settings(), "model.maxSessionTurns", "default");
        check(&settings(), "longhaul.compaction.keep", "default");
    }

    #[test]
    fn flags_win() {
        let flagged = settings().with_flag("model.name", "--model", "c".into()).unwrap();
        check(&flagged, "model.name", "--model");
        check(&flagged, "model.compressionThreshold", "user.json:3");
        assert_eq!(flagged.value(&["model", "name"]), Some(&"c".into()));
        let off = flagged.with_flag("longhaul.compaction.threshold", "--threshold", "off".into()).unwrap();
        assert_eq!(off.threshold(None).map(|(threshold, _)| threshold), Some(Threshold::Off));
    }

    #[test]
    fn a_wrong_flag_is_named() {
        let error = settings().with_flag("longhaul.compaction.keep", "--keep", 2.into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--keep must be a share from 0 to 1 (0.3 or \"30%\"), not the number 2"
        );
    }
}
