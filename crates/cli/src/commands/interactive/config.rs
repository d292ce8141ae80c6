//! `/config`: shows settings with the places where they were set, and changes the user's own.

use longhaul_app::environment;
use longhaul_app::settings::{
    AboutSetting, LoadedSettings, Provenance, ShownSetting, change_setting, load_here,
};
use longhaul_terminal::{Notice, Page};
use longhaul_workspace::Home;

/// Keys that apply as soon as they are changed.
const AT_ONCE: [&str; 6] = [
    "general.enableNotifications",
    "general.notificationMethod",
    "general.vimMode",
    "ui.theme",
    "ui.customThemes",
    "ui.hideWindowTitle",
];

/// A page with the settings that are set, or with one setting.
pub(super) fn page(home: &Home, key: Option<&str>) -> anyhow::Result<Page> {
    let LoadedSettings { settings, untrusted, .. } = load_here()?;
    let mut page = match key {
        Some(key) => one(&settings.setting(key)?),
        None => all(&settings.effective()),
    };
    if key.is_none() {
        if let Some(file) = untrusted {
            page.text(format!("{} is ignored: its folder is not trusted.", file.display()));
        }
        page.aside(format!("Your own file: {}", home.settings().display()));
        page.aside("Type /config set KEY VALUE to change one, /config show KEY to learn more.");
    }
    Ok(page)
}

fn all(settings: &[ShownSetting]) -> Page {
    let mut page = Page::new(match settings.len() {
        0 => "Every setting is at its default.".to_string(),
        1 => "1 setting is set".to_string(),
        count => format!("{count} settings are set"),
    });
    for setting in settings {
        let value = setting.value.as_deref().unwrap_or_default();
        page.item(format!("{}: {value}  ({})", setting.key, layer(&setting.provenance)));
    }
    page
}

fn one(setting: &ShownSetting) -> Page {
    let mut page = Page::new(setting.key.as_str());
    match (&setting.value, &setting.about) {
        (Some(value), _) => {
            page.fact("value", value.as_str());
            page.fact("set by", place(&setting.provenance));
        }
        (None, Some(AboutSetting { default, .. })) => page.fact("value", format!("default: {default}")),
        (None, None) => page.fact("value", "not set"),
    }
    match &setting.about {
        Some(AboutSetting { meaning, default, takes }) => {
            page.fact("meaning", *meaning);
            page.fact("takes", takes.as_str());
            page.fact("default", *default);
        }
        None => page.text("Longhaul does not read this key."),
    }
    page
}

/// The place where a value was set, in full.
fn place(provenance: &Provenance) -> String {
    match provenance {
        Provenance::File(place) => {
            format!("{}, {place}", layer(provenance).split(',').next().unwrap_or_default())
        }
        other => layer(other),
    }
}

/// The layer that set a value, with the line in its file.
fn layer(provenance: &Provenance) -> String {
    match provenance {
        Provenance::Default => "default".to_string(),
        Provenance::File(place) => {
            let home = environment::home(&environment::of_process()).ok().flatten();
            let layer = match home.is_some_and(|home| home.settings() == *place.file) {
                true => "user settings",
                false if is_system(&place.file) => "system settings",
                false => "workspace settings",
            };
            format!("{layer}, line {}", place.line)
        }
        Provenance::Variable(name) => format!("variable {name}"),
        Provenance::Flag(flag) => format!("flag {flag}"),
    }
}

fn is_system(file: &std::path::Path) -> bool {
    let environment = environment::of_process();
    [environment.system_settings(), environment.system_defaults()].iter().any(|known| known == file)
}

/// Sets a value in the user's settings, or removes it.
pub(super) fn change(home: &Home, key: &str, value: Option<&str>) -> anyhow::Result<Notice> {
    let file = home.settings();
    let is_changed = change_setting(&file, key, value)?;
    let name = file.display();
    let text = match (value, is_changed) {
        (Some(value), true) => format!("Set {key} to {value} in {name}."),
        (Some(value), false) => format!("{key} is already {value} in {name}."),
        (None, true) => format!("Removed {key} from {name}."),
        (None, false) => return Ok(Notice::info(format!("{key} is not set in {name}."))),
    };
    let notice = Notice::good(text);
    let provenance = load_here()?.settings.provenance(key);
    let overrider = match (&provenance, value) {
        (Provenance::File(place), Some(_)) if *place.file == *file => None,
        (Provenance::Default, _) | (_, None) => None,
        (other, Some(_)) => Some(place(other)),
    };
    Ok(match overrider {
        Some(place) => notice.with_hint(format!("It has no effect here: {place} overrides it.")),
        None if AT_ONCE.contains(&key) => notice,
        None => notice.with_hint("It takes effect at the next start."),
    })
}
