//! The provider and model that a name stands for.

use std::sync::LazyLock;

use longhaul_conversation::{ModelError, known_models};

use crate::data::pairs;
use crate::known::{KnownProvider, known_providers};
use crate::settings::ProviderSettings;

/// A model and who offers it.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The provider to call.
    pub provider: &'a ProviderSettings,
    /// The model's name, as its provider knows it.
    pub model: &'a str,
}

/// Short names for models.
static ALIASES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| pairs(include_str!("data/aliases.txt")));

/// The model of each provider to talk to where none is named.
static DEFAULTS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| pairs(include_str!("data/defaults.txt")));

/// Gemini CLI's names for the models that compact conversations.
static COMPRESSORS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| pairs(include_str!("data/compressors.txt")));

/// Finds the provider for a model's name.
///
/// `provider/model` names the provider; otherwise what the user states of each provider's models counts, then how the
/// name begins, and a name that nobody knows belongs to `fallback`, where there is one.
///
/// ```
/// use longhaul_providers::{Key, ProviderSettings, choose};
/// use longhaul_wire::WireFormat;
///
/// let providers = [
///     ProviderSettings::usual(WireFormat::Gemini, Key::Given("a key".into())),
///     ProviderSettings::usual(WireFormat::Anthropic, Key::Given("another".into())),
/// ];
/// let choice = choose("flash", &providers, None)?;
/// assert_eq!((choice.provider.name.as_str(), choice.model), ("gemini", "gemini-3-flash-preview"));
/// assert_eq!(choose("claude-opus-4-5", &providers, None)?.provider.name, "anthropic");
/// # Ok::<(), longhaul_conversation::ModelError>(())
/// ```
pub fn choose<'a>(
    name: &'a str,
    providers: &'a [ProviderSettings],
    fallback: Option<&str>,
) -> Result<Choice<'a>, ModelError> {
    let named = |wanted: &str| providers.iter().find(|provider| provider.name == wanted);
    if let Some((provider, model)) = name.split_once('/')
        && let Some(provider) = named(provider)
    {
        return Ok(Choice { provider, model: resolve_alias(model) });
    }
    if let Some(provider) = providers.iter().find(|provider| provider.models.contains_key(name)) {
        return Ok(Choice { provider, model: name });
    }
    let model = resolve_alias(name);
    let has_model = |known: &&KnownProvider| known.models.iter().any(|start| model.starts_with(start));
    let usual = known_providers().iter().find(has_model).and_then(|known| {
        let of_format = || providers.iter().filter(|provider| provider.format == known.format);
        of_format().find(|provider| provider.name == known.name).or_else(|| of_format().next())
    });
    match usual.or_else(|| fallback.and_then(named)) {
        Some(provider) if !model.is_empty() => Ok(Choice { provider, model }),
        _ => Err(ModelError::UnknownModel { model: name.to_string(), nearest: nearest_models(name, &[]) }),
    }
}

/// The model of a provider to talk to where none is named; none for a server of one's own.
pub fn default_model(provider: &str) -> Option<&'static str> {
    DEFAULTS.iter().find(|(known, _)| *known == provider).map(|(_, model)| resolve_alias(model))
}

/// The short names of models, with what each stands for.
pub fn model_aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.iter().copied()
}

/// The model that a short name stands for; any other name stands for itself.
pub(crate) fn resolve_alias(name: &str) -> &str {
    let known = ALIASES.iter().chain(COMPRESSORS.iter()).find(|(alias, _)| *alias == name);
    known.map_or(name, |(_, model)| model)
}

/// Gemini CLI's name for what compacts a conversation with `model`, and the model that stands behind it. Conversations
/// with a model that is not Gemini's are compacted by that model itself.
pub fn compressor_for(model: &str) -> (&str, &str) {
    let model = resolve_alias(model);
    // The newer preview shares its predecessor's compressor.
    let wanted = if model == "gemini-3.1-pro-preview" { "gemini-3-pro-preview" } else { model };
    if let Some((alias, compressor)) = COMPRESSORS.iter().find(|(_, compressor)| *compressor == wanted) {
        return (alias, compressor);
    }
    if !model.starts_with("gemini-") {
        return (model, model);
    }
    ("chat-compression-default", resolve_alias("chat-compression-default"))
}

