//! Settings of a gateway, as the program gives them.

use std::net::SocketAddr;
use std::path::PathBuf;

use longhaul_app::settings::Settings;
use longhaul_conversation::TokenCount;
use longhaul_providers::MicroDollars;

use crate::access::GatewayToken;
use crate::plan::PlanSettings;
use crate::route::Upstreams;

/// The treatment of requests by the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Passes them on as they are, records, and reports what it would do.
    #[default]
    Observe,
    /// Keeps them inside the window.
    On,
}

impl Mode {
    /// The word for it in settings and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::On => "on",
        }
    }

    /// The mode of a word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Observe, Self::On].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// Recording of what passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordSessions {
    /// Conversations become sessions, secrets replaced.
    #[default]
    On,
    /// Nothing of a conversation is kept but its anchors.
    Off,
}

/// Settings of a gateway.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The treatment of requests.
    pub mode: Mode,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// Names beside this machine's own by which it is reached.
    pub hosts: Vec<String>,
    /// The token that every request must bring.
    pub token: Option<GatewayToken>,
    /// Upstreams.
    pub upstreams: Upstreams,
    /// The folder for its database.
    pub folder: PathBuf,
    /// The window of all models, whatever they are.
    pub window: Option<TokenCount>,
    /// The decision procedure.
    pub plan: PlanSettings,
    /// True if conversations are recorded.
    pub record: RecordSessions,
    /// The most that may be spent on a day.
    pub daily_cap: Option<MicroDollars>,
    /// The user's settings: windows of models, proxies.
    pub user: Settings,
    /// The secret that credentials are hashed with, so that none is kept.
    pub secret: [u8; 32],
}
