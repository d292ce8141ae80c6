//! The `longhaul` program: parses its arguments, runs one command, and reports errors.
//!
//! ```text
//! longhaul inspect session.jsonl
//! ```

mod args;
mod commands;
mod destination;
mod doubts;
mod editor;
mod failure;
mod input;
mod options;
mod output;
mod questions;
mod reports;
mod running;
mod settings;
mod trust;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::settings::Settings;
use longhaul_app::withheld::WithheldVariables;
use longhaul_app::{found, project};
use longhaul_workspace::check_threads;

use crate::args::{Args, Command};
use crate::commands::directives::Kind;
use crate::options::TalkOptions;
use crate::output::{Color, Screen};
use crate::settings::{load_agent_settings, load_settings, take_out_secrets};

/// The stack of the program, however small the user's limit is.
const STACK: usize = 8 << 20;

/// Runs the program on a thread with its own stack: a deeply nested session must not depend on `ulimit -s`.
fn main() -> ExitCode {
    // Some commands work with two threads, so that one more is tried first.
    let checked = || check_threads().map_or_else(no_thread, |()| run());
    let program = std::thread::Builder::new().name("main".into()).stack_size(STACK).spawn(checked);
    match program.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => no_thread(error),
    }
}

fn no_thread(error: std::io::Error) -> ExitCode {
    let error = hinted(
        anyhow::Error::new(error).context("could not start a thread"),
        "close other programs, or raise the limits on processes and memory (`ulimit -u`, `ulimit -v`)",
    );
    failure::report(&error, &Screen::of_stderr(Color::of_arguments()))
}

fn run() -> ExitCode {
    let mut args =
        Args::read().unwrap_or_else(|error| failure::exit_for_usage(&error, Color::of_arguments()));
    if let Some(error) = args.misplaced() {
        failure::exit_for_usage(&error, args.color);
    }
    let screen = Screen::of_stdout(args.color);
    let color = args.color;
    let withheld = if args.asks_models() { take_out_secrets(color) } else { WithheldVariables::default() };
    let load_settings = || load_settings(color, &withheld);
    let Some(command) = &mut args.command else {
        return talk(&args.talk, || load_agent_settings(color, &withheld), color);
    };
    let done = match command {
        Command::Inspect(options) => find_session(&mut options.file, !options.json)
            .and_then(|()| load_settings())
            .and_then(|settings| commands::inspect::run(options, &settings, &screen)),
        Command::Compress(options) => find_session(&mut options.file, !options.json)
            .and_then(|()| load_settings())
            .and_then(|settings| commands::compress::run(options, &settings, color)),
        Command::Eval(options) => commands::eval::run(options, load_settings, color),
        Command::Sessions(command) => commands::sessions::run(command, load_settings, color),
        Command::Rules(args) => commands::directives::run(Kind::Rules, args, &screen),
        Command::Requests(args) => commands::directives::run(Kind::Requests, args, &screen),
        Command::Memory(command) => commands::memory::run(command, load_settings, color),
        Command::Skills(args) => commands::skills::run(args, load_settings, color),
        Command::Trust(command) => commands::trust::run(command, color),
        Command::Agents(command) => commands::agents::run(command, load_settings, color),
        Command::Policy(command) => commands::policy::run(command, load_settings, color),
        Command::Archive(command) => commands::archive::run(command, load_settings, &screen),
        Command::Recall(options) => commands::recall::run(options, load_settings, &screen),
        Command::Usage(options) => commands::usage::run(options, &screen),
        Command::Mcp(args) => commands::mcp::run(args, load_settings, color),
        Command::Demo(options) => return exit(commands::demo::run(options, &screen), color),
        Command::Install(options) => commands::install::run(options, color),
        Command::Uninstall(options) => commands::install::run_uninstall(options, color),
        Command::Guard(args) => commands::guard::run(args, &screen),
        Command::Report(options) => find_session(&mut options.session, true)
            .and_then(|()| load_settings())
            .and_then(|settings| commands::report::run(options, &settings, color)),
        Command::Web(options) => commands::web::run(options, load_settings),
        Command::Doctor(options) => commands::doctor::run(options, &screen),
        Command::Completions { shell } => commands::completions::run(Args::definition(), *shell),
        Command::Man(options) => commands::man::run(options, Args::definition()),
        Command::Models(options) => commands::models::run(options, load_settings, color),
        Command::Purge(options) => commands::purge::run(options, color),
    };
    ended(&done, color)
}

/// Talks to a model, at a terminal or once with a prompt; prints the help if there is neither.
fn talk(
    options: &TalkOptions,
    load_settings: impl Fn() -> anyhow::Result<Settings>,
    color: Color,
) -> ExitCode {
    if options.is_interactive() {
        return exit(commands::interactive::run(options, load_settings, color), color);
    }
    let done = match commands::talk::words(options) {
        Ok(Some(words)) => commands::talk::run(options, words, load_settings, color),
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

/// The exit code of the terminal interface, or of an error.
fn exit(ended: anyhow::Result<ExitCode>, color: Color) -> ExitCode {
    ended.unwrap_or_else(|error| failure::report(&error, &Screen::of_stderr(color)))
}

/// Replaces the name of a session by its file. `latest`, which is also meant where none is named, is the one of this folder
/// that was used last, by whatever agent; a person at a terminal who names none is asked.
fn find_session(file: &mut PathBuf, may_ask: bool) -> anyhow::Result<()> {
    let is_unnamed = *file == Path::new(found::UNNAMED);
    *file = if is_unnamed || *file == Path::new(project::LATEST) && file.symlink_metadata().is_err() {
        let mut sessions = found::recent()?;
        let place = if is_unnamed && may_ask { reports::found::choose(&sessions, now())? } else { 0 };
        let session = sessions.swap_remove(place);
        if is_unnamed {
            eprintln!("note: {}", reports::found::chosen(&session, now()));
        }
        session.path
    } else {
        project::session_file(file)?
    };
    Ok(())
}
