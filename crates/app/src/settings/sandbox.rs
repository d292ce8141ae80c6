//! The sandbox of commands, as settings want it.

use std::path::{Path, PathBuf};

use longhaul_workspace::{NetworkAccess, Sandbox};
use serde_json::Value;

use super::document::Content;
use super::layers::Settings;
use super::restrictions::{IN_SANDBOX, SANDBOX_WANTED};
use super::unread::{is_landlock, names_landlock};

/// Places outside the workspace that commands cannot do without: devices, and files for the moment.
const ALWAYS_WRITABLE: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"];

impl Settings {
    /// The sandbox that commands run in, in these folders; `None` if none is wanted, or Longhaul runs in one already. Any
    /// file can ask for it; a workspace cannot widen it.
    pub(crate) fn sandbox(&self, folders: &[PathBuf], user_home: Option<&Path>) -> Option<Sandbox> {
        let is_inside = self.variable(IN_SANDBOX).is_some_and(|value| !value.trim().is_empty());
        let stated = self.layers.iter().any(|layer| {
            let node = ["tools", "sandbox"].iter().try_fold(&layer.root, |node, step| node.get(step));
            node.is_some_and(|node| matches!(&node.content, Content::Plain(value) if is_landlock(value)))
        });
        let variable = self.variable(SANDBOX_WANTED).is_some_and(|value| names_landlock(&value));
        if is_inside || !(stated || variable) {
            return None;
        }
        let own = self.without_workspace();
        let network = match own.value(&["tools", "sandboxNetworkAccess"]).and_then(Value::as_bool) {
            Some(true) => NetworkAccess::Full,
            Some(false) | None => NetworkAccess::None,
        };
        let allowed = own.united(&["tools", "sandboxAllowedPaths"]).into_iter().filter_map(|path| {
            match (path.strip_prefix("~/"), user_home) {
                (Some(rest), Some(home)) => Some(home.join(rest)),
                (Some(_), None) => None,
                (None, _) => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
            }
        });
        let writable = folders.iter().cloned().chain(ALWAYS_WRITABLE.map(PathBuf::from));
        let writable = writable.chain([std::env::temp_dir()]).chain(allowed).collect();
        Some(Sandbox { writable, network })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;

    fn sandbox(text: &str) -> Option<Sandbox> {
        let mut loaded = LoadedSettings::default();
        loaded.add(Path::new("0.json").into(), text.as_bytes()).expect("valid");
        loaded.settings.sandbox(&["/work".into()], Some(Path::new("/home/me")))
    }

    #[test]
    fn commands_are_confined_as_settings_say() {
        assert_eq!(sandbox("{}"), None);
        assert_eq!(sandbox(r#"{"tools": {"sandbox": false}}"#), None);
        let plain = sandbox(r#"{"tools": {"sandbox": true}}"#).expect("wanted");
        assert_eq!((plain.writable[0].as_path(), plain.network), (Path::new("/work"), NetworkAccess::None));
        let more = r#"{"tools": {"sandbox": "landlock", "sandboxNetworkAccess": true,
            "sandboxAllowedPaths": ["~/.cargo", "/opt/x", "relative"]}}"#;
        let more = sandbox(more).expect("wanted");
        assert_eq!(more.network, NetworkAccess::Full);
        assert!(more.writable.ends_with(&["/home/me/.cargo".into(), "/opt/x".into()]), "{more:?}");
    }
}
