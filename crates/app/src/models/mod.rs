//! The available models: providers from settings and environment, and the model that a name refers to.

mod offers;
mod providers;
mod snapshots;
mod window;

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use longhaul_agent::ModelProfile;
use longhaul_conversation::{
    Message, ModelError, Request, SpendMeter, TokenCount, WindowSource, context_window, known_models,
};
use longhaul_engine::{BoxFuture, Counter};
use longhaul_providers::{
    HttpClient, HttpModel, Key, MicroDollars, Network, Prices, Surroundings, Waiting, known_providers,
};
use longhaul_workspace::{TrustQuery, TrustedFolders};

pub use self::providers::Providers;
use crate::environment;
use crate::failure::hinted;
use crate::network::load_network;
use crate::settings::Settings;

pub use offers::{ProviderOffers, known_model};
pub use snapshots::{SnapshotWriter, compaction_model, priced};
pub(crate) use window::calibration_file;
pub use window::{ContextWindow, known_scale};

/// A model, ready to be asked.
#[derive(Clone, Debug)]
pub struct ChosenModel {
    /// Its provider.
    pub http: HttpModel,
    /// Its name, as its provider knows it.
    pub name: String,
    /// The name that finds it again.
    pub full_name: String,
    /// Its context window.
    pub window: TokenCount,
    /// True if that is assumed, because it is neither known nor set.
    pub is_window_assumed: bool,
    /// The origin of its size.
    pub(crate) window_source: WindowSource,
    /// The part of it that must be left for the answer.
    pub(crate) output_reserve: Option<TokenCount>,
    /// Its prices, where known.
    pub prices: Option<Prices>,
}

impl ChosenModel {
    /// The name of its provider.
    pub fn provider(&self) -> &str {
        &self.http.provider().name
    }

    /// Sets the window that the user states.
    pub fn set_window(&mut self, window: TokenCount) {
        self.window = window;
        self.window_source = WindowSource::Stated;
        self.is_window_assumed = false;
    }

    /// Its profile for an agent.
    pub fn profile(&self) -> ModelProfile {
        ModelProfile {
            name: self.name.clone(),
            recorded_as: self.full_name.clone(),
            window: self.window,
            output_reserve: self.output_reserve,
        }
    }

    /// The cost of a call, in dollars.
    pub fn cost(&self, usage: &longhaul_conversation::Usage) -> Option<f64> {
        longhaul_providers::cost(usage, self.prices.as_ref()?).map(MicroDollars::as_dollars)
    }
}

/// Counts a conversation as its provider does.
impl Counter for ChosenModel {
    fn count<'a>(
        &'a self,
        messages: &'a [Message],
        meter: &'a SpendMeter,
    ) -> BoxFuture<'a, Result<TokenCount, ModelError>> {
        let request = Request {
            model: self.name.clone(),
            messages: messages.to_vec(),
            meter: meter.clone(),
            ..Request::default()
        };
        Box::pin(async move {
            let reason = "this provider cannot count tokens".to_string();
            self.http.count(request).await?.ok_or(ModelError::Refused { reason })
        })
    }
}

/// The models that a session names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionModels {
    /// The one that the user chose for it.
    pub chosen: Option<String>,
    /// The one that answered last.
    pub last: Option<String>,
}

/// Ways to reach models.
pub struct Models<'s> {
    providers: Providers,
    /// Providers whose address waits for the user's confirmation, with the variable that sets it.
    unconfirmed: Vec<(&'static str, &'static str)>,
    client: HttpClient,
    network: Network,
    settings: &'s Settings,
    tell: WaitListener,
}

/// Receives the reason for a wait.
pub type WaitListener = Arc<dyn Fn(&str) + Send + Sync>;

impl<'s> Models<'s> {
    /// The models that settings and environment offer. Nothing is connected yet. `warn` receives what is ignored, `tell` the
    /// reason for a wait.
    pub fn load(
        settings: &'s Settings,
        ca_file: Option<&Path>,
        tell: WaitListener,
        warn: impl Fn(&str),
    ) -> anyhow::Result<Self> {
        let (providers, unconfirmed) = load_providers(settings, warn)?;
        let network = load_network(settings, ca_file)?;
        let client = HttpClient::new(network.clone());
        Ok(Self { providers, unconfirmed, client, network, settings, tell })
    }

    /// The model that a name means. One whose key is missing is an error.
    pub fn choose(&self, name: &str) -> Result<ChosenModel, ModelError> {
        let choice = self.providers.choose(name)?;
        let provider = choice.provider;
        // What was meant for another server does not go to the vendor instead.
        if let Some((_, variable)) = self.unconfirmed.iter().find(|(name, _)| *name == provider.name) {
            return Err(ModelError::Unreachable {
                host: format!("the address in {variable}"),
                reason:
                    "the project's .env changed it since the folder was trusted (run `longhaul trust add`)"
                        .to_string(),
            });
        }
        if let Key::Missing { looked_at } = &provider.key
            && !provider.endpoint.is_local()
        {
            return Err(ModelError::NoKey { provider: provider.name.clone(), looked_at: looked_at.clone() });
        }
        let stated = provider.models.get(choice.model).and_then(|model| model.window);
        let stated = stated.or_else(|| self.settings.window(choice.model));
        let (window, source) = context_window(Some(choice.model), stated);
        let tell = Arc::clone(&self.tell);
        let http = HttpModel::new(provider.clone(), self.client.clone(), Surroundings::system());
        Ok(ChosenModel {
            http: http.on_wait(move |waiting| tell(&in_words(&waiting))),
            name: choice.model.to_string(),
            full_name: self.providers.full_name(&choice),
            window,
            is_window_assumed: source == WindowSource::Fallback,
            window_source: source,
            output_reserve: provider.output_reserve(choice.model),
            prices: provider.prices(choice.model),
        })
    }

