//! The providers in settings and environment.

use std::collections::BTreeMap;

use anyhow::anyhow;
use longhaul_conversation::ModelError;
use longhaul_providers::{
    AnswerLimits, CacheWriting, Choice, Endpoint, Key, MicroDollars, ModelSettings, Prices, ProviderSettings,
    Rates, choose, default_model, known_prices, known_providers,
};
use longhaul_wire::WireFormat;

use crate::failure::hinted;
use crate::settings::{ConfiguredModel, ConfiguredProvider};

/// The providers that can be asked.
#[derive(Clone, Debug)]
pub struct Providers {
    all: Vec<ProviderSettings>,
    /// The provider for models that none claims.
    fallback: Option<String>,
    /// The models that the settings name for providers, to talk to where no model is named.
    usual: BTreeMap<String, String>,
}

impl Providers {
    /// The three vendors and the providers in the settings. A variable overrides the settings.
    pub(super) fn new(
        stated: &[ConfiguredProvider],
        limits: AnswerLimits,
        variable: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let nothing = ConfiguredProvider::default();
        let mut all = Vec::new();
        for known in known_providers() {
            let stated = stated.iter().find(|stated| stated.name == known.name).unwrap_or(&nothing);
            let keys = match key_variable(stated)? {
                Some(own) => vec![own],
                None => known.key_variables.iter().map(|name| (*name).to_string()).collect(),
            };
            let format = format_of(stated).unwrap_or(known.format);
            let address = known.endpoint_variable.and_then(|name| Some((variable(name)?, name.to_string())));
            let endpoint = match endpoint_of(stated, address)? {
                Some(endpoint) => endpoint,
                None if format == known.format => Endpoint::parse(known.endpoint)?,
                None => Endpoint::usual(format),
            };
            let mut provider = ProviderSettings::at(known.name, format, endpoint, find_key(&keys, &variable));
            provider.models = models_of(stated);
            provider.limits = limits;
            provider.idle = stated.idle.unwrap_or(provider.idle);
            all.push(provider);
        }
        for own in
            stated.iter().filter(|stated| known_providers().iter().all(|known| known.name != stated.name))
        {
            let Some(endpoint) = endpoint_of(own, None)? else {
                let error = anyhow!("longhaul.providers.{} has no endpoint", own.name);
                return Err(hinted(error, "set it, such as \"endpoint\": \"http://localhost:11434/v1\""));
            };
            // The key of another vendor is none of its business.
            let usual =
                format!("{}_API_KEY", own.name.to_uppercase().replace(|c: char| !c.is_alphanumeric(), "_"));
            let key = find_key(&[key_variable(own)?.unwrap_or(usual)], &variable);
            let format = format_of(own).unwrap_or(WireFormat::OpenAi);
            let mut provider = ProviderSettings::at(&own.name, format, endpoint, key);
            provider.models = models_of(own);
            provider.limits = limits;
            provider.idle = own.idle.unwrap_or(provider.idle);
            all.push(provider);
        }
        let fallback = fallback(&all, stated, variable("OPENAI_BASE_URL").is_some());
        let usual = stated.iter().filter_map(|stated| Some((stated.name.clone(), stated.model.clone()?)));
        Ok(Self { all, fallback, usual: usual.collect() })
    }

    /// The provider and the model that a name means.
    pub(super) fn choose<'a>(&'a self, name: &'a str) -> Result<Choice<'a>, ModelError> {
        choose(name, &self.all, self.fallback.as_deref())
    }

    /// The name of the provider that a recorded model is one of.
    pub fn provider_of(&self, model: &str) -> Option<&str> {
        let name = choose(model, &self.all, self.fallback.as_deref()).ok()?.provider.name.as_str();
        // The choice borrows the model's name, too.
        self.all.iter().map(|provider| provider.name.as_str()).find(|known| *known == name)
    }

    /// A name that means this choice, with the provider only where it is needed.
    pub(super) fn full_name(&self, choice: &Choice<'_>) -> String {
        let Choice { provider, model } = choice;
        match self.choose(model) {
            Ok(again) if again.provider.name == provider.name && again.model == *model => model.to_string(),
            _ => format!("{}/{model}", provider.name),
        }
    }

