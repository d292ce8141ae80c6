//! Settings of memory.

use std::path::{Path, PathBuf};

use longhaul_memory::{
    Budgets, ContextNames, Discovery, ImportFormat, ImportRules, IncludedFolders, Labels, MemorySettings,
};
use longhaul_workspace::Ignoring;
use serde_json::Value;

use super::kind;
use super::layers::Settings;

impl Settings {
    /// Returns true if a separate agent manages memory.
    pub(crate) fn has_memory_manager(&self) -> bool {
        self.value(&["experimental", "memoryManager"]).and_then(Value::as_bool) == Some(true)
    }

    /// The settings of memory, with warnings about ignored values.
    pub fn memory(&self) -> (MemorySettings, Vec<String>) {
        let defaults = MemorySettings::default();
        let names = self.value(&["context", "fileName"]).map(texts).unwrap_or_default();
        let (names, refused) = ContextNames::of(names.iter().map(String::as_str));
        let filtering = |key: &str| self.value(&["context", "fileFiltering", key]);
        let is_on = |value: Option<&Value>, default| value.and_then(Value::as_bool).unwrap_or(default);
        let ignoring = Ignoring {
            git: is_on(filtering("respectGitIgnore"), defaults.ignoring.git),
            gemini: is_on(filtering("respectGeminiIgnore"), defaults.ignoring.gemini),
            custom: filtering("customIgnoreFilePaths")
                .map(texts)
                .unwrap_or_default()
                .into_iter()
                .map(PathBuf::from)
                .collect(),
        };
        let imports = ImportRules {
            deepest: self.count("importDepth").unwrap_or(defaults.imports.deepest),
            only_markdown: is_on(self.value(&["longhaul", "memory", "importOnlyMarkdown"]), false),
        };
        let settings = MemorySettings {
            names,
            markers: self.value(&["context", "memoryBoundaryMarkers"]).map_or(defaults.markers, texts),
            discovery: self.discovery(),
            included: match self
                .value(&["context", "loadMemoryFromIncludeDirectories"])
                .and_then(Value::as_bool)
            {
                None => defaults.included,
                Some(true) => IncludedFolders::All,
                Some(false) => IncludedFolders::None,
            },
            ignoring,
            import_format: match self.text(&["context", "importFormat"]) {
                Some("flat") => ImportFormat::Flat,
                _ => ImportFormat::Tree,
            },
            imports,
            labels: match self.text(&["longhaul", "memory", "labels"]) {
                Some("relative") => Labels::Relative,
                _ => Labels::Absolute,
            },
            budgets: self.memory_budgets(),
            stale_after_days: self
                .count("staleAfterDays")
                .and_then(|days| u32::try_from(days).ok())
                .unwrap_or(defaults.stale_after_days),
        };
        let refused = refused
            .iter()
            .map(|name| format!("context.fileName: {name:?} is ignored: not a plain file name"));
        (settings, refused.collect())
    }

    /// The folders that belong to the workspace besides `cwd`.
    pub(crate) fn included_folders(&self, cwd: &Path, user_home: Option<&Path>) -> Vec<PathBuf> {
        let folders = self.value(&["context", "includeDirectories"]).map(texts).unwrap_or_default();
        let whole = folders.iter().map(|folder| match (folder.strip_prefix("~/"), user_home) {
            (Some(inside), Some(home)) => home.join(inside),
            _ => cwd.join(folder),
        });
        whole.collect()
    }

    fn discovery(&self) -> Discovery {
        let most_folders = self.value(&["context", "discoveryMaxDirs"]).and_then(Value::as_f64);
        // Gemini CLI takes anything below 1 for its default.
        let most_folders =
            most_folders.filter(|most| *most >= 1.0).map_or(Discovery::MOST_FOLDERS, |most| most as usize);
        let on_demand = self.value(&["experimental", "jitContext"]).and_then(Value::as_bool);
        match (self.text(&["longhaul", "memory", "discovery"]), on_demand) {
            (Some("full"), _) | (None, Some(false)) => Discovery::Full { most_folders },
            _ => Discovery::Tiered,
        }
    }

