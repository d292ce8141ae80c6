//! `longhaul sessions export FILE --format F -o OUT`: writes a session in another format.

use std::io::Write;

use longhaul_session::write_session;

use super::{ExportOptions, load, losses, report};
use crate::args::Color;
use crate::input::display_name;
use crate::output::{Screen, plural};

/// Reads, writes and tells what the format could not hold.
pub(super) fn run(options: &ExportOptions, color: Color) -> anyhow::Result<()> {
    let files = &options.files;
    let destination = files.destination()?;
    let session = load(&files.file)?;
    let written = write_session(options.format.into(), &session);
    destination.write(&written.text)?;
    if files.json {
        let object = report::fields(&display_name(&files.file), &session, &written, &destination);
        return report::print_json(&object, &destination);
    }
    let aside = Screen::of_stderr(color);
    let told = report::warnings(&session, &aside) + &losses::text(&written.lost, &aside);
    std::io::stderr().lock().write_all(told.as_bytes())?;
    let screen = report::screen(&destination, color);
    let count = plural(session.transcript.messages().len(), "message", "messages");
    let outcome = report::outcome(&destination, &written);
    report::print(&format!("{}; {outcome}.\n", screen.strong(&count)), &destination)
}
