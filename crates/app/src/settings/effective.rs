//! The settings that are set, each with its value and where it was set; and changes of the user's own.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use serde_json::Value;

use super::check::{check_value, dotted};
use super::document::{Content, Node, parse};
use super::edit::set_at;
use super::keys::{SettingKey, table};
use super::kind::{ValueKind, hidden_text};
use super::layers::Settings;
use super::lookup::{Known, look_up, near_sibling, nearest};
use super::provenance::Provenance;
use super::unread::Treatment;
use crate::failure::hinted;

/// A setting for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSetting {
    /// The key, with dots between its parts.
    pub key: String,
    /// The value as JSON; none at its default.
    pub value: Option<String>,
    /// The place where it was set.
    pub provenance: Provenance,
    /// The table's entry for it; none for a key that Longhaul does not read.
    pub about: Option<AboutSetting>,
}

/// The entry of the table of settings for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboutSetting {
    /// Its meaning.
    pub meaning: &'static str,
    /// Its default, in words.
    pub default: &'static str,
    /// The values it takes, to follow "must be".
    pub takes: String,
}

/// The keys of all settings with their meanings; those with any name in them are left out.
pub fn setting_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    table().filter(|key| !key.path.contains('*')).map(|key| (key.path, key.about))
}

impl Settings {
    /// The settings that any file, variable or flag sets and that Longhaul knows, by key.
    pub fn effective(&self) -> Vec<ShownSetting> {
        let mut paths = BTreeSet::new();
        self.layers.iter().for_each(|layer| collect(&layer.root, &mut Vec::new(), &mut paths));
        let shown = paths.iter().filter_map(|path| {
            let steps: Vec<&str> = path.iter().map(String::as_str).collect();
            self.find(&steps).map(|_| self.shown(&steps))
        });
        shown.collect()
    }

