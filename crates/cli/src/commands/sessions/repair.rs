//! `longhaul sessions repair FILE -o OUT`: makes a session acceptable to every provider again.

use std::collections::HashSet;

use longhaul_conversation::{CallId, FaultKind, Repair, repair};
use longhaul_formats::{Format, Session, write_session};
use longhaul_wire::{Loss, LossKind};
use serde_json::{Value, json};

use super::{RepairOptions, losses, report};
use crate::args::Color;
use crate::input::display_name;
use crate::output::{Screen, plural, visible};
use crate::redaction::Redaction;

/// Reads, repairs, writes and tells.
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
        object["redacted"] = redaction.as_ref().map(Redaction::json).into();
        return report::print_json(&object, &destination);
    }
    let screen = report::screen(&destination, color);
    let mut text = report::warnings(&session, &screen);
    text.push_str(&redaction.map(|redaction| redaction.text(&screen)).unwrap_or_default());
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

/// Takes out what is lost only of the answers that repairs made up: nobody said those.
pub(crate) fn drop_own_answers(lost: &mut Vec<Loss>, repairs: &[Repair]) {
    let answered = repairs.iter().filter(|repair| repair.fault.kind == FaultKind::UnansweredCall);
    let calls: HashSet<&str> =
        answered.filter_map(|repair| repair.fault.call.as_ref()).map(CallId::as_str).collect();
    lost.retain(|loss| loss.kind != LossKind::Status || !calls.contains(loss.detail.as_str()));
}

/// The message, what was wrong in it, and what was done.
fn repair_line(repair: &Repair, screen: &Screen) -> String {
    let fault = &repair.fault;
    let mark = fault.ordinal.map_or_else(|| visible(fault.message.as_str()), |mark| mark.to_string());
    let call = fault.call.as_ref().map(|call| format!(" (call {})", visible(call.as_str())));
    let wrong = screen.warning(&format!("{}{}", fault.kind.describe(), call.unwrap_or_default()));
    format!("{mark}: {wrong}: {}\n", repair.action())
}

/// One repair as JSON.
pub(crate) fn repair_json(repair: &Repair) -> Value {
    let fault = &repair.fault;
    json!({
        "kind": fault.kind.as_str(),
        "message": fault.ordinal.map(|ordinal| ordinal.to_string()),
        "id": fault.message.as_str(),
        "call": fault.call.as_ref().map(|call| call.as_str()),
        "action": repair.action(),
    })
}
