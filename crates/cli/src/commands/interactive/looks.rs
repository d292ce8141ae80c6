//! The user's preferences about looks and keys, from the settings and the terminal.

use longhaul_app::settings::{NotificationMethod, Settings};
use longhaul_display::{Palette, THEMES};
use longhaul_terminal::{Notice, Notification, Preferences};

/// The preferences that the settings state, and notices about what is wrong with them.
pub(super) fn preferences(settings: &Settings, is_coloured: bool) -> (Preferences, Vec<Notice>) {
    let (palette, notices) = match settings.theme().map(|name| palette(settings, name)) {
        None => (Palette::TERMINAL, Vec::new()),
        Some(Ok(palette)) => (palette, Vec::new()),
        Some(Err(notice)) => (Palette::TERMINAL, vec![notice]),
    };
    let preferences = Preferences {
        palette: is_coloured.then_some(palette),
        is_vim: settings.is_vim(),
        notification: notification(settings, |name| std::env::var(name).ok()),
        // The console of Linux has no title.
        shows_title: !settings.hides_title() && std::env::var_os("TERM").is_some_and(|term| term != "linux"),
    };
    (preferences, notices)
}

/// The colours of a theme, one of the user's own or a known one.
fn palette(settings: &Settings, name: &str) -> Result<Palette, Notice> {
    if let Some(table) = settings.custom_theme(name) {
        let colours = table.iter().map(|(tone, colour)| (tone.as_str(), colour.as_str()));
        return Palette::from_table(colours).map_err(|(tone, colour)| {
            let text = format!("The theme {name} has no colour for {tone}: {colour:?} is none.");
            Notice::warning(text)
                .with_hint("A colour is #rrggbb, a name such as green, or a number from 0 to 255.")
        });
    }
    Palette::named(name).ok_or_else(|| {
        Notice::warning(format!("Unknown theme: {name}.")).with_hint("Type /theme to choose one.")
    })
}

/// The themes that can be chosen.
pub(super) fn themes(settings: &Settings) -> Vec<(String, String)> {
    let known = THEMES.iter().map(|(name, about)| ((*name).to_string(), (*about).to_string()));
    let own = settings.custom_themes().into_iter().map(|name| (name, "From your settings".to_string()));
    known.chain(own).collect()
}

/// The way to notify the user. Inside tmux and screen, messages do not reach the terminal around them.
fn notification(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Notification {
    match settings.notification() {
        None => Notification::Off,
        Some(NotificationMethod::Bell) => Notification::Bell,
        Some(NotificationMethod::Osc9) => Notification::Osc9,
        Some(NotificationMethod::Osc777) => Notification::Osc777,
        Some(NotificationMethod::Auto) => {
            let is_inside = variable("TMUX").is_some() || variable("STY").is_some();
            let program = variable("TERM_PROGRAM").unwrap_or_default();
            let term = variable("TERM").unwrap_or_default();
            let shows = ["iTerm.app", "WezTerm", "ghostty"].contains(&program.as_str())
                || term.contains("kitty")
                || variable("WT_SESSION").is_some();
            if shows && !is_inside { Notification::Osc9 } else { Notification::Bell }
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_app::settings::LoadedSettings;

    use super::*;

    fn settings(text: &str) -> Settings {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("settings.json");
        std::fs::write(&file, text).expect("written");
        let mut loaded = LoadedSettings::default();
        let owner = longhaul_app::settings::FileOwner::UserOrSystem;
        let environment = longhaul_workspace::Environment::default();
        loaded.examine_file(&file, owner, None, &environment).expect("settings");
        loaded.settings
    }

    #[test]
    fn themes_come_from_settings() {
        let own = r##"{"ui": {"theme": "mine", "customThemes": {"mine": {"red": "#ff0000"}, "bad": {"red": "?"}}}}"##;
        let mine = settings(own);
        let (found, notices) = preferences(&mine, true);
        let red = longhaul_display::Colour::Rgb(255, 0, 0);
        assert_eq!(found.palette.and_then(|palette| palette.red), Some(red));
        assert!(notices.is_empty());
        assert_eq!(preferences(&mine, false).0.palette, None);
        let own: Vec<String> = themes(&mine).into_iter().skip(THEMES.len()).map(|(name, _)| name).collect();
        assert_eq!(own, ["mine", "bad"]);
        let told = |name: &str| palette(&mine, name).expect_err("no theme").text;
        assert_eq!(told("bad"), "The theme bad has no colour for red: \"?\" is none.");
        assert_eq!(told("none"), "Unknown theme: none.");
    }

    #[test]
    fn notifications_suit_the_terminal() {
        let on = settings(r#"{"general": {"enableNotifications": true}}"#);
        let how = |variables: &[(&str, &str)]| {
            notification(&on, |name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
            })
        };
        assert_eq!(how(&[]), Notification::Bell);
        assert_eq!(how(&[("TERM_PROGRAM", "WezTerm")]), Notification::Osc9);
        assert_eq!(how(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "x")]), Notification::Bell);
        assert_eq!(notification(&settings("{}"), |_| None), Notification::Off);
        let chosen = r#"{"general": {"enableNotifications": true, "notificationMethod": "osc777"}}"#;
        assert_eq!(notification(&settings(chosen), |_| None), Notification::Osc777);
    }
}
