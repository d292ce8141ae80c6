//! A gateway in front of model providers: any client's conversations stay inside the context window, and cost less.
//!
//! Requests are split into borrowed raw messages. What the first of them hash to decides what is sent in their place: an
//! anchor, made once by the offline compactor and never changed, so that the same input gives the same bytes in any process
//! and prompt caches keep working. Only the replaced range is written anew; answers and streams pass untouched. Whatever of
//! ours fails, the original goes out.
//!
//! ```no_run
//! use longhaul_app::settings::Settings;
//! use longhaul_gateway::{Family, Gateway, GatewaySettings, Mode, PlanSettings, RecordSessions, Upstream, Upstreams};
//! use longhaul_providers::Network;
//! use tokio::net::TcpListener;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn run() -> anyhow::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let mut upstreams = Upstreams::new(Some(Family::Anthropic));
//! upstreams.set(Family::Anthropic, Upstream::parse("https://api.anthropic.com")?);
//! let settings = GatewaySettings {
//!     mode: Mode::On,
//!     address: listener.local_addr()?,
//!     hosts: Vec::new(),
//!     token: None,
//!     upstreams,
//!     folder: "gateway".into(),
//!     window: None,
//!     plan: PlanSettings::default(),
//!     record: RecordSessions::On,
//!     daily_cap: None,
//!     user: Settings::load(None, std::path::Path::new(""), &Default::default())?.settings,
//!     secret: [0; 32],
//! };
//! let (gateway, _) = Gateway::new(settings, Network::default())?;
//! gateway.serve(listener, CancellationToken::new()).await?;
//! # Ok(())
//! # }
//! ```

mod access;
mod anchor;
mod answer;
mod body;
mod chain;
mod economics;
mod encoding;
mod engine;
mod facts;
mod family;
mod figures;
mod own_errors;
mod plan;
mod recipe;
mod relay;
mod rewrite;
mod route;
mod server;
mod sessions;
mod settings;
mod side_call;
mod store;
mod trunks;
mod windows;
mod worker;

pub use access::GatewayToken;
pub use family::Family;
pub use plan::{Occasion, PlanSettings};
pub use route::{Upstream, UpstreamError, Upstreams};
pub use server::{Gateway, GatewaySummary};
pub use settings::{GatewaySettings, Mode, RecordSessions};
pub use store::{AnchorRecord, ConversationRecord, Figures, Store, StoreError};
