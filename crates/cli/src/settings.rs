//! Loads the settings for a command or an agent, and prints warnings about them.

use longhaul_app::environment;
use longhaul_app::failure::hinted;
use longhaul_app::settings::{
    LoadedSettings, Settings, check_restrictions, load_here, load_here_with, unsupported_notice,
};
use longhaul_app::trust::untrusted_notice;
use longhaul_app::withheld::{self, WithheldVariables};

use crate::output::{Color, Screen, print_aside, thousands, visible};

/// The most warnings about settings that are printed.
const MOST_WARNINGS: usize = 20;

/// Removes secrets from the environment, so that what an agent runs cannot read them there.
pub(crate) fn take_out_secrets(color: Color) -> WithheldVariables {
    let rules = || {
        let home = environment::home(&environment::of_process()).ok().flatten();
        // What is wrong with the settings is said when they are loaded for good.
        let loaded = load_here().unwrap_or_default();
        loaded.settings.variable_rules(home.as_ref())
    };
    withheld::take_out_secrets(rules).unwrap_or_else(|error| {
        let label = Screen::of_stderr(color).warning("warning:");
        let text = format!(
            "{label} could not remove API keys from this process's environment, where commands can read them: \
             {error}\n"
        );
        print_aside(&text);
        WithheldVariables::default()
    })
}

/// Loads the settings for a command that needs no agent, and prints warnings about them.
pub(crate) fn load_settings(color: Color, withheld: &WithheldVariables) -> anyhow::Result<Settings> {
    load_settings_for(SettingsReader::Command, color, withheld)
}

/// Loads the settings for an agent, and prints warnings about them and what is ignored in an untrusted folder.
pub(crate) fn load_agent_settings(color: Color, withheld: &WithheldVariables) -> anyhow::Result<Settings> {
    load_settings_for(SettingsReader::Agent, color, withheld)
}

/// The reader of the settings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsReader {
    Command,
    Agent,
}

fn load_settings_for(
    reader: SettingsReader,
    color: Color,
    withheld: &WithheldVariables,
) -> anyhow::Result<Settings> {
    let LoadedSettings {
        settings, warnings, untrusted, needs_trust, review, unsupported, env_warnings, ..
    } = load_here_with(withheld.clone())?;
    let folder = environment::current_folder();
    let label = Screen::of_stderr(color).warning("warning:");
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut text: String =
        shown.map(|warning| format!("{label} {}\n", visible(&warning.to_string()))).collect();
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        text.push_str(&format!("{label} {} more warnings about settings\n", thousands(more as u64)));
    }
    let untrusted = match reader {
        SettingsReader::Agent => {
            let environment = environment::of_process();
            let home = environment::home(&environment)?;
            untrusted_notice(
                &folder,
                home.as_ref(),
                &environment,
                needs_trust,
                &settings.memory().0,
                untrusted,
            )?
        }
        SettingsReader::Command => untrusted.map(|file| {
            let file = file.display();
            format!("{file} is ignored: its folder is not trusted; run `longhaul trust add` to trust it")
        }),
    };
    for warning in env_warnings.into_iter().chain(untrusted).chain(review.warning(&folder)) {
        text.push_str(&format!("{label} {}\n", visible(&warning)));
    }
    if reader == SettingsReader::Agent
        && let Some(notice) = unsupported_notice(&unsupported)
    {
        let label = Screen::of_stderr(color).faint("note:");
        text.push_str(&format!("{label} {}\n", visible(&notice)));
    }
    if reader == SettingsReader::Agent
        && let Some((file, names)) = settings.project_variables()
    {
        let label = Screen::of_stderr(color).faint("note:");
        let notice = format!("{} sets {}", file.display(), names.join(", "));
        text.push_str(&format!("{label} {}\n", visible(&notice)));
    }
    print_aside(&text);
    if reader == SettingsReader::Agent {
        check_restrictions(&unsupported, |name| settings.variable(name)).map_err(|error| {
            let hint = error.hint();
            hinted(error, hint)
        })?;
    }
    Ok(settings)
}
