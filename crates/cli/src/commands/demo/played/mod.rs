//! The demonstration on a terminal: the real screen, the real agent and real tools on a made-up project; only the model, the
//! keyboard and the compiler follow a script.

mod performer;
mod scene;
mod stage;

use std::process::ExitCode;

use anyhow::Context;
use longhaul_display::Palette;
use longhaul_terminal::{DemoScript, ExitReason, Notice, Options, Pace, Preferences, Surface};

use self::stage::Stage;
use crate::output::{self, Screen};
use crate::running::exit_code;

/// Plays the session.
pub(super) fn run(pace: Pace, screen: &Screen) -> anyhow::Result<ExitCode> {
    let folder = super::temporary_folder()?;
    let project = folder.path().join(scene::PROJECT);
    scene::set_up(&project).context("could not create the demo project")?;
    let project = project.canonicalize().context("could not find the demo project")?;
    let greeting =
        Notice::info("A scripted session in the real interface: no key, no network, nothing saved.")
            .with_hint("Press any key to skip ahead, Esc to quit.");
    let options = Options {
        preferences: Preferences {
            palette: screen.is_coloured().then_some(Palette::TERMINAL),
            ..Preferences::default()
        },
        surface: Surface::Screen,
        folder: project.clone(),
        folder_name: format!("~/{}", scene::PROJECT),
        user_home: None,
        history: None,
        editor: String::new(),
        greeting: vec![greeting],
        first_prompt: None,
    };
    let script = DemoScript { steps: scene::steps(), pace: pace.clone() };
    let start = |_: &_| {
        Stage::open(folder.path(), &project, pace).map_err(|error| Notice::error(format!("{error:#}")))
    };
    let ended = longhaul_terminal::play(start, &options, script).context("could not use the terminal")?;
    if ended == ExitReason::Left {
        output::print(&ending(screen))?;
    }
    Ok(exit_code(ended))
}

/// Next steps, printed at the end.
fn ending(screen: &Screen) -> String {
    format!(
        "\n\
         {}\n\
         \x20 longhaul                           talk to a model in this folder\n\
         \x20 longhaul inspect FILE              show where a session's tokens went\n\
         \x20 longhaul compress FILE -o OUT      shorten a session offline\n\
         \x20 longhaul demo --plain              print the longer demo as plain lines\n",
        screen.strong("Try it on your own work")
    )
}
