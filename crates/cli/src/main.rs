//! The `longhaul` program: reads its arguments, runs one command, and says what went wrong in words.
//!
//! ```text
//! longhaul inspect session.jsonl
//! ```

mod args;
mod commands;
mod destination;
mod failure;
mod input;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::output::Screen;

fn main() -> ExitCode {
    let args = Args::parse();
    let screen = Screen::of_stdout(args.color);
    let done = match &args.command {
        Command::Inspect(options) => commands::inspect::run(options, &screen),
        Command::Sessions(command) => commands::sessions::run(command, args.color),
        Command::Completions { shell } => commands::completions::run(*shell),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error, &Screen::of_stderr(args.color)),
    }
}
