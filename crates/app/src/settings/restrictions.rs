//! Keys that restrict what an agent may do: honoured in every layer, or the agent does not start.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::layers::Settings;
use super::problem::UnsupportedKey;
use super::unread::names_landlock;

impl Settings {
    /// The key that forbids yolo mode, and where it is set.
    pub(crate) fn forbids_yolo(&self) -> Option<String> {
        self.first_of(&[("security.disableYoloMode", true), ("admin.secureModeEnabled", true)])
    }

    /// Returns true if the user may approve something permanently.
    pub(crate) fn offers_always(&self) -> bool {
        self.first_of(&[("security.disableAlwaysAllow", true), ("admin.secureModeEnabled", true)]).is_none()
    }

    /// Returns true if permanent approvals are saved for later sessions.
    pub(crate) fn keeps_always(&self) -> bool {
        self.offers_always() && self.restricted_by("security.enablePermanentToolApproval", false).is_none()
    }

    /// The key that disables extensions, and where it is set.
    pub(crate) fn forbids_extensions(&self) -> Option<String> {
        let listed = || {
            let allowed = self.united(&["security", "allowedExtensions"]);
            let place = self.provenance("security.allowedExtensions");
            (!allowed.is_empty()).then(|| format!("security.allowedExtensions ({place})"))
        };
        self.first_of(&[("admin.extensions.enabled", false), ("security.blockGitExtensions", true)])
            .or_else(listed)
    }

    /// Disabled extensions, by name.
    pub(crate) fn disabled_extensions(&self) -> Vec<&str> {
        self.united(&["extensions", "disabled"])
    }

    /// Returns true if a sub-agent may be started.
    pub(crate) fn offers_agent(&self, name: &str) -> bool {
        let is_off = |node: &Value| node["enabled"] == Value::Bool(false);
        let overridden = self.layers.iter().filter_map(|layer| {
            let node =
                ["agents", "overrides", name].iter().try_fold(&layer.root, |node, step| node.get(step))?;
            Some(node.to_value())
        });
        self.restricted_by("experimental.enableAgents", false).is_none()
            && !overridden.into_iter().any(|node| is_off(&node))
    }

    /// Variables that neither commands nor hooks get.
    pub(crate) fn blocked_variables(&self) -> Vec<&str> {
        self.united(&["security", "environmentVariableRedaction", "blocked"])
    }

    /// Additional policies: the user's and the administrator's. A workspace has its own tier, and no say in these.
    pub(crate) fn policy_paths(&self, user_home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let own = self.without_workspace();
        let paths = |key: &str| {
            let named = own.united(&[key]).into_iter();
            named
                .map(|path| match (path.strip_prefix("~/"), user_home) {
                    (Some(rest), Some(home)) => home.join(rest),
                    _ => PathBuf::from(path),
                })
                .collect()
        };
        (paths("policyPaths"), paths("adminPolicyPaths"))
    }

    fn first_of(&self, keys: &[(&str, bool)]) -> Option<String> {
        keys.iter().find_map(|(key, value)| Some(format!("{key} ({})", self.restricted_by(key, *value)?)))
    }
}

/// The variable that asks Gemini CLI for a sandbox.
pub(super) const SANDBOX_WANTED: &str = "GEMINI_SANDBOX";

/// The variable that is set inside a sandbox.
pub(super) const IN_SANDBOX: &str = "SANDBOX";

/// A restriction that Longhaul cannot enforce, so that no agent starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not start an agent: {key}{place} asks for {asks_for}")]
pub struct RestrictionError {
    key: String,
    /// Its place, in brackets; empty for a variable.
    place: String,
    asks_for: &'static str,
}

impl RestrictionError {
    /// The hint for it.
    pub fn hint(&self) -> String {
        match self.key.as_str() {
            key @ ("tools.sandbox" | SANDBOX_WANTED) => {
                format!(
                    "set {key} to landlock, or run Longhaul in your own sandbox with {IN_SANDBOX} set to its name"
                )
            }
            key if key.starts_with("admin.") => format!("ask your administrator about {key}"),
            key => format!("remove {key}"),
        }
    }
}

/// Fails if an agent would be less restricted than the settings or the environment require.
pub fn check_restrictions(
    unsupported: &[UnsupportedKey],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), RestrictionError> {
    let is_sandboxed = variable(IN_SANDBOX).is_some_and(|value| !value.trim().is_empty());
    for one in unsupported {
        let Some(asks_for) = one.restricts else { continue };
        if one.key == "tools.sandbox" && is_sandboxed {
            continue;
        }
        let place = format!(" ({})", one.place);
        return Err(RestrictionError { key: one.key.clone(), place, asks_for });
    }
    let wanted = variable(SANDBOX_WANTED).map(|value| value.trim().to_ascii_lowercase());
    if wanted.is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false") && !names_landlock(&value))
        && !is_sandboxed
    {
        let asks_for = "a sandbox that Longhaul does not have; it has only Landlock";
        return Err(RestrictionError { key: SANDBOX_WANTED.into(), place: String::new(), asks_for });
    }
    Ok(())
}

