//! Settings of looks and keys.

use serde_json::Value;

use super::document::Content;
use super::layers::Settings;

/// The way to notify the user, as the settings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationMethod {
    /// As the terminal can.
    Auto,
    /// The terminal's bell.
    Bell,
    /// A message as iTerm2 defines it.
    Osc9,
    /// A message as rxvt defines it.
    Osc777,
}

impl Settings {
    /// The name of the theme, if one is set.
    pub fn theme(&self) -> Option<&str> {
        self.text(&["ui", "theme"])
    }

    /// The names of the user's own themes.
    pub fn custom_themes(&self) -> Vec<String> {
        let Some((_, node)) = self.find(&["ui", "customThemes"]) else { return Vec::new() };
        node.entries().iter().map(|(name, _)| name.clone()).collect()
    }

    /// The colours of one of the user's own themes by the names of their tones; none if there is no such theme. Gemini CLI
    /// also groups them.
    pub fn custom_theme(&self, name: &str) -> Option<Vec<(String, String)>> {
        let (_, node) = self.find(&["ui", "customThemes", name])?;
        let mut colours = Vec::new();
        for (tone, node) in node.entries() {
            match &node.content {
                Content::Plain(Value::String(colour)) => colours.push((tone.clone(), colour.clone())),
                Content::Plain(_) => {}
                Content::Object(inner) => {
                    colours.extend(inner.iter().filter_map(|(tone, node)| {
                        Some((tone.clone(), node.to_value().as_str()?.to_string()))
                    }));
                }
            }
        }
        Some(colours)
    }

    /// True if the input is edited with vim keys.
    pub fn is_vim(&self) -> bool {
        self.value(&["general", "vimMode"]).and_then(Value::as_bool) == Some(true)
    }

    /// The way to notify the user of the end of long turns, if that is wanted.
    pub fn notification(&self) -> Option<NotificationMethod> {
        let is_on = self.value(&["general", "enableNotifications"]).and_then(Value::as_bool) == Some(true);
        is_on.then(|| match self.text(&["general", "notificationMethod"]) {
            Some("bell") => NotificationMethod::Bell,
            Some("osc9") => NotificationMethod::Osc9,
            Some("osc777") => NotificationMethod::Osc777,
            _ => NotificationMethod::Auto,
        })
    }

    /// True if the terminal's title is left alone.
    pub fn hides_title(&self) -> bool {
        self.value(&["ui", "hideWindowTitle"]).and_then(Value::as_bool) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::LoadedSettings;

    #[test]
    fn themes_are_read_flat_and_grouped() {
        let mut loaded = LoadedSettings::default();
        let text = r##"{"ui": {"theme": "mine", "customThemes": {"mine":
            {"name": "mine", "red": "#f00", "text": {"accent": "#00f"}, "odd": 1}}}}"##;
        loaded.add(Path::new("s.json").into(), text.as_bytes()).expect("settings");
        let settings = loaded.settings;
        assert_eq!((settings.theme(), settings.custom_themes()), (Some("mine"), vec!["mine".to_string()]));
        let pair = |tone: &str, colour: &str| (tone.to_string(), colour.to_string());
        let colours = [pair("name", "mine"), pair("red", "#f00"), pair("accent", "#00f")];
        assert_eq!(settings.custom_theme("mine").as_deref(), Some(&colours[..]));
        assert_eq!(settings.custom_theme("other"), None);
        assert!(!settings.is_vim() && settings.notification().is_none() && !settings.hides_title());
    }
}
