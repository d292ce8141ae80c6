//! `longhaul sessions export FILE --format F -o OUT`: converts a session to another format.

use std::io::Write;

use longhaul_formats::write_session;

use super::ExportOptions;
use crate::input::display_name;
use crate::output::{Color, Screen, plural};
use crate::reports::redaction::{redaction_json, redaction_text};
use crate::reports::{losses, written as report};

/// Reads and writes a session, and reports what the format could not hold.
pub(super) fn run(options: &ExportOptions, color: Color) -> anyhow::Result<()> {
    let files = &options.files;
    let destination = files.destination()?;
    let (mut session, redaction) = files.load()?;
    let messages = session.transcript.messages().len();
    let written = write_session(options.format.into(), &mut session);
    destination.write(&written.text)?;
    if files.json {
        let mut object =
            report::fields(&display_name(&files.file), &session, messages, &written, &destination);
        object["redacted"] = redaction.as_ref().map(redaction_json).into();
        return report::print_json(&object, &destination);
    }
    let aside = Screen::of_stderr(color);
    let told = [
        report::warnings(&session, &aside),
        redaction.map(|redaction| redaction_text(&redaction, &aside)).unwrap_or_default(),
        losses::text(&written.lost, &aside),
    ]
    .concat();
    std::io::stderr().lock().write_all(told.as_bytes())?;
    let screen = report::screen(&destination, color);
    let count = plural(messages, "message", "messages");
    let outcome = report::outcome(&destination, &written);
    report::print(&format!("{}; {outcome}.\n", screen.strong(&count)), &destination)
}