/// One line that names the unsupported keys; `None` if there are none.
pub fn unsupported_notice(unsupported: &[UnsupportedKey]) -> Option<String> {
    let mut keys: Vec<&str> = unsupported.iter().map(|one| one.key.as_str()).collect();
    keys.dedup();
    (!keys.is_empty()).then(|| {
        format!(
            "set for Gemini CLI but not supported here: {}; run `longhaul doctor` to see where",
            keys.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;

    fn loaded(files: &[&str]) -> LoadedSettings {
        let mut loaded = LoadedSettings::default();
        for (number, text) in files.iter().enumerate() {
            loaded.add(Path::new(&format!("{number}.json")).into(), text.as_bytes()).expect("valid");
        }
        loaded
    }

    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(files: &[&str], found: impl Fn(&Settings) -> T, expected: &T) {
        assert_eq!(&found(&loaded(files).settings), expected, "{files:?}");
    }

    #[test]
    fn what_restricts_counts_in_every_layer() {
        let yolo = |on: bool| format!(r#"{{"security": {{"disableYoloMode": {on}}}}}"#);
        check(&[], Settings::forbids_yolo, &None);
        check(&[&yolo(false)], Settings::forbids_yolo, &None);
        let told = Some("security.disableYoloMode (0.json:1)".to_string());
        check(&[&yolo(true), &yolo(false)], Settings::forbids_yolo, &told);
        let told = Some("security.disableYoloMode (1.json:1)".to_string());
        check(&[&yolo(false), &yolo(true)], Settings::forbids_yolo, &told);
        let secure = r#"{"admin": {"secureModeEnabled": true}}"#;
        check(&[secure, "{}"], Settings::forbids_yolo, &Some("admin.secureModeEnabled (0.json:1)".into()));
        check(&[secure], Settings::offers_always, &false);
        check(&[r#"{"security": {"disableAlwaysAllow": true}}"#], Settings::offers_always, &false);
        let kept = |on: bool| format!(r#"{{"security": {{"enablePermanentToolApproval": {on}}}}}"#);
        check(&[], |settings| (settings.offers_always(), settings.keeps_always()), &(true, true));
        check(&[&kept(true)], |settings| (settings.offers_always(), settings.keeps_always()), &(true, true));
        check(
            &[&kept(false)],
            |settings| (settings.offers_always(), settings.keeps_always()),
            &(true, false),
        );
    }

    #[test]
    fn extensions_agents_and_variables_are_restricted() {
        for (text, key) in [
            (r#"{"admin": {"extensions": {"enabled": false}}}"#, "admin.extensions.enabled (0.json:1)"),
            (r#"{"security": {"blockGitExtensions": true}}"#, "security.blockGitExtensions (0.json:1)"),
            (r#"{"security": {"allowedExtensions": ["^x$"]}}"#, "security.allowedExtensions (0.json:1)"),
        ] {
            check(&[text], Settings::forbids_extensions, &Some(key.to_string()));
        }
        check(&[r#"{"security": {"allowedExtensions": []}}"#], Settings::forbids_extensions, &None);
        let off = r#"{"agents": {"overrides": {"scout": {"enabled": false}, "other": {"enabled": true}}}}"#;
        let offered =
            |settings: &Settings| ["scout", "other", "third"].map(|name| settings.offers_agent(name));
        check(&[off], offered, &[false, true, true]);
        check(&[r#"{"experimental": {"enableAgents": false}}"#], offered, &[false; 3]);
        let blocked = |name: &str| {
            format!(r#"{{"security": {{"environmentVariableRedaction": {{"blocked": ["{name}"]}}}}}}"#)
        };
        let both = [blocked("A"), blocked("B")];
        let both: Vec<&str> = both.iter().map(String::as_str).collect();
        assert_eq!(loaded(&both).settings.blocked_variables(), ["A", "B"]);
        assert_eq!(loaded(&[r#"{"extensions": {"disabled": ["a"]}}"#]).settings.disabled_extensions(), ["a"]);
    }

    #[track_caller]
    fn check_refused(text: &str, variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        let refused = check_restrictions(&loaded(&[text]).unsupported, variable).err();
        let refused = refused.map(|error| error.to_string());
        match expected {
            Some(key) => {
                assert!(refused.as_ref().is_some_and(|refused| refused.contains(key)), "{refused:?}");
            }
            None => assert_eq!(refused, None, "{text}"),
        }
    }

    #[test]
    fn an_agent_that_would_not_be_restricted_does_not_start() {
        let sandbox = r#"{"tools": {"sandbox": true}}"#;
        check_refused("{}", &[], None);
        check_refused(sandbox, &[], None);
        let docker = r#"{"tools": {"sandbox": "docker"}}"#;
        check_refused(docker, &[], Some("tools.sandbox (0.json:1)"));
        check_refused(docker, &[("SANDBOX", "mine")], None);
        check_refused("{}", &[("GEMINI_SANDBOX", "docker")], Some("GEMINI_SANDBOX"));
        check_refused("{}", &[("GEMINI_SANDBOX", "docker"), ("SANDBOX", "mine")], None);
        check_refused("{}", &[("GEMINI_SANDBOX", "false")], None);
        check_refused("{}", &[("GEMINI_SANDBOX", "true")], None);
        check_refused(r#"{"admin": {"new": 1}}"#, &[("SANDBOX", "mine")], Some("admin.new"));
        check_refused(r#"{"modelConfigs": {}}"#, &[], None);
    }

    #[test]
    fn what_is_not_honoured_is_named_in_one_line() {
        let text = r#"{"modelConfigs": {}, "telemetry": {}}"#;
        let told = unsupported_notice(&loaded(&[text]).unsupported).expect("a notice");
        assert!(told.contains("modelConfigs, telemetry;") && !told.contains('\n'), "{told}");
        assert_eq!(unsupported_notice(&[]), None);
    }
}
