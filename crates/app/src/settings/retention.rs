//! Settings of session retention.

use longhaul_sessions::RetentionConfig;
use serde_json::Value;

use super::layers::Settings;

impl Settings {
    /// The age and number of sessions to keep.
    pub fn retention(&self) -> RetentionConfig {
        let value = |key: &str| self.value(&["general", "sessionRetention", key]);
        let text = |key: &str| value(key).and_then(Value::as_str).map(str::to_string);
        let defaults = RetentionConfig::default();
        RetentionConfig {
            enabled: value("enabled").and_then(Value::as_bool).unwrap_or(defaults.enabled),
            max_age: text("maxAge").or(defaults.max_age),
            max_count: value("maxCount").and_then(Value::as_i64),
            min_retention: text("minRetention").or(defaults.min_retention),
        }
    }
}
