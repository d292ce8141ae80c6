//! Settings of providers.

use std::time::Duration;

use longhaul_conversation::TokenCount;
use serde_json::Value;

use super::kind;
use super::layers::Settings;
use super::provenance::Provenance;

/// A provider in the settings. What is not set has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfiguredProvider {
    /// Its name.
    pub name: String,
    /// Its wire format.
    pub(crate) format: Option<String>,
    /// Its address, and the place where that was set.
    pub(crate) endpoint: Option<(String, Provenance)>,
    /// The variable that holds its key.
    pub(crate) key_variable: Option<String>,
    /// The model to talk to where none is named.
    pub(crate) model: Option<String>,
    /// The time without data after which a call fails.
    pub(crate) idle: Option<Duration>,
    /// Its models.
    pub models: Vec<ConfiguredModel>,
}

/// A model in the settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfiguredModel {
    /// Its name.
    pub name: String,
    /// Its context window.
    pub window: Option<TokenCount>,
    /// The part of it that is left for the answer.
    pub(crate) output_reserve: Option<TokenCount>,
    /// The prices of a million tokens in dollars: input, cached, output.
    pub prices: [Option<f64>; 3],
}

const SECTION: [&str; 2] = ["longhaul", "providers"];

impl Settings {
    /// The providers in the settings, in the order in which they are first named.
    pub(crate) fn providers(&self) -> Vec<ConfiguredProvider> {
        self.names(&SECTION).into_iter().map(|name| self.provider(name)).collect()
    }

    fn provider(&self, name: &str) -> ConfiguredProvider {
        let steps = |rest: &[&'static str]| [&SECTION[..], &[name], rest].concat();
        let text = |key| self.text(&steps(&[key])).map(str::to_string);
        let endpoint = text("endpoint").map(|endpoint| {
            let set = self.find(&steps(&["endpoint"]));
            (endpoint, set.map_or(Provenance::Default, |(source, node)| Provenance::of(source, node)))
        });
        let models = self.names(&steps(&["models"])).into_iter().map(|model| self.stated_model(name, model));
        ConfiguredProvider {
            name: name.to_string(),
            format: text("format"),
            endpoint,
            key_variable: text("keyVariable"),
            model: text("model"),
            idle: self.value(&steps(&["idleSeconds"])).and_then(kind::seconds),
            models: models.collect(),
        }
    }

    fn stated_model(&self, provider: &str, model: &str) -> ConfiguredModel {
        let value = |rest: &[&str]| {
            let value = self.value(&[&SECTION[..], &[provider, "models", model], rest].concat());
            value.unwrap_or(&Value::Null)
        };
        ConfiguredModel {
            name: model.to_string(),
            window: kind::tokens(value(&["window"])),
            output_reserve: kind::tokens(value(&["outputReserve"])),
            prices: ["input", "cached", "output"].map(|price| kind::price(value(&["prices", price]))),
        }
    }

    /// The names in a section, over all layers, except those reset by null.
    pub(super) fn names(&self, section: &[&str]) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for layer in &self.layers {
            let node = section.iter().try_fold(&layer.root, |node, step| node.get(step));
            for (name, _) in node.into_iter().flat_map(|node| node.entries()) {
                let is_set = self.find(&[section, &[name.as_str()]].concat()).is_some();
                if is_set && !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;
    use std::path::Path;

    fn providers(files: &[&str]) -> Vec<ConfiguredProvider> {
        let mut loaded = LoadedSettings::default();
        for (at, text) in files.iter().enumerate() {
            loaded.add(Path::new(&format!("{at}.json")).into(), text.as_bytes()).expect("settings");
        }
        assert_eq!(loaded.warnings, []);
        loaded.settings.providers()
    }

    #[test]
    fn providers_are_merged_over_the_files() {
        let user = r#"{"longhaul": {"providers": {
            "ollama": {"endpoint": "http://localhost:11434/v1", "models": {"qwen3:8b": {"window": "32k"}}},
            "gone": {"endpoint": "http://x"}}}}"#;
        let work = r#"{"longhaul": {"providers": {"gone": null, "ollama": {"keyVariable": "K", "models": {
            "qwen3:8b": {"outputReserve": 4000, "prices": {"input": 1, "output": 2.5}}, "b": {}}}}}}"#;
        let [ollama] = providers(&[user, work]).try_into().expect("one provider");
        let at = ollama.endpoint.as_ref().map(|(endpoint, place)| (endpoint.as_str(), place.to_string()));
        assert_eq!(at, Some(("http://localhost:11434/v1", "0.json:2".to_string())));
        assert_eq!((ollama.name.as_str(), ollama.key_variable.as_deref()), ("ollama", Some("K")));
        let model = ConfiguredModel {
            name: "qwen3:8b".into(),
            window: Some(TokenCount(32_000)),
            output_reserve: Some(TokenCount(4_000)),
            prices: [Some(1.0), None, Some(2.5)],
        };
        assert_eq!(
            ollama.models,
            [model, ConfiguredModel { name: "b".into(), ..ConfiguredModel::default() }]
        );
        assert_eq!(providers(&["{}"]), []);
    }
}