    /// One setting.
    ///
    /// # Errors
    /// An unknown key, with the one that was probably meant.
    pub fn setting(&self, key: &str) -> anyhow::Result<ShownSetting> {
        let (steps, kind) = steps_of(key);
        match look_up(&steps) {
            Known::No if kind.is_some() => Ok(self.shown(&steps)),
            Known::No => Err(unknown(key)),
            Known::Section => {
                let below: Vec<&str> = table()
                    .map(|known| known.path)
                    .filter(|path| path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
                    .collect();
                Err(hinted(anyhow!("{key} is a section"), format!("name one of {}", below.join(", "))))
            }
            _ => Ok(self.shown(&steps)),
        }
    }

    fn shown(&self, steps: &[&str]) -> ShownSetting {
        let found = self.find(steps);
        let about = match look_up(steps) {
            Known::SettingKey(SettingKey { kind, default, about, .. }) => {
                Some(AboutSetting { meaning: about, default, takes: kind.words() })
            }
            _ => None,
        };
        ShownSetting {
            key: dotted(steps),
            value: found.map(|(_, node)| shown_value(node)),
            provenance: found.map_or(Provenance::Default, |(source, node)| Provenance::of(source, node)),
            about,
        }
    }
}

/// The paths of the settings in a tree.
fn collect(node: &Node, above: &mut Vec<String>, paths: &mut BTreeSet<Vec<String>>) {
    for (name, child) in node.entries() {
        above.push(name.clone());
        let steps: Vec<&str> = above.iter().map(String::as_str).collect();
        match look_up(&steps) {
            Known::Section => collect(child, above, paths),
            // What is about another program is no business of this list.
            Known::No | Known::Unread(Treatment::NoEffect) | Known::InOpenSection(Treatment::NoEffect) => {}
            Known::SettingKey(_) | Known::Unread(_) | Known::InOpenSection(_) => {
                paths.insert(above.clone());
            }
        }
        above.pop();
    }
}

/// A value as JSON, without secrets; of an object only the names.
fn shown_value(node: &Node) -> String {
    let names = |names: Vec<&str>| match names.is_empty() {
        true => "{}".to_string(),
        false => format!("{{{}}}", names.join(", ")),
    };
    match &node.content {
        Content::Object(entries) => names(entries.iter().map(|(name, _)| name.as_str()).collect()),
        Content::Plain(Value::Object(object)) => names(object.keys().map(String::as_str).collect()),
        Content::Plain(Value::String(text)) if hidden_text(text) => "(looks like a key)".to_string(),
        Content::Plain(value) => value.to_string(),
    }
}

/// Sets a value in a file of the user's, or removes it, and keeps everything else; returns whether the file was changed.
///
/// # Errors
/// A key that is not known or not read, a value that it does not take, or a file that cannot be changed.
pub fn change_setting(file: &Path, key: &str, value: Option<&str>) -> anyhow::Result<bool> {
    let (steps, kind) = steps_of(key);
    let Some(text) = value else { return set_at(file, &steps, None) };
    if let Some(kind) = kind {
        return set_at(file, &steps, Some(&parse_value(kind, &steps, text)?));
    }
    match look_up(&steps) {
        Known::SettingKey(known) => set_at(file, &steps, Some(&parse_value(known.kind, &steps, text)?)),
        Known::Section => {
            Err(hinted(anyhow!("{key} is a section"), "name a key in it; see docs/settings.md"))
        }
        Known::Unread(_) | Known::InOpenSection(_) => {
            let error = anyhow!("Longhaul does not read {key}");
            let (name, section) = steps.split_last().expect("a key has at least one part");
            Err(match near_sibling(section, name).filter(|near| near != key) {
                Some(near) => hinted(error, format!("did you mean {near}?")),
                None => error,
            })
        }
        Known::No => Err(unknown(key)),
    }
}

/// The steps that lead to a key. Behind a key with values by name, the rest is one name, dots and all, and its values have
/// the kind that is given.
fn steps_of(key: &str) -> (Vec<&str>, Option<ValueKind>) {
    let by_name = table().find_map(|known| {
        let kind = match known.kind {
            ValueKind::TokensByName => ValueKind::Tokens,
            ValueKind::ThresholdsByModel => ValueKind::Threshold,
            _ => return None,
        };
        let name = key.strip_prefix(known.path)?.strip_prefix('.')?;
        Some((known.path.split('.').chain([name]).collect(), Some(kind)))
    });
    by_name.unwrap_or_else(|| (key.split('.').collect(), None))
}

/// The value that a text stands for: JSON where the key takes that, else the text itself.
fn parse_value(kind: ValueKind, steps: &[&str], text: &str) -> anyhow::Result<Value> {
    let is_taken = |value: &Value| {
        let text = serde_json::json!({ "value": value }).to_string();
        let root = parse(text.as_bytes());
        root.is_ok_and(|root| root.get("value").is_some_and(|node| check_value(kind, steps, node).is_ok()))
    };
    let as_json = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_null());
    if let Some(value) = as_json.into_iter().chain([Value::from(text)]).find(is_taken) {
        return Ok(value);
    }
    let (key, takes, example) = (dotted(steps), kind.words(), kind.example());
    let error = anyhow!("invalid value {text:?}: {key} must be {takes}");
    Err(hinted(error, format!("for example: /config set {key} {example}")))
}

