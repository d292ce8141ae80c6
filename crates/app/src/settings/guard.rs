//! Settings of the guard of other agents.

use serde_json::Value;

use super::layers::Settings;

impl Settings {
    /// Returns true if a guarded agent's session is archived when its turn ends.
    pub fn guard_archives(&self) -> bool {
        self.value(&["longhaul", "guard", "archive"]).and_then(Value::as_bool).unwrap_or(true)
    }

    /// Returns true if rules of earlier sessions are offered at a session's start.
    pub fn guard_offers_rules(&self) -> bool {
        self.value(&["longhaul", "guard", "offerRules"]).and_then(Value::as_bool).unwrap_or(false)
    }
}
