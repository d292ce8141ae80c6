//! The `longhaul` program: reads its arguments, runs one command, and says what went wrong in words.
//!
//! ```text
//! longhaul inspect session.jsonl
//! ```

mod args;
mod commands;
mod destination;
mod editor;
mod failure;
mod input;
mod options;
mod output;
mod questions;
mod reports;
mod running;
mod trust;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use longhaul_app::failure::hinted;
use longhaul_app::settings::{LoadedSettings, Settings, check_restrictions, load_here, unsupported_notice};
use longhaul_app::trust::untrusted_notice;
use longhaul_app::withheld::{self, WithheldVariables};
use longhaul_app::{environment, project};
use longhaul_workspace::check_threads;

use crate::args::{Args, Command};
use crate::options::TalkOptions;
use crate::output::{Color, Screen, thousands, visible};

/// More warnings about settings than this are only counted.
const MOST_WARNINGS: usize = 20;

/// The stack of the program, however small the user's limit is.
const STACK: usize = 8 << 20;

/// Runs the program on a thread with a stack of its own: a session that is deeply nested must not depend on `ulimit -s`.
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
        Args::try_parse().unwrap_or_else(|error| failure::exit_for_usage(&error, Color::of_arguments()));
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
        Command::Inspect(options) => find_session(&mut options.file)
            .and_then(|()| load_settings())
            .and_then(|settings| commands::inspect::run(options, &settings, &screen)),
        Command::Compress(options) => find_session(&mut options.file)
            .and_then(|()| load_settings())
            .and_then(|settings| commands::compress::run(options, &settings, color)),
        Command::Eval(options) => commands::eval::run(options, load_settings, color),
        Command::Sessions(command) => commands::sessions::run(command, load_settings, color),
        Command::Memory(command) => commands::memory::run(command, load_settings, color),
        Command::Skills(args) => commands::skills::run(args, load_settings, color),
        Command::Trust(command) => commands::trust::run(command, color),
        Command::Agents(command) => commands::agents::run(command, load_settings, color),
        Command::Policy(command) => commands::policy::run(command, load_settings, color),
        Command::Recall(options) => commands::recall::run(options, &screen),
        Command::Demo(options) => return exit(commands::demo::run(options, &screen), color),
        Command::Doctor(options) => commands::doctor::run(options, &screen),
        Command::Completions { shell } => commands::completions::run(Args::command(), *shell),
    };
    ended(&done, color)
}

/// Talks to a model: with a person at a terminal, or once with what is said; prints the help where nothing is.
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

/// Ends the program as the screen ended, or with an error.
fn exit(ended: anyhow::Result<ExitCode>, color: Color) -> ExitCode {
    ended.unwrap_or_else(|error| failure::report(&error, &Screen::of_stderr(color)))
}

/// Puts the file of a session of this project in the place of its name.
fn find_session(file: &mut PathBuf) -> anyhow::Result<()> {
    *file = project::session_file(file)?;
    Ok(())
}

/// Takes secrets out of the environment, so that what an agent runs cannot read them there.
fn take_out_secrets(color: Color) -> WithheldVariables {
    let rules = || {
        let home = environment::home(&environment::of_process()).ok().flatten();
        // What is wrong with the settings is said when they are loaded for good.
        let loaded = load_here().unwrap_or_default();
        loaded.settings.variable_rules(home.as_ref())
    };
    withheld::take_out_secrets(rules).unwrap_or_else(|error| {
        let label = Screen::of_stderr(color).warning("warning:");
        let text = format!(
            "{label} could not take the keys out of the environment of this process, where commands can read them: {error}\n"
        );
        std::io::stderr().write_all(text.as_bytes()).ok();
        WithheldVariables::default()
    })
}

/// Loads the settings for a command that works without an agent, and prints what is odd about them.
fn load_settings(color: Color, withheld: &WithheldVariables) -> anyhow::Result<Settings> {
    load_settings_for(SettingsReader::Command, color, withheld)
}

/// Loads the settings for an agent, and prints what is odd about them and what an untrusted folder has no say in.
fn load_agent_settings(color: Color, withheld: &WithheldVariables) -> anyhow::Result<Settings> {
    load_settings_for(SettingsReader::Agent, color, withheld)
}

/// The reader of the settings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsReader {
    Command,
    Agent,
}

fn load_settings_for(
    work: SettingsReader,
    color: Color,
    withheld: &WithheldVariables,
) -> anyhow::Result<Settings> {
    let LoadedSettings { settings, warnings, untrusted, needs_trust, review, unsupported } = load_here()?;
    let folder = environment::current_folder();
    let label = Screen::of_stderr(color).warning("warning:");
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut text: String =
        shown.map(|warning| format!("{label} {}\n", visible(&warning.to_string()))).collect();
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        text.push_str(&format!("{label} and {} more about settings\n", thousands(more as u64)));
    }
    let untrusted = match work {
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
            format!("{file} does not count, as its folder is not trusted; `longhaul trust add` trusts it")
        }),
    };
    for warning in untrusted.into_iter().chain(review.warning(&folder)) {
        text.push_str(&format!("{label} {}\n", visible(&warning)));
    }
    if work == SettingsReader::Agent
        && let Some(notice) = unsupported_notice(&unsupported)
    {
        let label = Screen::of_stderr(color).faint("note:");
        text.push_str(&format!("{label} {}\n", visible(&notice)));
    }
    // If standard error is gone there is nobody left to tell.
    std::io::stderr().write_all(text.as_bytes()).ok();
    if work == SettingsReader::Agent {
        check_restrictions(&unsupported, |name| withheld.variable(name)).map_err(|error| {
            let hint = error.hint();
            hinted(error, hint)
        })?;
    }
    Ok(settings.with_withheld(withheld.clone()))
}
