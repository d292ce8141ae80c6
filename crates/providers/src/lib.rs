//! Speaks to models over the network: Gemini, everything that follows OpenAI, and Anthropic.
//!
//! [`choose`] finds the provider and the model that a name means; [`HttpModel`] is that provider as a
//! [`longhaul_conversation::Model`]: it encodes a request, sends it, tries again while nothing was shown, and decodes
//! the answer as it arrives. Dropping the stream cancels the call. What a vendor sends that Longhaul does not model
//! (signatures of thoughts, cache marks, reasoning) travels with the parts and goes back as it came.
//!
//! Requests are encoded and answers decoded by [`longhaul_wire`]. The crate reads no environment: settings, proxies, the
//! clock and the dice are values passed in.
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use longhaul_conversation::{Message, Model, Part, Request, ResponseEvent, Role};
//! use longhaul_providers::{HttpClient, HttpModel, Key, Network, ProviderSettings, Surroundings, choose};
//! use longhaul_wire::WireFormat;
//!
//! # async fn ask(key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let providers = [ProviderSettings::usual(WireFormat::Gemini, Key::Given(key.into()))];
//! let choice = choose("flash", &providers, None)?;
//! let model = HttpModel::new(choice.provider.clone(), HttpClient::new(Network::default()), Surroundings::system());
//!
//! let question = Message::new("u1", Role::User, vec![Part::user_text("Say hi.")]);
//! let request = Request { model: choice.model.into(), messages: vec![question], ..Request::default() };
//! let mut events = model.stream(request);
//! while let Some(event) = events.next().await {
//!     if let ResponseEvent::TextDelta(text) = event? {
//!         print!("{text}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod client;
mod data;
mod failure;
mod http;
mod known;
mod limits;
mod names;
mod offers;
mod prices;
mod retry;
mod settings;
mod watch;

pub use client::HttpModel;
pub use http::{
    Certificates, CertificatesError, Connection, Dial, DialError, Dialling, HttpClient, Io, Network, Proxies,
    Reach, RelayBody, RelayClient, RelayError, Target,
};
pub use known::{KnownProvider, known_providers};
pub use limits::AnswerLimits;
pub use names::{Choice, choose, compressor_for, default_model, model_aliases};
pub use offers::OfferedModel;
pub use prices::{CacheWriting, MicroDollars, Prices, Rates, cost, known_prices, priced_models, prices_at};
pub use retry::{RetrySettings, Surroundings, Waiting};
pub use settings::{Endpoint, EndpointError, Key, ModelSettings, ProviderSettings};
