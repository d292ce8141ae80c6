//! Settings of compaction.

use std::path::{Path, PathBuf};

use longhaul_compaction::{OutputLimits, Threshold};
use longhaul_conversation::TokenCount;
use longhaul_engine::{Counting, Fallback, PreCompressWhen, SpendCaps, Verify};
use serde_json::Value;

use super::document::Content;
use super::kind;
use super::layers::Settings;
use super::provenance::Provenance;

impl Settings {
    /// The threshold that the user set, and where: by a flag, for the model, for all models, or as in Gemini CLI.
    pub fn threshold(&self, model: Option<&str>) -> Option<(Threshold, Provenance)> {
        let general = || self.set_value(&["longhaul", "compaction", "threshold"], kind::threshold);
        let flag = general().filter(|(_, provenance)| matches!(provenance, Provenance::Flag(_)));
        flag.or_else(|| self.threshold_of(model.unwrap_or_default()))
            .or_else(general)
            .or_else(|| self.set_value(&["model", "compressionThreshold"], kind::gemini_threshold))
    }

    /// The threshold under the name that is closest to the model's.
    fn threshold_of(&self, model: &str) -> Option<(Threshold, Provenance)> {
        let section = ["longhaul", "compaction", "thresholds"];
        let sections = self
            .layers
            .iter()
            .filter_map(|layer| section.iter().try_fold(&layer.root, |node, step| node.get(step)));
        let names = sections.flat_map(|section| section.entries()).map(|(name, _)| name.as_str());
        let set = names.filter_map(|name| {
            let closeness = closeness(name, model)?;
            let value = self.set_value(&[&section[..], &[name]].concat(), kind::threshold)?;
            Some((closeness, value))
        });
        set.max_by_key(|(closeness, _)| *closeness).map(|(_, value)| value)
    }

    /// The value of a key, and where it was set.
    fn set_value<T>(&self, steps: &[&str], read: fn(&Value) -> Option<T>) -> Option<(T, Provenance)> {
        let (source, node) = self.find(steps)?;
        let Content::Plain(value) = &node.content else { return None };
        Some((read(value)?, Provenance::of(source, node)))
    }

    /// The largest share of a conversation to keep verbatim.
    pub fn keep(&self) -> Option<f64> {
        kind::share(self.value(&["longhaul", "compaction", "keep"])?)
    }

    /// The budget for what a compaction adds to the verbatim tail.
    pub fn snapshot_budget(&self) -> Option<TokenCount> {
        kind::tokens(self.value(&["longhaul", "compaction", "snapshotBudget"])?)
    }

    /// The limits of tool outputs that give way to previews.
    pub fn output_limits(&self) -> OutputLimits {
        let tokens = |key| kind::tokens(self.value(&["contextManagement", "tools", "outputMasking", key])?);
        let usual = OutputLimits::default();
        OutputLimits {
            protected: tokens("protectionThresholdTokens").unwrap_or(usual.protected),
            worthwhile: tokens("minPrunableThresholdTokens").unwrap_or(usual.worthwhile),
            ..usual
        }
    }

    /// Returns true if a model writes the snapshots of a conversation.
    pub(crate) fn is_compacted_by_model(&self) -> bool {
        self.value(&["longhaul", "compaction", "summariser"]).and_then(Value::as_str) != Some("offline")
    }

