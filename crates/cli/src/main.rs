//! The `longhaul` program: reads its arguments, runs one command, and says what went wrong in words.
//!
//! ```text
//! longhaul inspect session.jsonl
//! ```

mod args;
mod clock;
mod commands;
mod destination;
mod environment;
mod equipment;
mod extraction;
mod failure;
mod input;
mod models;
mod output;
mod project;
mod redaction;
mod review;
mod running;
mod settings;
mod told;
mod trust;
mod window;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Color, Command};
use crate::commands::talk::TalkOptions;
use crate::output::{Screen, thousands, visible};
use crate::settings::{Loaded, Settings};

/// More warnings about settings than this are only counted.
const MOST_WARNINGS: usize = 20;

fn main() -> ExitCode {
    let mut args =
        Args::try_parse().unwrap_or_else(|error| failure::exit_for_usage(&error, Color::of_arguments()));
    if let Some(error) = args.misplaced() {
        failure::exit_for_usage(&error, args.color);
    }
    let screen = Screen::of_stdout(args.color);
    let color = args.color;
    let Some(command) = &mut args.command else { return talk(&args.talk, color) };
    let done = match command {
        Command::Inspect(options) => find_session(&mut options.file)
            .and_then(|()| load_settings(color))
            .and_then(|settings| commands::inspect::run(options, &settings, &screen)),
        Command::Compress(options) => find_session(&mut options.file)
            .and_then(|()| load_settings(color))
            .and_then(|settings| commands::compress::run(options, &settings, color)),
        Command::Eval(options) => commands::eval::run(options, || load_settings(color), color),
        Command::Sessions(command) => commands::sessions::run(command, || load_settings(color), color),
        Command::Memory(command) => commands::memory::run(command, || load_settings(color), color),
        Command::Skills(args) => commands::skills::run(args, || load_settings(color), color),
        Command::Trust(command) => commands::trust::run(command, color),
        Command::Agents(command) => commands::agents::run(command, || load_settings(color), color),
        Command::Policy(command) => commands::policy::run(command, || load_settings(color), color),
        Command::Recall(options) => commands::recall::run(options, &screen),
        Command::Demo(options) => return exit(commands::demo::run(options, &screen), color),
        Command::Doctor(options) => commands::doctor::run(options, &screen),
        Command::Completions { shell } => commands::completions::run(*shell),
    };
    ended(&done, color)
}

/// Talks to a model: with a person at a terminal, or once with what is said; prints the help where nothing is.
fn talk(options: &TalkOptions, color: Color) -> ExitCode {
    if options.is_interactive() {
        return exit(commands::interactive::run(options, || load_settings(color), color), color);
    }
    let done = match options.words() {
        Ok(Some(words)) => commands::talk::run(options, words, || load_settings(color), color),
        Ok(None) if options.is_empty() => failure::exit_for_usage(&Args::help(), color),
        Ok(None) => failure::exit_for_usage(&Args::nothing_said(), color),
        Err(error) => Err(error),
    };
    ended(&done, color)
}

fn ended(done: &anyhow::Result<()>, color: Color) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(error, &Screen::of_stderr(color)),
    }
}

/// What was on the screen has its own end.
fn exit(ended: anyhow::Result<ExitCode>, color: Color) -> ExitCode {
    ended.unwrap_or_else(|error| failure::report(&error, &Screen::of_stderr(color)))
}

/// Puts the file of a session of this project in the place of its name.
fn find_session(file: &mut PathBuf) -> anyhow::Result<()> {
    *file = project::session_file(file)?;
    Ok(())
}

/// Loads the settings that hold in the current folder, and prints what is odd about them.
fn load_settings(color: Color) -> anyhow::Result<Settings> {
    // A current folder that was deleted has no settings.
    let cwd = std::env::current_dir().unwrap_or_default();
    let environment = environment::of_process();
    let Loaded { settings, warnings, untrusted, .. } =
        Settings::load(environment::home(&environment)?.as_ref(), &cwd, &environment)?;
    let label = Screen::of_stderr(color).warning("warning:");
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut text: String =
        shown.map(|warning| format!("{label} {}\n", visible(&warning.to_string()))).collect();
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        text.push_str(&format!("{label} and {} more about settings\n", thousands(more as u64)));
    }
    if let Some(file) = untrusted {
        let file = visible(&file.display().to_string());
        text.push_str(&format!(
            "{label} {file} does not count, as its folder is not trusted; `longhaul trust add` trusts it\n"
        ));
    }
    // If standard error is gone there is nobody left to tell.
    std::io::stderr().write_all(text.as_bytes()).ok();
    Ok(settings)
}
