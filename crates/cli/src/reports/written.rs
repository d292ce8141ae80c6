//! Reports of commands that write sessions, about reading and writing.

use std::io::Write;

use longhaul_formats::{Session, WrittenSession};
use serde::Serialize;
use serde_json::{Value, json};

use super::losses;
use crate::destination::Destination;
use crate::output::{self, Color, Screen, fit, plural, thousands, visible};

/// The most warnings that are shown one by one.
const WARNINGS_SHOWN: usize = 10;

/// The screen for the report: standard error if the result goes to standard output.
pub(crate) fn screen(destination: &Destination, color: Color) -> Screen {
    match destination {
        Destination::Stdout => Screen::of_stderr(color),
        _ => Screen::of_stdout(color),
    }
}

/// Prints a report, where [`screen`] says.
pub(crate) fn print(text: &str, destination: &Destination) -> anyhow::Result<()> {
    match destination {
        Destination::Stdout => std::io::stderr().lock().write_all(text.as_bytes())?,
        _ => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}

/// An object on lines of its own.
pub(crate) fn print_json(object: &impl Serialize, destination: &Destination) -> anyhow::Result<()> {
    match destination {
        Destination::Stdout => output::write_json(object, std::io::stderr().lock()),
        _ => output::print_json(object),
    }
}

/// The warnings in reading.
pub(crate) fn warnings(session: &Session, screen: &Screen) -> String {
    if session.info.warnings == 0 {
        return String::new();
    }
    let heading = plural(session.info.warnings, "warning while reading:", "warnings while reading:");
    let mut text = format!("{}\n", screen.strong(&heading));
    for warning in session.warnings.iter().take(WARNINGS_SHOWN) {
        let line = fit(&format!("  {warning}"), screen.width);
        text.push_str(&screen.warning(&line));
        text.push('\n');
    }
    if session.info.warnings > WARNINGS_SHOWN {
        let more = thousands((session.info.warnings - WARNINGS_SHOWN) as u64);
        text.push_str(&format!("  and {more} more; --json lists them\n"));
    }
    text
}

/// The destination of the session, as the end of a sentence.
pub(crate) fn outcome(destination: &Destination, written: &WrittenSession) -> String {
    let format = written.format;
    match destination {
        Destination::Nowhere => format!("nothing written; pass -o OUT to write it as {format}"),
        Destination::Recorded(path) => {
            let id = path.file_stem().unwrap_or_default().to_string_lossy();
            format!("recorded in {}; `longhaul sessions undo` takes it back", visible(&id))
        }
        Destination::Stdout => format!("wrote it to standard output as {format}"),
        Destination::File { path, .. } | Destination::Stream(path) => {
            format!("wrote {} as {format}", visible(&path.display().to_string()))
        }
    }
}

/// The JSON fields that both commands share; messages are counted before they are written.
pub(crate) fn fields(
    name: &str,
    session: &Session,
    messages: usize,
    written: &WrittenSession,
    destination: &Destination,
) -> Value {
    json!({
        "schema": 1,
        "file": name,
        "format": session.info.format.as_str(),
        "messages": messages,
        "target": written.format.as_str(),
        "written": destination.name(),
        "lost": losses::json(&written.lost),
        "warnings": session.warnings.iter().map(|warning| json!({
            "line": warning.line,
            "reason": warning.reason,
        })).collect::<Vec<_>>(),
        "warning_count": session.info.warnings,
    })
}
