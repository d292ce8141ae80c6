//! Rules, requests and the ledger as JSON; docs/json.md describes it.

use longhaul_conversation::Ordinal;
use longhaul_directives::{RequestState, Retirement, UserRequest, UserRequests, UserRule, UserRules};
use longhaul_ledger::{FileEntry, FileState, Ledger, RunEntry};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Every rule: active ones, then retired ones.
pub(crate) fn rules(rules: &UserRules) -> impl Serialize {
    Each(|| rules.active().chain(rules.retired()).map(rule))
}

/// Every request, in order.
pub(crate) fn requests(requests: &UserRequests) -> impl Serialize {
    Each(|| requests.all().iter().map(request))
}

/// A list whose items are made while it is written: there may be very many.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item = Value>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The whole record of work.
pub(crate) fn ledger(ledger: &Ledger) -> Value {
    json!({
        "files": ledger.files().map(|(path, entry)| file(path, entry)).collect::<Vec<_>>(),
        "commands": ledger.commands().iter().map(|command| json!({
            "command": command.text,
            "purpose": command.purpose,
            "outcome": command.outcome,
            "exit_code": command.exit_code,
            "milliseconds": command.millis,
            "message": command.at.to_string(),
            "fixed": command.fixed.map(|at| at.to_string()),
        })).collect::<Vec<_>>(),
        "tests": ledger.runs().iter().map(run).collect::<Vec<_>>(),
        "errors": ledger.errors().iter().map(|error| json!({
            "name": error.name,
            "text": error.message,
            "file": error.file,
            "source": error.source,
            "message": error.at.to_string(),
            "fixed": error.fixed.map(|at| at.to_string()),
        })).collect::<Vec<_>>(),
        "jobs": ledger.jobs().iter().map(|job| json!({
            "kind": job.kind,
            "text": job.text,
            "handle": job.handle,
            "outcome": job.outcome,
            "message": job.at.to_string(),
            "ended": job.ended.map(|at| at.to_string()),
        })).collect::<Vec<_>>(),
        "commits": ledger.commits().iter().map(|commit| json!({
            "hash": commit.hash,
            "text": commit.message,
            "message": commit.at.to_string(),
        })).collect::<Vec<_>>(),
        "plan": ledger.plan().steps.iter().map(|step| json!({
            "text": step.text,
            "status": step.status,
        })).collect::<Vec<_>>(),
    })
}

fn rule(rule: &UserRule) -> Value {
    let retired_by = rule.retired_by.as_ref().map(|retirement| match retirement {
        Retirement::Message { message, .. } => message.to_string(),
        Retirement::Hand => "hand".to_string(),
    });
    json!({"id": rule.id, "text": rule.text, "messages": marks(&rule.messages), "retired_by": retired_by})
}

fn request(request: &UserRequest) -> Value {
    let (state, evidence) = match &request.state {
        RequestState::Open { reason } => ("open", reason.as_ref()),
        RequestState::Done(evidence) => ("done", Some(evidence)),
        RequestState::Replaced { .. } => ("replaced", None),
    };
    let evidence = match (&request.state, evidence) {
        (RequestState::Replaced { by }, _) => {
            json!({"message": by.to_string(), "kind": "replaced", "text": null})
        }
        (_, Some(evidence)) => {
            let message = evidence.message.to_string();
            json!({"message": message, "kind": evidence.kind, "text": evidence.words})
        }
        (_, None) => Value::Null,
    };
    let id = request.id();
    json!({"id": id, "text": request.text, "state": state, "messages": marks(&request.messages), "evidence": evidence})
}

fn file(path: &str, entry: &FileEntry) -> Value {
    let moved_to = if let FileState::Moved { to } = &entry.state { Some(to) } else { None };
    json!({
        "path": path,
        "state": entry.state.as_str(),
        "moved_to": moved_to,
        "first": entry.first.to_string(),
        "last": entry.last.to_string(),
        "read": entry.read.as_ref().map(|read| json!({
            "times": read.times,
            "whole": read.whole,
            "lines": read.ranges.iter().map(|range| json!([range.first, range.last])).collect::<Vec<_>>(),
        })),
        "change": entry.change.as_ref().map(|change| json!({
            "edits": change.edits,
            "added": change.added,
            "removed": change.removed,
            "symbols": change.symbols,
        })),
        "hash": entry.hash,
    })
}

fn run(run: &RunEntry) -> Value {
    json!({
        "runner": run.runner,
        "purpose": run.purpose,
        "command": run.command,
        "outcome": run.outcome,
        "passed": run.passed,
        "failed": run.failed,
        "skipped": run.skipped,
        "failing": run.failing,
        "message": run.at.to_string(),
    })
}

fn marks(ordinals: &[Ordinal]) -> impl Serialize + use<> {
    ordinals.iter().map(Ordinal::to_string).collect::<Vec<_>>()
}
