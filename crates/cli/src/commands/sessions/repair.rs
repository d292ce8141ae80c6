//! `longhaul sessions repair FILE -o OUT`: repairs a session so that every provider accepts it.

use longhaul_conversation::{Repair, repair};
use longhaul_formats::write_session;
use longhaul_formats::{Format, Session};

use super::RepairOptions;
use crate::input::display_name;
use crate::output::{Color, Screen, plural, visible};
use crate::reports::redaction::{redaction_json, redaction_text};
use crate::reports::repairs::{drop_own_answers, repair_json};
use crate::reports::{losses, written as report};

/// Reads, repairs and writes a session, and reports each repair.
pub(super) fn run(options: &RepairOptions, color: Color) -> anyhow::Result<()> {
    let files = &options.files;
    let destination = files.destination()?;
    let (mut session, redaction) = files.load()?;
    let repairs = mend(&mut session);
    let format = options.format.map_or(session.info.format, Format::from);
    let messages = session.transcript.messages().len();
    let mut written = write_session(format, &mut session);
    drop_own_answers(&mut written.lost, &repairs);
    destination.write(&written.text)?;
    if files.json {
        let mut object =
            report::fields(&display_name(&files.file), &session, messages, &written, &destination);
        object["repairs"] = repairs.iter().map(repair_json).collect();
        object["redacted"] = redaction.as_ref().map(redaction_json).into();
        return report::print_json(&object, &destination);
    }
    let screen = report::screen(&destination, color);
    let mut text = report::warnings(&session, &screen);
    text.push_str(&redaction.map(|redaction| redaction_text(&redaction, &screen)).unwrap_or_default());
    text.push_str(&repairs.iter().map(|repair| repair_line(repair, &screen)).collect::<String>());
    text.push_str(&losses::text(&written.lost, &screen));
    let outcome = report::outcome(&destination, &written);
    text.push_str(&match repairs.len() {
        0 => format!("{}; {outcome}.\n", screen.good("Nothing to repair")),
        count => format!("{}; {outcome}.\n", screen.strong(&plural(count, "repair", "repairs"))),
    });
    report::print(&text, &destination)
}

/// Repairs the main conversation; what sub-agents said stays as it was.
fn mend(session: &mut Session) -> Vec<Repair> {
    let mut transcript = std::mem::take(&mut session.transcript);
    let repaired = repair(transcript.take_messages());
    session.transcript = transcript.with_messages(repaired.messages);
    repaired.repairs
}

/// The message, what was wrong in it, and what was done.
fn repair_line(repair: &Repair, screen: &Screen) -> String {
    let fault = &repair.fault;
    let mark = fault.ordinal.map_or_else(|| visible(fault.message.as_str()), |mark| mark.to_string());
    let call = fault.call.as_ref().map(|call| format!(" (call {})", visible(call.as_str())));
    let wrong = screen.warning(&format!("{}{}", fault.kind.describe(), call.unwrap_or_default()));
    format!("{mark}: {wrong}: {}\n", repair.action())
}