/// Known names that are like `name`, the most alike first: aliases, models of the tables, and `more`.
pub(crate) fn nearest_models(name: &str, more: &[&str]) -> Vec<String> {
    const ENOUGH: f64 = 0.75;
    let name = name.rsplit('/').next().unwrap_or(name);
    let aliases = ALIASES.iter().flat_map(|(alias, model)| [*alias, *model]);
    // Beginnings of names, such as `gemini-`, are no names.
    let tables = known_models().map(|(known, _)| known).filter(|known| !known.ends_with('-'));
    let priced = crate::prices::priced_models();
    let known: Vec<&str> = aliases.chain(tables).chain(priced).collect();
    let mut alike: Vec<(f64, &str)> = known
        .into_iter()
        .chain(more.iter().copied())
        .filter(|known| *known != name)
        .map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &name.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= ENOUGH)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    alike.dedup_by_key(|(_, known)| *known);
    alike.into_iter().take(3).map(|(_, known)| known.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Endpoint, Key, ModelSettings};
    use longhaul_wire::WireFormat;

    fn providers() -> Vec<ProviderSettings> {
        let mut ollama = ProviderSettings::at(
            "ollama",
            WireFormat::OpenAi,
            Endpoint::parse("http://localhost:11434/v1").expect("an address"),
            Key::NotNeeded,
        );
        ollama.models.insert("qwen3:8b".into(), ModelSettings::default());
        let usual = [WireFormat::Gemini, WireFormat::OpenAi, WireFormat::Anthropic];
        let usual = usual.map(|format| ProviderSettings::usual(format, Key::NotNeeded));
        [vec![ollama], usual.to_vec()].concat()
    }

    #[track_caller]
    fn check(name: &str, fallback: Option<&str>, expected: Option<(&str, &str)>) {
        let providers = providers();
        let seen = choose(name, &providers, fallback).ok();
        assert_eq!(seen.map(|choice| (choice.provider.name.as_str(), choice.model)), expected, "{name}");
    }

    #[test]
    fn names_choose_their_provider() {
        check("gemini-2.5-pro", None, Some(("gemini", "gemini-2.5-pro")));
        check("gpt-5", None, Some(("openai", "gpt-5")));
        check("o3", None, Some(("openai", "o3")));
        check("claude-opus-4-5", None, Some(("anthropic", "claude-opus-4-5")));
        check("pro", None, Some(("gemini", "gemini-3.1-pro-preview")));
        check("chat-compression-2.5-flash", None, Some(("gemini", "gemini-2.5-flash")));
        check("qwen3:8b", None, Some(("ollama", "qwen3:8b")));
        check("ollama/gpt-oss:20b", None, Some(("ollama", "gpt-oss:20b")));
        check("openai/org/model", None, Some(("openai", "org/model")));
    }

    #[test]
    fn what_nobody_knows_goes_to_the_fallback() {
        check("llama3", None, None);
        check("llama3", Some("ollama"), Some(("ollama", "llama3")));
        check("meta-llama/llama-3", Some("openai"), Some(("openai", "meta-llama/llama-3")));
        check("llama3", Some("nobody"), None);
        check("", Some("ollama"), None);
    }

    #[test]
    fn compressors_follow_the_model() {
        for (model, alias, compressor) in [
            ("gemini-3-pro-preview", "chat-compression-3-pro", "gemini-3-pro-preview"),
            ("gemini-3.1-pro-preview", "chat-compression-3-pro", "gemini-3-pro-preview"),
            ("flash", "chat-compression-3-flash", "gemini-3-flash-preview"),
            ("gemini-2.5-flash-lite", "chat-compression-2.5-flash-lite", "gemini-2.5-flash-lite"),
            ("gemini-9", "chat-compression-default", "gemini-3-pro-preview"),
            ("claude-opus-4-5", "claude-opus-4-5", "claude-opus-4-5"),
        ] {
            assert_eq!(compressor_for(model), (alias, compressor), "{model}");
        }
    }

    #[test]
    fn defaults_and_short_names_are_known_models_of_their_providers() {
        let providers = providers();
        for (provider, _) in DEFAULTS.iter() {
            let model = default_model(provider).expect("listed");
            assert_eq!(choose(model, &providers, None).expect(model).provider.name, *provider);
        }
        for (alias, model) in model_aliases() {
            assert!(
                crate::prices::priced_models().any(|known| known == model),
                "{alias}: no prices of {model}"
            );
        }
        assert_eq!(default_model("ollama"), None);
    }

    #[test]
    fn alike_names_are_found() {
        assert_eq!(nearest_models("gemini-2.5-flsh", &[])[0], "gemini-2.5-flash");
        assert_eq!(nearest_models("claude-opus-45", &[])[0], "claude-opus-4-5");
        assert_eq!(nearest_models("gpt4o", &[])[0], "gpt-4o");
        assert_eq!(nearest_models("qwen3:7b", &["qwen3:8b"])[0], "qwen3:8b");
        assert!(nearest_models("zzz", &[]).is_empty());
    }
}
