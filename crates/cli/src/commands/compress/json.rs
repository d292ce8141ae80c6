//! The compaction as one JSON object; docs/json.md describes it.

use longhaul_compaction::{Report, SummaryNotes};
use longhaul_conversation::Request;
use longhaul_extract::Coverage;
use longhaul_wire::{WireFormat, write_request};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::Compression;
use crate::doubts::doubt_text;
use crate::reports::losses;
use crate::reports::redaction::redaction_json;
use crate::reports::repairs::repair_json;
use crate::reports::tracked::json as tracked;

/// The whole compaction, made as it is written.
pub(super) struct Object<'c>(pub(super) &'c Compression);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Compression { session, tracker, outcome, .. } = self.0;
        let snapshot = outcome.snapshot.as_ref().map(|snapshot| snapshot.render()).unwrap_or_default();
        let repairs: Vec<Value> = outcome.repairs.iter().map(repair_json).collect();
        let warnings = outcome.warnings.iter().map(|reason| json!({"line": null, "reason": reason}));
        let read = session.warnings.iter();
        let read = read.map(|warning| json!({"line": warning.line, "reason": warning.reason}));
        let doubts = tracker.rules().doubts().map(|(older, newer)| doubt_text(&older.text, &newer.text));
        let doubts = doubts.map(|reason| json!({"line": null, "reason": reason}));
        let warnings: Vec<Value> = warnings.chain(doubts).chain(read).collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("schema", &2)?;
        object.serialize_entry("status", &outcome.status)?;
        object.serialize_entry("reason", &outcome.reason)?;
        object.serialize_entry("before_tokens", &outcome.before)?;
        object.serialize_entry("after_tokens", &outcome.after)?;
        object.serialize_entry("added_tokens", &outcome.added)?;
        object.serialize_entry("split_index", &outcome.split_index)?;
        object.serialize_entry("coverage", &coverage(outcome.coverage.as_ref()))?;
        object.serialize_entry("summary", &summary(outcome.notes.as_ref()))?;
        object.serialize_entry("rules", &tracked::rules(tracker.rules()))?;
        object.serialize_entry("requests", &tracked::requests(tracker.requests()))?;
        object.serialize_entry("ledger", &tracked::ledger(tracker.ledger()))?;
        object.serialize_entry("snapshot", &snapshot)?;
        object.serialize_entry("contents", &contents(self.0))?;
        object.serialize_entry("repairs", &repairs)?;
        object.serialize_entry("warnings", &warnings)?;
        object.serialize_entry("report", &report(&outcome.report, self.0))?;
        object.end()
    }
}

/// Coverage in counts. No share is told: none was found that says what later work will use (`bench/coverage`).
fn coverage(coverage: Option<&Coverage>) -> Value {
    let nothing = Coverage::default();
    let coverage = coverage.unwrap_or(&nothing);
    json!({
        "share": null,
        "kept": coverage.names.kept,
        "of": coverage.names.of,
        "kinds": coverage.kinds.iter().map(|(kind, count)| json!({
            "kind": kind,
            "kept": count.kept,
            "of": count.of,
        })).collect::<Vec<_>>(),
        "missing": coverage.missing.iter().map(|missing| json!({
            "text": missing.text,
            "kind": missing.kind,
            "message": missing.message.to_string(),
        })).collect::<Vec<_>>(),
    })
}

/// What became of a model's summary; null if none was used.
fn summary(notes: Option<&SummaryNotes>) -> Value {
    let Some(notes) = notes else { return Value::Null };
    json!({
        "kept": notes.kept,
        "cut": notes.cut,
        "unsupported": notes.unsupported,
        "goals_dropped": notes.goals_dropped,
        "tasks_found": notes.tasks_found,
        "rules_found": notes.rules_found,
        "rules_quoted": notes.quoted.iter().map(|quote| json!({
            "text": quote.text,
            "message": quote.message.to_string(),
        })).collect::<Vec<_>>(),
    })
}

/// The conversation as Gemini takes it.
fn contents(compression: &Compression) -> Value {
    let messages = compression.session.transcript.messages().to_vec();
    let mut body = write_request(WireFormat::Gemini, Request { messages, ..Request::default() }).value;
    match body["contents"].take() {
        Value::Null => json!([]),
        contents => contents,
    }
}

fn report(report: &Report, compression: &Compression) -> Value {
    let Compression {
        name,
        session,
        window,
        counted,
        set_by,
        redaction,
        written,
        destination,
        saved,
        is_dry_run,
        ..
    } = compression;
    json!({
        "file": name,
        "format": session.info.format.as_str(),
        "dry_run": is_dry_run,
        "rung": report.rung,
        "plan": compression.outcome.plan.to_string(),
        "summariser": report.summariser,
        "counted": counted.and_then(|counted| counted.counted),
        "unrecorded": counted.map(|counted| counted.unrecorded),
        "window": report.window,
        "window_source": window.source_name(),
        "threshold": report.threshold,
        "snapshot_budget": report.snapshot_budget,
        "set_by": set_by.iter().map(|(name, place)| ((*name).to_string(), json!(place)))
            .collect::<serde_json::Map<_, _>>(),
        "redacted": redaction.as_ref().map(redaction_json),
        "messages_before": report.messages_before,
        "messages_after": report.messages_after,
        "rules_kept": report.rules_kept,
        "rules": report.rules,
        "rules_exceed_budget": report.rules_exceed_budget,
        "requests": report.requests,
        "ledger": report.ledger,
        "target": written.format.as_str(),
        "written": destination.name(),
        "saved": saved.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "lost": losses::json(&written.lost),
        "milliseconds": report.duration.map(|time| time.as_secs_f64() * 1_000.0),
    })
}
