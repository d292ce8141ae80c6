//! What servers say for themselves: their models, and the windows they give to them.

use std::time::Duration;

use longhaul_conversation::{ModelError, WindowSource};
use longhaul_providers::{
    HttpClient, HttpModel, Key, KnownProvider, Network, OfferedModel, ProviderSettings, Surroundings,
    default_model, known_providers, priced_models,
};

use super::{ChosenModel, Models};
use crate::runtime::runtime;

/// The vendor whose models have names like this.
pub fn known_model(name: &str) -> Option<&'static str> {
    let is_its = |known: &&KnownProvider| known.models.iter().any(|start| name.starts_with(start));
    known_providers().iter().find(is_its).map(|known| known.name)
}

/// The wait for a list of models.
const LISTING: Duration = Duration::from_secs(5);
/// The wait for a window at the start of a conversation.
const STARTING: Duration = Duration::from_secs(2);
/// The wait for a server on its usual port of this machine.
const LOOKING: Duration = Duration::from_millis(300);

/// A provider and what its server offers.
#[derive(Debug)]
pub struct ProviderOffers {
    /// The provider's name.
    pub provider: String,
    /// The host of its endpoint.
    pub host: String,
    /// The models of the server, or why they cannot be told.
    pub offered: Result<Vec<OfferedModel>, ModelError>,
}

impl Models<'_> {
    /// What the servers offer of all providers that can be asked: those with a key, and those that run on this machine. A
    /// server on its usual port that does not answer is left out.
    ///
    /// # Errors
    /// Fails if nothing can wait for the network.
    pub fn offers(&self, only: Option<&str>) -> anyhow::Result<Vec<ProviderOffers>> {
        let asked = self.providers.all().iter().filter(|provider| {
            only.is_none_or(|only| only == provider.name)
                && provider.is_callable()
                && self.unconfirmed.iter().all(|(name, _)| *name != provider.name)
        });
        let asked: Vec<_> = asked.collect();
        let offers = runtime()?.block_on(async {
            let ask = |provider: &ProviderSettings| {
                let server = self.server(provider);
                async move {
                    let patience = if server.provider().endpoint.is_local() { LOOKING } else { LISTING };
                    server.offered(patience).await
                }
            };
            let mut offers = Vec::new();
            for provider in &asked {
                offers.push((*provider, ask(provider).await));
            }
            offers
        });
        let is_silent = |provider: &ProviderSettings, offered: &Result<_, ModelError>| {
            !self.providers.is_set_up(provider) && offered.is_err()
        };
        let offers = offers.into_iter().filter(|(provider, offered)| !is_silent(provider, offered));
        let offers = offers.map(|(provider, offered)| ProviderOffers {
            provider: provider.name.clone(),
            host: provider.endpoint.host().to_string(),
            offered,
        });
        Ok(offers.collect())
    }

    /// The model of a provider to talk to where none is named, as far as that is known without asking.
    pub fn usual_model(&self, provider: &str) -> Option<&str> {
        self.providers.usual_model(self.providers.named(provider)?)
    }

    /// The vendors that there is no key for, with the variables that would hold it.
    pub fn without_key(&self) -> Vec<(String, Vec<String>)> {
        let lacking = self.providers.all().iter().filter(|provider| !provider.is_callable());
        let lacking = lacking.filter_map(|provider| match &provider.key {
            Key::Missing { looked_at } => Some((provider.name.clone(), looked_at.clone())),
            _ => None,
        });
        lacking.collect()
    }

    /// The models in the tables of prices and windows, by provider.
    pub fn known_by_provider(&self) -> Vec<(String, Vec<&'static str>)> {
        let names = |provider: &ProviderSettings| {
            priced_models()
                .filter(|name| known_model(name) == Some(provider.name.as_str()))
                .collect::<Vec<_>>()
        };
        let all = self.providers.all().iter().map(|provider| (provider.name.clone(), names(provider)));
        all.filter(|(_, names)| !names.is_empty()).collect()
    }

    /// A name for the model of a provider to talk to where none is named: the usual one, else the first that its server offers.
    pub(super) fn default_of(&self, provider: &ProviderSettings) -> Option<String> {
        let first = || {
            let offered = runtime().ok()?.block_on(self.server(provider).offered(STARTING)).ok()?;
            let vendors = default_model(&provider.name);
            let usual = offered.iter().find(|model| vendors == Some(model.name.as_str()));
            usual.or(offered.first()).map(|model| model.name.clone())
        };
        let usual = self.providers.usual_model(provider).map(str::to_string);
        Some(format!("{}/{}", provider.name, usual.or_else(first)?))
    }

    /// A model of a server that answers on its usual port of this machine, though nothing names it.
    pub(super) fn local_model(&self) -> Option<String> {
        let runtime = runtime().ok()?;
        let local = self.providers.all().iter().filter(|provider| provider.endpoint.is_local());
        local.into_iter().find_map(|provider| {
            let offered = runtime.block_on(self.server(provider).offered(LOOKING)).ok()?;
            Some(format!("{}/{}", provider.name, offered.first()?.name))
        })
    }

    /// Asks the server for the window of a model that is in no table and no settings.
    pub fn ask_window(&self, chosen: &mut ChosenModel) {
        if !chosen.is_window_assumed {
            return;
        }
        let server = self.server(chosen.http.provider());
        let asked = runtime().map(|runtime| runtime.block_on(server.served_window(&chosen.name, STARTING)));
        if let Ok(Some(window)) = asked {
            chosen.window = window;
            chosen.window_source = WindowSource::Server;
            chosen.is_window_assumed = false;
        }
    }

    /// The server of a provider, with connections that end with the question.
    fn server(&self, provider: &ProviderSettings) -> HttpModel {
        let network = Network { connect_timeout: STARTING, ..self.network.clone() };
        HttpModel::new(provider.clone(), HttpClient::new(network), Surroundings::system())
    }
}
