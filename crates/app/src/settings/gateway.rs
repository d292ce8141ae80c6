//! Settings of the gateway. What decides where requests and keys go is the user's alone: a project's file is not asked.

use std::collections::BTreeMap;

use longhaul_conversation::TokenCount;
use serde_json::Value;

use super::kind;
use super::layers::Settings;

/// Settings of the gateway; what is not set has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatewayConfig {
    /// The word for what it does with requests.
    pub mode: Option<String>,
    /// Base addresses by the name of a family.
    pub upstreams: BTreeMap<String, String>,
    /// The window of all models.
    pub window: Option<TokenCount>,
    /// The largest tail.
    pub tail: Option<TokenCount>,
    /// The shortest history that gives way without need.
    pub least_history: Option<TokenCount>,
    /// The most dollars of a day.
    pub daily_cap: Option<f64>,
    /// True unless what passes is not to be recorded.
    pub is_recorded: bool,
    /// Names by which it may be reached.
    pub hosts: Vec<String>,
}

impl Settings {
    /// The settings of the gateway.
    pub fn gateway(&self) -> GatewayConfig {
        let own = self.without_workspace();
        let value = |settings: &Self, key| settings.value(&["longhaul", "gateway", key]).cloned();
        let texts = |value: Value| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_string).collect(),
            _ => Vec::new(),
        };
        let section = ["longhaul", "gateway", "upstreams"];
        let address = |name: &str| {
            let text = own.text(&[&section[..], &[name]].concat())?;
            Some((name.to_string(), text.to_string()))
        };
        let is_off = |settings: &Self| value(settings, "record").is_some_and(|word| word == "off");
        GatewayConfig {
            mode: value(&own, "mode").and_then(|mode| mode.as_str().map(str::to_string)),
            upstreams: own.names(&section).into_iter().filter_map(address).collect(),
            window: value(&own, "window").as_ref().and_then(kind::tokens),
            tail: value(self, "tail").as_ref().and_then(kind::tokens),
            least_history: value(self, "leastHistory").as_ref().and_then(kind::tokens),
            daily_cap: value(&own, "maxDollarsPerDay").as_ref().and_then(kind::price),
            // Whoever says off is heard: a project may keep its conversations to itself.
            is_recorded: !is_off(self) && !is_off(&own),
            hosts: value(&own, "hosts").map(texts).unwrap_or_default(),
        }
    }
}
