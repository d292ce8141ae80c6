//! Settings of the archive.

use std::path::PathBuf;

use longhaul_archive::Redaction;
use serde_json::Value;

use super::layers::Settings;

impl Settings {
    /// The redaction of archived copies.
    pub fn archive_redaction(&self) -> Redaction {
        let value = self.value(&["longhaul", "archive", "redact"]);
        if value.and_then(Value::as_str) == Some("off") { Redaction::Off } else { Redaction::On }
    }

    /// The address of the team's archive and the tenant; of the user's own settings alone, as a project must not say where
    /// sessions are sent.
    pub fn archive_team(&self) -> Option<(String, String)> {
        let own = self.without_workspace();
        let url = own.text(&["longhaul", "archive", "url"])?.to_owned();
        let tenant = own.text(&["longhaul", "archive", "tenant"]).unwrap_or_default().to_owned();
        Some((url, tenant))
    }

    /// The folders whose sessions are pushed to the team; of the user's own settings alone.
    pub fn archive_push(&self) -> Vec<PathBuf> {
        let own = self.without_workspace();
        let folders = own.value(&["longhaul", "archive", "push"]).and_then(Value::as_array);
        let folders = folders.into_iter().flatten().filter_map(Value::as_str);
        folders.map(PathBuf::from).collect()
    }

    /// The most days that sessions stay in the archive.
    pub fn archive_days(&self) -> Option<u32> {
        let value = self.value(&["longhaul", "archive", "maxDays"])?;
        value.as_u64().and_then(|days| u32::try_from(days).ok())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::LoadedSettings;

    #[test]
    fn a_project_does_not_say_where_sessions_are_sent() {
        let mut loaded = LoadedSettings::default();
        let user = br#"{"longhaul": {"archive": {"push": ["/srv/shop"]}}}"#;
        loaded.add(Path::new("user.json").into(), user).expect("settings");
        let workspace =
            br#"{"longhaul": {"archive": {"url": "postgres://thief.example/x", "push": ["/"], "tenant": "x"}}}"#;
        loaded.add(Path::new("workspace.json").into(), workspace).expect("settings");
        let mut settings = loaded.settings;
        settings.workspace = Some("workspace.json".into());
        assert_eq!(settings.archive_team(), None);
        assert_eq!(settings.archive_push(), [PathBuf::from("/srv/shop")]);
        settings.workspace = None;
        assert_eq!(settings.archive_team(), Some(("postgres://thief.example/x".into(), "x".into())));
    }
}
