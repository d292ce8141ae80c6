//! `longhaul` on a terminal: the interactive agent.

mod config;
mod export;
mod looks;
mod memory;
mod services;
mod skills;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::thread;

use anyhow::Context;
use longhaul_app::agent::{HelperModels, write_notes_on_previous};
use longhaul_app::environment;
use longhaul_app::extraction::learn_in_background;
use longhaul_app::failure::hint_for;
use longhaul_app::models::Models;
use longhaul_app::project::Project;
use longhaul_app::sessions::{self, FoundSession};
use longhaul_app::settings::Settings;
use longhaul_display::text::sentence;
use longhaul_terminal::{Notice, NoticeSender, Options, Surface};
use longhaul_workspace::Home;
use tokio_util::sync::CancellationToken;

use self::services::TerminalServices;
use crate::editor::editor;
use crate::input;
use crate::options::TalkOptions;
use crate::output::{Color, Screen, thousands};
use crate::running::exit_code;
use crate::trust::ask_at_start;

/// Talks with a person at a terminal until they leave.
pub(crate) fn run(
    options: &TalkOptions,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<ExitCode> {
    ask_at_start(color)?;
    let settings = &load_settings()?;
    let surroundings = environment::of_process();
    let home = Home::resolve(&surroundings)?;
    let mut greeting = Vec::new();
    let voice: Arc<OnceLock<NoticeSender>> = Arc::default();
    let teller = Arc::clone(&voice);
    let tell = Arc::new(move |text: &str| {
        teller.get().into_iter().for_each(|voice| voice.send(Notice::info(text)));
    });
    let warnings = std::cell::RefCell::new(Vec::new());
    let models = Models::load(settings, options.ca_file.as_deref(), tell, |text| {
        warnings.borrow_mut().push(Notice::warning(text));
    })?;
    let found = options
        .resume()
        .map(|given| sessions::find(given, options.fork, &input::showing_progress))
        .transpose()?;
    let session_models = found.as_ref().map(FoundSession::models).unwrap_or_default();
    let mut chosen = models.choose_for_talk(options.model.as_deref(), &session_models)?;
    match options.window {
        Some(window) => chosen.set_window(window),
        None => models.ask_window(&mut chosen),
    }
    if chosen.is_window_assumed {
        let window = thousands(chosen.window.0);
        let text = format!("The window of {} is unknown; assuming {window} tokens.", chosen.name);
        greeting.push(Notice::warning(text).with_hint("Set it with --window or in longhaul.windows."));
    }
    let named = models.name_for_talk(options.model.as_deref(), &session_models);
    let helpers = HelperModels::load(&models, settings, &chosen, named, |text| {
        warnings.borrow_mut().push(Notice::warning(text));
    });
    greeting.extend(warnings.take());
    let folder = std::env::current_dir().context("the current folder does not exist")?;
    let is_coloured = Screen::of_stdout(color).is_coloured();
    let (preferences, doubts) = looks::preferences(settings, is_coloured);
    greeting.extend(doubts);
    let screen = Options {
        preferences,
        surface: surface(options, settings),
        folder_name: short_name(&folder, surroundings.user_home.as_deref()),
        folder,
        user_home: surroundings.user_home,
        history: Some(home.root().join("longhaul").join("typed.jsonl")),
        editor: editor().unwrap_or_else(|| "vi".to_string()),
        greeting,
        first_prompt: options.first_prompt().map(str::to_string),
    };
    let resumed = found.as_ref().and_then(FoundSession::id);
    let (learner, own_home) = ((chosen.http.clone(), chosen.profile()), home.clone());
    let (providers, own) = (models.providers().clone(), chosen.provider().to_string());
    let is_own_model = |model: &str| providers.provider_of(model) == Some(&own);
    let start = |speaker: &NoticeSender| {
        voice.set(speaker.clone()).ok();
        TerminalServices::begin(options, settings, home, models, (chosen, helpers), found, is_coloured)
            .map_err(|error| error_notice(&error))
    };
    let over = CancellationToken::new();
    let ended = thread::scope(|scope| {
        let note = || note_previous(resumed.as_deref());
        let learn = || {
            let tell =
                |text: String| voice.get().into_iter().for_each(|voice| voice.send(Notice::info(&text)));
            learn_in_background(settings, &own_home, learner, &is_own_model, &over, tell);
        };
        // Where the system has no thread for them, they are left for the next time.
        let _ = thread::Builder::new().spawn_scoped(scope, note);
        let _ = thread::Builder::new().spawn_scoped(scope, learn);
        let ended = longhaul_terminal::run(start, &screen);
        over.cancel();
        ended
    });
    Ok(exit_code(ended.context("could not use the terminal")?))
}

/// Writes notes on the previous session if there are none, in the background and without a model. A failure is left for the
/// next start.
fn note_previous(resumed: Option<&str>) {
    if let Ok(Some(project)) = Project::find() {
        let _ = write_notes_on_previous(&project, resumed.unwrap_or_default());
    }
}

/// Picks the full screen, unless the terminal cannot be drawn on or the user has a screen reader.
fn surface(options: &TalkOptions, settings: &Settings) -> Surface {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    match options.is_for_screen_readers() || settings.is_for_screen_readers() {
        true => Surface::Spoken,
        false if is_dumb => Surface::Lines,
        false => Surface::Screen,
    }
}

/// A folder's path, with the user's own folder shortened.
fn short_name(folder: &Path, user_home: Option<&Path>) -> String {
    match user_home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_string(),
        Some(inside) => PathBuf::from("~").join(inside).display().to_string(),
        None => folder.display().to_string(),
    }
}

/// An error as a notice.
fn error_notice(error: &anyhow::Error) -> Notice {
    let notice = Notice::error(sentence(&format!("{error:#}")));
    match hint_for(error) {
        Some(hint) => notice.with_hint(sentence(&hint)),
        None => notice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_from_home_on() {
        let name = |folder: &str| short_name(Path::new(folder), Some(Path::new("/home/me")));
        assert_eq!(name("/home/me"), "~");
        assert_eq!(name("/home/me/code/app"), "~/code/app");
        assert_eq!(name("/srv/app"), "/srv/app");
    }
}
