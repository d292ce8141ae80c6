//! Figures of the gateway, as the page shows them. The program that serves the page reads it: the gateway's database is the gateway's own.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use longhaul_conversation::Timestamp;

/// Reads what the gateway did; none if it never ran.
pub struct GatewaySource(Box<dyn Fn() -> anyhow::Result<Option<GatewayStatus>> + Send + Sync>);

impl GatewaySource {
    /// A source that asks this function anew for every page.
    pub fn new(read: impl Fn() -> anyhow::Result<Option<GatewayStatus>> + Send + Sync + 'static) -> Self {
        Self(Box::new(read))
    }

    pub(crate) fn read(&self) -> anyhow::Result<Option<GatewayStatus>> {
        (self.0)()
    }
}

impl fmt::Debug for GatewaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewaySource(..)")
    }
}

/// Figures of the gateway since its first call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatewayStatus {
    /// Calls that came, those that were rewritten, and those that the provider refused.
    pub calls: GatewayCalls,
    /// Tokens as the providers counted them.
    pub tokens: GatewayTokens,
    /// Time that calls were held before they went on.
    pub held: GatewayHeld,
    /// Spend by known prices.
    pub spend: GatewaySpend,
    /// The conversations, the one that was used last first.
    pub conversations: Vec<GatewayConversation>,
    /// The compactions in effect, newest first.
    pub compactions: Vec<GatewayCompaction>,
}

impl GatewayStatus {
    /// A number that changes with what is shown.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{self:?}").hash(&mut hasher);
        hasher.finish()
    }
}

/// Calls that went through the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GatewayCalls {
    /// All of them.
    pub all: u64,
    /// Those whose older messages gave way to a snapshot.
    pub rewritten: u64,
    /// Those that the provider refused.
    pub refused: u64,
}

/// Tokens as the providers counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GatewayTokens {
    /// Input, whatever it cost.
    pub input: u64,
    /// The part of the input that came from the provider's cache.
    pub cached: u64,
    /// Output.
    pub output: u64,
}

/// Time that calls were held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GatewayHeld {
    /// The calls whose time was taken.
    pub calls: u64,
    /// The time of all of them, in microseconds.
    pub microseconds: u64,
    /// Those that were held for 10 ms or longer.
    pub slow: u64,
}

/// Spend by known prices, in millionths of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GatewaySpend {
    /// Spent today (UTC).
    pub today: u64,
    /// Spent since the first call.
    pub all: u64,
}

/// A conversation that goes through the gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayConversation {
    /// The client, as it names itself.
    pub client: String,
    /// The model of its first call.
    pub model: String,
    /// The session that it is recorded as.
    pub session: Option<String>,
    /// Calls so far.
    pub calls: u64,
    /// Tokens of the last call, as the provider counted them.
    pub tokens: Option<u64>,
    /// Compactions in effect.
    pub compactions: u64,
    /// The last call.
    pub last: Timestamp,
}

/// A compaction of the gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayCompaction {
    /// The number it is listed and undone by.
    pub number: i64,
    /// When it was made.
    pub at: Timestamp,
    /// The reason: `hard`, `pays` or `cold`.
    pub occasion: String,
    /// Messages that it stands for.
    pub messages: u64,
    /// Estimated tokens of the request before.
    pub before: u64,
    /// Estimated tokens of the request after.
    pub after: u64,
    /// The text that stands in their place.
    pub snapshot: String,
    /// The session that it belongs to.
    pub session: Option<String>,
}
