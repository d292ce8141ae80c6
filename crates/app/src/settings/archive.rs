//! Settings of the archive.

use longhaul_archive::Redaction;
use serde_json::Value;

use super::layers::Settings;

impl Settings {
    /// The redaction of archived copies.
    pub fn archive_redaction(&self) -> Redaction {
        let value = self.value(&["longhaul", "archive", "redact"]);
        if value.and_then(Value::as_str) == Some("off") { Redaction::Off } else { Redaction::On }
    }

    /// The most days that sessions stay in the archive.
    pub fn archive_days(&self) -> Option<u32> {
        let value = self.value(&["longhaul", "archive", "maxDays"])?;
        value.as_u64().and_then(|days| u32::try_from(days).ok())
    }
}