    /// Returns true if the user is asked before an automatic compaction.
    pub(crate) fn asks_before_compaction(&self) -> bool {
        self.value(&["longhaul", "compaction", "ask"]).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The model that writes snapshots.
    pub(crate) fn compaction_model(&self) -> Option<&str> {
        self.text(&["longhaul", "compaction", "model"])
    }

    /// The settings of the engine.
    pub fn engine(&self) -> longhaul_engine::Settings {
        let word = |name| self.value(&["longhaul", "compaction", name]).and_then(Value::as_str);
        let fallback = match word("fallback") {
            Some("off") => Fallback::Off,
            _ => Fallback::Offline,
        };
        let verify = word("verify").and_then(Verify::from_word).unwrap_or_default();
        let counting = match word("count") {
            Some("exact") => Counting::Exact,
            _ => Counting::Estimated,
        };
        let pre_compress = match self.value(&["longhaul", "hooks", "preCompress"]).and_then(Value::as_str) {
            Some("when-needed") => PreCompressWhen::WhenNeeded,
            _ => PreCompressWhen::EveryTurn,
        };
        let caps = SpendCaps {
            tokens: self.value(&["longhaul", "compaction", "maxTokens"]).and_then(kind::tokens),
            money: self.value(&["longhaul", "compaction", "maxCost"]).and_then(Value::as_f64),
        };
        let defaults = longhaul_engine::Settings::default();
        let is_off = |value: &Value| value.as_bool() == Some(false);
        let prepare_at = match self.value(&["longhaul", "compaction", "prepare"]).is_some_and(is_off) {
            true => None,
            false => defaults.prepare_at,
        };
        longhaul_engine::Settings { fallback, verify, counting, pre_compress, caps, prepare_at, ..defaults }
    }

    /// The telemetry file; one without a folder is in the home.
    pub(crate) fn telemetry_file(&self, home: &Path) -> Option<PathBuf> {
        let file = self.text(&["longhaul", "telemetry", "file"])?;
        (!file.is_empty()).then(|| home.join(file))
    }

    /// The size that a compaction aims for.
    pub fn target(&self) -> Option<TokenCount> {
        kind::tokens(self.value(&["longhaul", "compaction", "target"])?)
    }
}

/// The closeness of a name in the settings to a model's, if it matches: a whole name before a prefix, a longer prefix before
/// a shorter one, and the name with its provider before that without.
fn closeness(name: &str, model: &str) -> Option<(bool, usize, bool)> {
    let bare = model.rsplit_once('/').map_or(model, |(_, bare)| bare);
    let matches = |model: &str| match name.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning),
        None => model == name,
    };
    let with_provider = matches(model);
    (with_provider || matches(bare)).then(|| (!name.ends_with('*'), name.len(), with_provider))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;
    use std::path::Path;

    fn compaction(text: &str) -> Settings {
        let mut loaded = LoadedSettings::default();
        loaded.add(Path::new("s.json").into(), text.as_bytes()).unwrap();
        loaded.settings
    }

    #[track_caller]
    fn check_threshold(text: &str, expected: Option<Threshold>) {
        assert_eq!(compaction(text).threshold(None).map(|(threshold, _)| threshold), expected, "{text}");
    }

    #[test]
    fn our_threshold_wins_over_gemini_clis() {
        check_threshold("{}", None);
        check_threshold(r#"{"model": {"compressionThreshold": 0.2}}"#, Some(Threshold::Share(0.2)));
        check_threshold(r#"{"model": {"compressionThreshold": 0}}"#, None);
        let both =
            r#"{"model": {"compressionThreshold": 0.2}, "longhaul": {"compaction": {"threshold": "200k"}}}"#;
        check_threshold(both, Some(Threshold::Tokens(TokenCount(200_000))));
        check_threshold(r#"{"longhaul": {"compaction": {"threshold": "off"}}}"#, Some(Threshold::Off));
        check_threshold(r#"{"longhaul": {"compaction": {"threshold": 0.4}}}"#, Some(Threshold::Share(0.4)));
    }

    #[track_caller]
    fn check_model(model: Option<&str>, expected: &str) {
        let mut loaded = LoadedSettings::default();
        let user = r#"{"model": {"compressionThreshold": 0.25}, "longhaul": {"compaction": {"thresholds": {
            "gemini-*": 0.5,
            "gemini-2.5-*": "off",
            "gemini-2.5-pro": "400k",
            "x/local": 3000, "local": 2000,
            "gone": 0.5}}}}"#;
        let workspace = r#"{"longhaul": {"compaction": {"thresholds": {"gone": null,
            "gemini-*": 0.75}}}}"#;
        for (name, text) in [("user", user), ("work", workspace)] {
            loaded.add(Path::new(name).into(), text.as_bytes()).unwrap();
        }
        let (threshold, provenance) = loaded.settings.threshold(model).expect("one is set");
        assert_eq!(format!("{threshold:?} {provenance}"), expected, "{model:?}");
    }

    #[test]
    fn the_closest_name_decides() {
        check_model(Some("gemini-2.5-pro"), "Tokens(TokenCount(400000)) user:4");
        check_model(Some("google/gemini-2.5-pro"), "Tokens(TokenCount(400000)) user:4");
        check_model(Some("gemini-2.5-flash"), "Off user:3");
        check_model(Some("gemini-3"), "Share(0.75) work:2");
        check_model(Some("x/local"), "Tokens(TokenCount(3000)) user:5");
        check_model(Some("y/local"), "Tokens(TokenCount(2000)) user:5");
        for other in [Some("gone"), Some("claude-opus"), Some(""), None] {
            check_model(other, "Share(0.25) user:1");
        }
    }

    #[test]
    fn a_star_alone_is_for_every_model_and_a_flag_wins() {
        let all = compaction(r#"{"longhaul": {"compaction": {"thresholds": {"*": 0.9}, "threshold": 0.1}}}"#);
        let share = |settings: &Settings, model| settings.threshold(model).map(|(threshold, _)| threshold);
        assert_eq!(share(&all, None), Some(Threshold::Share(0.9)));
        assert_eq!(share(&all, Some("m")), Some(Threshold::Share(0.9)));
        let flag = all.with_flag("longhaul.compaction.threshold", "--threshold", "20%".into()).unwrap();
        assert_eq!(share(&flag, Some("m")), Some(Threshold::Share(0.2)));
    }

    #[test]
    fn limits_of_tool_outputs_are_read() {
        let masking = |text: &str| {
            let mut loaded = LoadedSettings::default();
            let text = format!("{{\"contextManagement\": {{\"tools\": {{\"outputMasking\": {text}}}}}}}");
            loaded.add(Path::new("s.json").into(), text.as_bytes()).unwrap();
            assert_eq!((loaded.warnings.len(), loaded.unsupported.len()), (0, 0), "{text}");
            loaded.settings.output_limits()
        };
        assert_eq!(masking("{}"), OutputLimits::default());
        let set = masking(r#"{"protectionThresholdTokens": 20000, "minPrunableThresholdTokens": "5k"}"#);
        assert_eq!((set.protected, set.worthwhile), (TokenCount(20_000), TokenCount(5_000)));
    }

    #[test]
    fn sizes_are_read() {
        let settings = compaction(
            r#"{"longhaul": {"compaction": {"keep": "25%", "snapshotBudget": "2k", "target": 50000}}}"#,
        );
        assert_eq!(settings.keep(), Some(0.25));
        assert_eq!(settings.snapshot_budget(), Some(TokenCount(2_000)));
        assert_eq!(settings.target(), Some(TokenCount(50_000)));
        let none = compaction("");
        assert_eq!((none.keep(), none.snapshot_budget(), none.target()), (None, None, None));
    }
}
