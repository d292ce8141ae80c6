//! The demonstration on a terminal: the real screen, the real agent and real tools on a made-up project; only the model, the
//! keyboard and the compiler follow a script.

mod performer;
mod scene;
mod stage;

use std::process::ExitCode;

use anyhow::Context;
use longhaul_terminal::{DemoScript, ExitReason, Notice, Options, Pace, Surface};

use self::stage::Stage;
use crate::output::{self, Screen};
use crate::running::exit_code;

/// Plays the session.
pub(super) fn run(pace: Pace, screen: &Screen) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir().context("could not make a temporary folder")?;
    let project = folder.path().join(scene::PROJECT);
    scene::set_up(&project).context("could not make the project of the demonstration")?;
    let project = project.canonicalize().context("could not find the project of the demonstration")?;
    let greeting = Notice::info("A scripted session on the real screen: no key, no network, nothing kept.")
        .with_hint("Any key hurries it on, Esc ends it.");
    let options = Options {
        is_coloured: screen.is_coloured(),
        surface: Surface::Screen,
        folder: project.clone(),
        folder_name: format!("~/{}", scene::PROJECT),
        history: None,
        editor: String::new(),
        greeting: vec![greeting],
    };
    let script = DemoScript { steps: scene::steps(), pace: pace.clone() };
    let start = |_: &_| {
        Stage::open(folder.path(), &project, pace).map_err(|error| Notice::error(format!("{error:#}")))
    };
    let ended = longhaul_terminal::play(start, &options, script).context("the terminal cannot be used")?;
    if ended == ExitReason::Left {
        output::print(&ending(screen))?;
    }
    Ok(exit_code(ended))
}

/// Hints at the end: what to do next.
fn ending(screen: &Screen) -> String {
    format!(
        "\n{}\n  longhaul                           talk to a model in this folder\n  \
         longhaul inspect FILE              where the tokens of a session are\n  \
         longhaul compress FILE -o OUT      the same session, smaller, offline\n  \
         longhaul demo --plain              the longer story, told in lines\n",
        screen.strong("On your own work")
    )
}