fn unknown(key: &str) -> anyhow::Error {
    let steps: Vec<&str> = key.split('.').collect();
    let (name, section) = steps.split_last().expect("a split has at least one part");
    let error = anyhow!("unknown setting: {key}");
    match nearest(section, name) {
        Some(near) => hinted(error, format!("did you mean {near}?")),
        None => hinted(error, "docs/settings.md lists every key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::hint_for;
    use crate::settings::LoadedSettings;

    fn layered(files: &[&str]) -> Settings {
        let mut loaded = LoadedSettings::default();
        for (at, text) in files.iter().enumerate() {
            loaded.add(Path::new(&format!("{at}.json")).into(), text.as_bytes()).expect("settings");
        }
        loaded.settings
    }

    #[test]
    fn each_setting_says_where_it_was_set() {
        let settings = layered(&[
            "{\"model\": {\"name\": \"a\",\n\"maxSessionTurns\": 5}, \"ui\": {\"hideTips\": true}}",
            "{\"model\": {\"name\": \"b\"},\n\"longhaul\": {\"windows\": {\"m-1.5\": 9}}, \"mcpServers\": {\"x\": {\"env\": {}}}}",
        ]);
        let settings = settings.with_flag("longhaul.compaction.keep", "--keep", 0.2.into()).expect("a share");
        let shown: Vec<String> = settings
            .effective()
            .iter()
            .map(|setting| {
                format!("{} {} {}", setting.key, setting.value.as_deref().unwrap_or("-"), setting.provenance)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "longhaul.compaction.keep 0.2 --keep",
                "longhaul.windows {m-1.5} 1.json:2",
                "mcpServers {x} 1.json:2",
                "model.maxSessionTurns 5 0.json:2",
                "model.name \"b\" 1.json:1",
            ]
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let settings = layered(&[&format!("{{\"model\": {{\"name\": {key:?}}}}}")]);
        assert_eq!(settings.effective()[0].value.as_deref(), Some("(looks like a key)"));
    }

    #[test]
    fn a_setting_is_explained() {
        let settings = layered(&["{\"general\": {\"vimMode\": true}}"]);
        let shown = settings.setting("general.vimMode").expect("a setting");
        assert_eq!(shown.value.as_deref(), Some("true"));
        assert_eq!(shown.about.expect("in the table").default, "false");
        let default = settings.setting("ui.theme").expect("a setting");
        assert_eq!((default.value, default.provenance), (None, Provenance::Default));
        let hint = |key: &str| hint_for(&settings.setting(key).expect_err("no setting")).unwrap_or_default();
        assert_eq!(hint("general.vimMod"), "did you mean general.vimMode?");
        assert!(hint("general").starts_with("name one of general."), "{}", hint("general"));
        assert_eq!(hint("zebra"), "docs/settings.md lists every key");
    }

    #[track_caller]
    fn check(text: &str, key: &str, value: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("settings.json");
        std::fs::write(&file, text).expect("written");
        let is_changed = change_setting(&file, key, value).expect("it is changed");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), expected);
        assert_eq!(is_changed, text != expected);
    }

    #[test]
    fn values_are_set_and_removed_with_everything_else_kept() {
        let mine = "{\n  // mine\n  \"ui\": { \"theme\": \"dark\", /* x */ },\n}\n";
        check(mine, "ui.theme", Some("light"), &mine.replace("dark", "light"));
        check(mine, "ui.theme", Some("\"light\""), &mine.replace("dark", "light"));
        check(mine, "ui.theme", Some("dark"), mine);
        check(mine, "ui.theme", None, "{\n  // mine\n  \"ui\": {  /* x */ },\n}\n");
        check(mine, "general.vimMode", None, mine);
        check("", "general.vimMode", Some("true"), "{\n  \"general\": {\n    \"vimMode\": true\n  }\n}\n");
        check(
            "{}",
            "longhaul.windows.m-1.5",
            Some("8k"),
            "{\n  \"longhaul\": {\n    \"windows\": {\n      \"m-1.5\": \"8k\"\n    }\n  }\n}",
        );
        check(
            "{}",
            "longhaul.compaction.threshold",
            Some("0.5"),
            "{\n  \"longhaul\": {\n    \"compaction\": {\n      \"threshold\": 0.5\n    }\n  }\n}",
        );
        check(
            "{}",
            "context.fileName",
            Some("[\"A.md\"]"),
            "{\n  \"context\": {\n    \"fileName\": [\"A.md\"]\n  }\n}",
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("settings.json");
        let told = |key: &str, value: &str| {
            let error = change_setting(&file, key, Some(value)).expect_err("it is refused");
            (error.to_string(), hint_for(&error).unwrap_or_default())
        };
        assert_eq!(
            told("general.vimMode", "on"),
            (
                "invalid value \"on\": general.vimMode must be true or false".to_string(),
                "for example: /config set general.vimMode true".to_string()
            )
        );
        assert_eq!(told("general.vimMod", "true").0, "unknown setting: general.vimMod");
        assert_eq!(told("general", "true").0, "general is a section");
        assert_eq!(told("telemetry.enabled", "true").0, "Longhaul does not read telemetry.enabled");
        assert_eq!(told("ui.them", "dark").1, "did you mean ui.theme?");
        assert!(!file.exists());
        std::fs::write(&file, "{ broken").expect("written");
        assert!(change_setting(&file, "ui.theme", Some("dark")).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "{ broken");
    }
}