    fn memory_budgets(&self) -> Budgets {
        let budget = |tier: &str| kind::tokens(self.value(&["longhaul", "memory", "budgets", tier])?);
        let defaults = Budgets::default();
        Budgets {
            global: budget("global").unwrap_or(defaults.global),
            extension: budget("extension").unwrap_or(defaults.extension),
            private: budget("private").unwrap_or(defaults.private),
            project: budget("project").unwrap_or(defaults.project),
            just_in_time: budget("justInTime").unwrap_or(defaults.just_in_time),
        }
    }

    /// A whole number of our own section, if it is not negative.
    fn count(&self, key: &str) -> Option<usize> {
        let number = self.value(&["longhaul", "memory", key]).and_then(Value::as_f64)?;
        (number >= 0.0).then_some(number as usize)
    }
}

/// A string or a list of strings.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;
    use longhaul_conversation::TokenCount;

    fn memory(text: &str) -> (MemorySettings, Vec<String>) {
        let mut loaded = LoadedSettings::default();
        loaded.add(Path::new("s.json").into(), text.as_bytes()).expect("valid");
        loaded.settings.memory()
    }

    #[test]
    fn nothing_set_leaves_the_defaults() {
        assert_eq!(memory("{}"), (MemorySettings::default(), vec![]));
    }

    #[test]
    fn each_key_has_its_effect() {
        let (set, problems) = memory(
            r#"{"context": {"fileName": ["AGENTS.md", "../x"], "importFormat": "flat", "memoryBoundaryMarkers": [],
                "loadMemoryFromIncludeDirectories": true,
                "fileFiltering": {"respectGitIgnore": true, "respectGeminiIgnore": false, "customIgnoreFilePaths": ["mine"]}},
               "longhaul": {"memory": {"importDepth": 2, "importOnlyMarkdown": true, "labels": "relative",
                "staleAfterDays": 7, "budgets": {"global": "2k", "justInTime": 5}}}}"#,
        );
        assert_eq!(set.names.first().as_str(), "AGENTS.md");
        assert_eq!(problems.len(), 1);
        assert_eq!(set.imports, ImportRules { deepest: 2, only_markdown: true });
        assert_eq!((set.import_format, set.labels), (ImportFormat::Flat, Labels::Relative));
        assert_eq!((set.markers.len(), set.included), (0, IncludedFolders::All));
        let (without, _) = memory(r#"{"context": {"loadMemoryFromIncludeDirectories": false}}"#);
        assert_eq!(without.included, IncludedFolders::None);
        assert_eq!(set.ignoring, Ignoring { git: true, gemini: false, custom: vec!["mine".into()] });
        assert_eq!((set.budgets.global, set.budgets.just_in_time), (TokenCount(2_000), TokenCount(5)));
        assert_eq!((set.budgets.project, set.stale_after_days), (Budgets::default().project, 7));
    }

    #[track_caller]
    fn check_discovery(text: &str, expected: Discovery) {
        assert_eq!(memory(text).0.discovery, expected, "{text}");
    }

    #[test]
    fn a_full_scan_is_asked_for_in_two_ways() {
        let full = |most_folders| Discovery::Full { most_folders };
        check_discovery(r#"{"experimental": {"jitContext": true}}"#, Discovery::Tiered);
        check_discovery(r#"{"experimental": {"jitContext": false}}"#, full(200));
        check_discovery(
            r#"{"longhaul": {"memory": {"discovery": "full"}}, "context": {"discoveryMaxDirs": 7}}"#,
            full(7),
        );
        // Our own key wins.
        let both =
            r#"{"longhaul": {"memory": {"discovery": "tiered"}}, "experimental": {"jitContext": false}}"#;
        check_discovery(both, Discovery::Tiered);
        check_discovery(
            r#"{"experimental": {"jitContext": false}, "context": {"discoveryMaxDirs": 0}}"#,
            full(200),
        );
    }

    #[test]
    fn included_folders_are_whole_paths() {
        let mut loaded = LoadedSettings::default();
        let text = r#"{"context": {"includeDirectories": ["../lib", "/opt/x", "~/y"]}}"#;
        loaded.add(Path::new("s.json").into(), text.as_bytes()).expect("valid");
        let folders = loaded.settings.included_folders(Path::new("/w"), Some(Path::new("/u")));
        assert_eq!(folders, ["/w/../lib", "/opt/x", "/u/y"].map(PathBuf::from));
    }
}