    /// Returns true if there is a key for a provider, or if the user set its address.
    pub(super) fn is_set_up(&self, provider: &ProviderSettings) -> bool {
        matches!(provider.key, Key::Given(_)) || !Self::is_usual(provider)
    }

    /// Returns true if a provider is one of those known without settings, at its own address.
    fn is_usual(provider: &ProviderSettings) -> bool {
        let known = known_providers().iter().find(|known| known.name == provider.name);
        known
            .and_then(|known| Endpoint::parse(known.endpoint).ok())
            .is_some_and(|usual| usual == provider.endpoint)
    }

    /// All of them, vendors first.
    pub(super) fn all(&self) -> &[ProviderSettings] {
        &self.all
    }

    /// The provider with this name.
    pub(super) fn named(&self, name: &str) -> Option<&ProviderSettings> {
        self.all.iter().find(|provider| provider.name == name)
    }

    /// The provider to talk to where nothing is named: the first with a key, else the server that the user set.
    pub(super) fn preferred(&self) -> Option<&ProviderSettings> {
        let with_key = self.all.iter().find(|provider| matches!(provider.key, Key::Given(_)));
        with_key.or_else(|| self.named(self.fallback.as_deref()?))
    }

    /// The model of a provider to talk to where none is named: that of the settings, else the usual one of a vendor. Many servers
    /// follow OpenAI, and what one at another address has only it can tell.
    pub(super) fn usual_model(&self, provider: &ProviderSettings) -> Option<&str> {
        let set = self.usual.get(&provider.name).map(String::as_str);
        let is_known = provider.format != WireFormat::OpenAi || Self::is_usual(provider);
        set.or_else(|| default_model(&provider.name).filter(|_| is_known))
    }
}

/// A server that follows OpenAI may have any model; so may the only provider that the user adds.
fn fallback(
    all: &[ProviderSettings],
    stated: &[ConfiguredProvider],
    is_openai_elsewhere: bool,
) -> Option<String> {
    let is_stated = |name: &str| stated.iter().any(|stated| stated.name == name && stated.endpoint.is_some());
    if is_openai_elsewhere || is_stated("openai") {
        return Some("openai".to_string());
    }
    let is_vendor = |name: &str| default_model(name).is_some();
    let own: Vec<_> =
        all.iter().filter(|provider| !is_vendor(&provider.name) && is_stated(&provider.name)).collect();
    match own[..] {
        [only] => Some(only.name.clone()),
        _ => None,
    }
}

fn format_of(stated: &ConfiguredProvider) -> Option<WireFormat> {
    WireFormat::from_word(stated.format.as_deref()?)
}

/// The endpoint of a provider: that of a variable, else that of the settings.
fn endpoint_of(
    stated: &ConfiguredProvider,
    variable: Option<(String, String)>,
) -> anyhow::Result<Option<Endpoint>> {
    let in_settings =
        || stated.endpoint.as_ref().map(|(address, place)| (address.clone(), place.to_string()));
    let Some((address, place)) = variable.or_else(in_settings) else { return Ok(None) };
    let endpoint = Endpoint::parse(&address).map_err(|error| {
        hinted(anyhow!(error).context(format!("invalid endpoint in {place}")), "correct it there")
    })?;
    Ok(Some(endpoint))
}

/// The variable that the user names. An invalid name may be the key itself, so it is not repeated.
fn key_variable(stated: &ConfiguredProvider) -> anyhow::Result<Option<String>> {
    let Some(name) = &stated.key_variable else { return Ok(None) };
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && longhaul_redact::has_secret(name).is_none();
    if !is_name || name.is_empty() {
        let error = anyhow!("longhaul.providers.{}.keyVariable is not a variable name", stated.name);
        return Err(hinted(
            error,
            "name the environment variable that holds the key; keys are never read from settings",
        ));
    }
    Ok(Some(name.clone()))
}

fn find_key(names: &[String], variable: &impl Fn(&str) -> Option<String>) -> Key {
    match names.iter().find_map(|name| variable(name)) {
        Some(key) => Key::Given(key.into()),
        None => Key::Missing { looked_at: names.to_vec() },
    }
}

fn models_of(stated: &ConfiguredProvider) -> BTreeMap<String, ModelSettings> {
    let settings = |model: &ConfiguredModel| ModelSettings {
        window: model.window,
        output_reserve: model.output_reserve,
        prices: prices_of(model),
    };
    stated.models.iter().map(|model| (model.name.clone(), settings(model))).collect()
}