    /// The providers, to find out whose a recorded model is.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    /// The names of known models that could be asked now.
    pub fn known(&self) -> Vec<String> {
        // Some entries stand for every name that begins like this.
        let names = known_models().map(|(name, _)| name).filter(|name| !name.ends_with('-'));
        names.filter(|name| self.choose(name).is_ok()).map(str::to_string).collect()
    }

    /// The name of the model to talk to: the requested one, else the one chosen for the session, else that of the settings, else
    /// the one that answered in the session.
    pub fn name_for_talk<'a>(
        &'a self,
        asked: Option<&'a str>,
        session: &'a SessionModels,
    ) -> Option<&'a str> {
        asked.or(session.chosen.as_deref()).or(self.settings.model()).or(session.last.as_deref())
    }

    /// The model to talk to: the one that [`Models::name_for_talk`] names, else the usual one of the first provider that there is
    /// a key for. The name of a provider stands for its usual model.
    pub fn choose_for_talk(
        &self,
        asked: Option<&str>,
        session: &SessionModels,
    ) -> anyhow::Result<ChosenModel> {
        let Some(name) = self.name_for_talk(asked, session) else { return self.choose_unnamed() };
        if let Some(provider) = self.providers.named(name)
            && let Some(usual) = self.default_of(provider)
        {
            return self.choose(&usual).map_err(explained);
        }
        self.choose(name).map_err(|error| match asked {
            Some(_) => explained(error),
            // Whoever named no model may not know which one this is.
            None => {
                let hint = format!("{}, or pass another model with -m", error.hint().trim_end_matches('?'));
                hinted(error, hint)
            }
        })
    }

    /// The usual model, where nothing names one.
    fn choose_unnamed(&self) -> anyhow::Result<ChosenModel> {
        if let Some(provider) = self.providers.preferred() {
            let Some(usual) = self.default_of(provider) else {
                let error = anyhow!("no model is set, and {} offers none", provider.endpoint.host());
                return Err(hinted(error, "start the server and load a model, or name one with -m"));
            };
            return self.choose(&usual).map_err(explained);
        }
        let error = anyhow!("no model is set, and no provider has a key");
        let keys = "set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY";
        Err(match self.local_model() {
            Some(model) => {
                hinted(error, format!("a server on this machine has one: pass -m {model}; or {keys}"))
            }
            None => hinted(error, format!("{keys}, or start a local server such as Ollama")),
        })
    }
}

/// The error, with a hint if no provider has the model.
pub fn explained(error: ModelError) -> anyhow::Error {
    let ModelError::UnknownModel { nearest, .. } = &error else { return error.into() };
    const OWN: &str = "to use your own server, set OPENAI_BASE_URL, or longhaul.providers in settings.json";
    let hint = if nearest.is_empty() { OWN.to_string() } else { format!("{} {OWN}", error.hint()) };
    hinted(error, hint)
}

/// The reason for a wait, so that nobody wonders why nothing happens.
fn in_words(Waiting { error, wait }: &Waiting<'_>) -> String {
    format!("{error}; retrying in {:.0} s", wait.as_secs_f64())
}

/// The providers. Those of an untrusted folder are ignored: keys would be sent wherever it says.
fn load_providers(
    settings: &Settings,
    warn: impl Fn(&str),
) -> anyhow::Result<(Providers, Vec<(&'static str, &'static str)>)> {
    let environment = environment::of_process();
    let mut stated = settings.providers();
    if let Some(home) = environment::home(&environment)? {
        let users = settings.only(&home.settings());
        let cwd = std::env::current_dir().unwrap_or_default();
        let query = TrustQuery { is_enabled: users.needs_trust(), ..TrustQuery::about(&cwd) };
        let rules = TrustedFolders::at(home.trusted_folders());
        let is_users = stated == users.providers();
        if !is_users && !rules.decide(&query.in_environment(&environment))?.is_trusted() {
            warn("the providers in this folder's settings are ignored: the folder is not trusted");
            stated = users.providers();
        }
    }
    let has_endpoint =
        |name: &str| stated.iter().any(|provider| provider.name == name && provider.endpoint.is_some());
    let unconfirmed = known_providers().iter().filter_map(|known| {
        let variable = known.endpoint_variable?;
        let waits = settings.variables().awaits_confirmation(variable) && !has_endpoint(known.name);
        waits.then_some((known.name, variable))
    });
    let unconfirmed = unconfirmed.collect();
    let providers = Providers::new(&stated, settings.answer_limits(), |name| settings.variable(name))?;
    Ok((providers, unconfirmed))
}
