//! Prints errors with their causes and a hint.

use std::io::{self, Write};
use std::process::ExitCode;

use longhaul_app::failure::{hint_for, is_caused_by};

use crate::output::{Color, Screen, visible};
use crate::running::Interrupted;

/// Prints an error with its causes and a hint, and returns the exit code for it.
pub(crate) fn report(error: &anyhow::Error, screen: &Screen) -> ExitCode {
    if is_broken_pipe(error) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    if error.is::<Interrupted>() {
        io::stderr().lock().write_all(format!("{}\n", screen.faint("cancelled")).as_bytes()).ok();
        return ExitCode::from(Interrupted::exit_code());
    }
    let mut text = format!("{} {}\n", screen.error("error:"), visible(&error.to_string()));
    for cause in error.chain().skip(1) {
        text.push_str(&format!("{} {}\n", screen.faint("caused by:"), visible(&cause.to_string())));
    }
    if let Some(hint) = hint_for(error) {
        text.push_str(&format!("{} {}\n", screen.strong("hint:"), visible(&hint)));
    }
    // If standard error is gone there is nobody left to tell.
    io::stderr().lock().write_all(text.as_bytes()).ok();
    ExitCode::FAILURE
}

/// Prints a usage error or the requested help, and exits.
pub(crate) fn exit_for_usage(error: &clap::Error, color: Color) -> ! {
    let acts = |argument: &std::ffi::OsStr| {
        let argument = argument.to_string_lossy();
        visible(&argument) != argument
    };
    let screen = if error.use_stderr() { Screen::of_stderr(color) } else { Screen::of_stdout(color) };
    let text = if std::env::args_os().any(|argument| acts(&argument)) {
        // The message repeats the arguments, which may be file names that somebody else chose.
        error.render().to_string().lines().map(|line| visible(line) + "\n").collect()
    } else if screen.is_coloured() {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    // If nobody is there to be told, the exit code still says it.
    match error.use_stderr() {
        true => io::stderr().lock().write_all(text.as_bytes()).ok(),
        false => io::stdout().lock().write_all(text.as_bytes()).ok(),
    };
    std::process::exit(error.exit_code());
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    is_caused_by(error, &[io::ErrorKind::BrokenPipe])
}