/// The prices that are stated, and for what is not the published ones.
fn prices_of(model: &ConfiguredModel) -> Option<Prices> {
    let [input, cached, output] = model.prices.map(|price| price.map(MicroDollars::from_dollars));
    if input.is_none() && cached.is_none() && output.is_none() {
        return None;
    }
    let known = known_prices(&model.name).map(|known| known.usual);
    let input = input.or(known.map(|known| known.input)).unwrap_or_default();
    let output = output.or(known.map(|known| known.output)).unwrap_or_default();
    let writing = known.and_then(|known| known.writing).map(|_| CacheWriting::of(input));
    Some(Prices { usual: Rates { input, cached, writing, output }, long: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Provenance;
    use longhaul_conversation::TokenCount;
    use std::time::Duration;

    fn stated(name: &str, endpoint: &str) -> ConfiguredProvider {
        let endpoint = (!endpoint.is_empty()).then(|| (endpoint.to_string(), Provenance::Default));
        ConfiguredProvider { name: name.into(), endpoint, ..ConfiguredProvider::default() }
    }

    fn providers(stated: &[ConfiguredProvider], variables: &[(&str, &str)]) -> Providers {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_string())
        };
        Providers::new(stated, AnswerLimits::default(), variable).expect("providers")
    }

    #[track_caller]
    fn check(providers: &Providers, name: &str, provider: &str, endpoint: &str, key: &str) {
        let choice = providers.choose(name).expect(name);
        let key_seen = match &choice.provider.key {
            Key::Given(_) => "given".to_string(),
            Key::NotNeeded => "none".to_string(),
            Key::Missing { looked_at } => looked_at.join(" "),
        };
        let seen = (choice.provider.name.as_str(), choice.provider.endpoint.host(), key_seen.as_str());
        assert_eq!(seen, (provider, endpoint, key), "{name}");
    }

    #[test]
    fn vendors_are_where_they_usually_are() {
        let none = providers(&[], &[]);
        let google = "generativelanguage.googleapis.com";
        check(&none, "auto", "gemini", google, "GEMINI_API_KEY GOOGLE_API_KEY");
        check(&none, "claude-opus-4-5", "anthropic", "api.anthropic.com", "ANTHROPIC_API_KEY");
        let keys = providers(&[], &[("GEMINI_API_KEY", " "), ("GOOGLE_API_KEY", "k")]);
        check(&keys, "flash", "gemini", google, "given");
        assert!(none.choose("llama3").is_err());
    }

    #[test]
    fn variables_win_over_settings_and_settings_over_what_is_usual() {
        let settings = [stated("openai", "http://settings:1/v1")];
        check(&providers(&settings, &[]), "gpt-5", "openai", "settings:1", "OPENAI_API_KEY");
        let both = providers(&settings, &[("OPENAI_BASE_URL", "http://variable:2/v1")]);
        check(&both, "gpt-5", "openai", "variable:2", "OPENAI_API_KEY");
        check(&both, "llama3", "openai", "variable:2", "OPENAI_API_KEY");
    }

    #[test]
    fn a_provider_of_ones_own_never_sees_the_key_of_another() {
        let keys = [("OPENAI_API_KEY", "secret")];
        let open_router = [stated("open-router", "https://openrouter.ai/api/v1")];
        check(
            &providers(&open_router, &keys),
            "llama3",
            "open-router",
            "openrouter.ai",
            "OPEN_ROUTER_API_KEY",
        );
        let named = [ConfiguredProvider { key_variable: Some("MY_KEY".into()), ..open_router[0].clone() }];
        let given = providers(&named, &[("MY_KEY", "k")]);
        check(&given, "llama3", "open-router", "openrouter.ai", "given");
    }

    #[test]
    fn names_are_found_again() {
        let model = ConfiguredModel {
            name: "qwen3:8b".into(),
            window: Some(TokenCount(9)),
            ..ConfiguredModel::default()
        };
        let ollama = ConfiguredProvider { models: vec![model], ..stated("ollama", "http://localhost:1/v1") };
        let both = providers(&[ollama, stated("other", "http://localhost:2/v1")], &[]);
        for (name, full) in [
            ("qwen3:8b", "qwen3:8b"),
            ("ollama/qwen3:8b", "qwen3:8b"),
            ("other/llama3", "other/llama3"),
            ("other/gpt-5", "other/gpt-5"),
            ("flash", "gemini-3-flash-preview"),
        ] {
            assert_eq!(both.full_name(&both.choose(name).expect(name)), full);
        }
        assert_eq!(both.choose("qwen3:8b").expect("known").provider.window("qwen3:8b"), TokenCount(9));
    }

    #[test]
    fn any_one_key_has_a_model() {
        let usual = |stated: &[ConfiguredProvider], variables: &[(&str, &str)]| {
            let all = providers(stated, variables);
            let provider = all.preferred()?;
            Some((provider.name.clone(), all.usual_model(provider).map(str::to_string)))
        };
        let of = |provider: &str, model: &str| Some((provider.to_string(), Some(model.to_string())));
        assert_eq!(usual(&[], &[]), None);
        assert_eq!(usual(&[], &[("ANTHROPIC_API_KEY", "k")]), of("anthropic", "claude-sonnet-5-5"));
        assert_eq!(usual(&[], &[("OPENAI_API_KEY", "k")]), of("openai", "gpt-5.2"));
        let both = [("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        assert_eq!(usual(&[], &both), of("gemini", "gemini-3.1-pro-preview"));
        let mine = [ConfiguredProvider { model: Some("claude-opus-4-5".into()), ..stated("anthropic", "") }];
        assert_eq!(usual(&mine, &[("ANTHROPIC_API_KEY", "k")]), of("anthropic", "claude-opus-4-5"));
        // What a server of one's own has, only it can tell.
        let local = [("OPENAI_BASE_URL", "http://localhost:9/v1")];
        assert_eq!(usual(&[], &local), Some(("openai".to_string(), None)));
        assert_eq!(usual(&[stated("mine", "http://x.test")], &[]), Some(("mine".to_string(), None)));
    }

    #[test]
    fn endpoints_that_are_none_are_named_by_their_place() {
        let error = Providers::new(&[], AnswerLimits::default(), |name| {
            (name == "OPENAI_BASE_URL").then(|| "localhost".into())
        });
        let error = format!("{:#}", error.expect_err("no address"));
        assert!(error.contains("OPENAI_BASE_URL"), "{error}");
        let error =
            Providers::new(&[stated("mine", "")], AnswerLimits::default(), |_| None).expect_err("nowhere");
        assert!(error.to_string().contains("longhaul.providers.mine has no endpoint"), "{error}");
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_not_repeated() {
        let google = ["AIza", "SyB3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1"].concat();
        for (provider, name) in
            [("mine", "sk-secret-1"), ("openai", "sk-secret-1"), ("mine", ""), ("gemini", google.as_str())]
        {
            let mut stated = stated(provider, "https://x.test/v1");
            stated.key_variable = Some(name.into());
            let error = format!(
                "{:#}",
                Providers::new(&[stated], AnswerLimits::default(), |_| None).expect_err(name)
            );
            assert!(error.contains(&format!("{provider}.keyVariable is not a variable name")), "{error}");
            assert!(!error.contains("secret") && !error.contains("AIza"), "{error}");
        }
    }

    #[test]
    fn retries_are_each_providers_own() {
        let hasty =
            ConfiguredProvider { idle: Some(Duration::from_secs(7)), ..stated("mine", "http://localhost:1") };
        let both = providers(&[hasty], &[]);
        assert_eq!(both.choose("mine/m").expect("known").provider.idle, Duration::from_secs(7));
        assert_eq!(both.choose("gemini/m").expect("known").provider.idle, Duration::from_secs(180));
    }

    #[test]
    fn stated_prices_win_over_published_ones() {
        let model =
            |name: &str, prices| ConfiguredModel { name: name.into(), prices, ..ConfiguredModel::default() };
        let dollars = |model: &ConfiguredModel| {
            prices_of(model)
                .map(|prices| [prices.usual.input, prices.usual.output].map(MicroDollars::as_dollars))
        };
        assert_eq!(dollars(&model("gpt-5", [None; 3])), None);
        assert_eq!(dollars(&model("gpt-5", [Some(1.0), None, None])), Some([1.0, 10.0]));
        assert_eq!(dollars(&model("mine", [Some(1.0), None, Some(2.0)])), Some([1.0, 2.0]));
    }
}
