//! The inspection as one JSON object; docs/json.md describes it.

use longhaul_conversation::{MessageId, Ordinal, Usage};
use serde_json::{Value, json};

use super::Inspection;
use crate::reports::tracked::json as tracked;

/// The whole inspection.
pub(super) fn object(inspection: &Inspection) -> Value {
    let Inspection { name, info, breakdown, work, side, warnings, window, threshold } = inspection;
    json!({
        "schema": 2,
        "file": name,
        "format": info.format.as_str(),
        "session_id": info.session_id,
        "title": info.title,
        "models": info.models,
        "directory": info.directory,
        "started": info.started.map(|at| at.to_string()),
        "ended": info.ended.map(|at| at.to_string()),
        "messages": breakdown.messages,
        "turns": breakdown.turns.iter().map(|turn| json!({
            "message": mark(turn.ordinal, &turn.message),
            "id": turn.message.as_str(),
            "text": turn.preview,
            "messages": turn.messages,
            "calls": turn.calls,
            "tokens": turn.tokens,
        })).collect::<Vec<_>>(),
        "calls": breakdown.calls,
        "results": breakdown.results,
        "tokens": {
            "total": breakdown.total,
            "estimated": breakdown.counted.and_then(|counted| counted.counted).is_none(),
            "counted": breakdown.counted.and_then(|counted| counted.counted),
            "unrecorded": breakdown.counted.map(|counted| counted.unrecorded),
            "dropped": breakdown.dropped,
            "window": window.size,
            "window_source": window.source_name(),
            "threshold": threshold.tokens,
            "threshold_set_by": threshold.set_by,
            "share": breakdown.total.share_of(window.size),
            "by_kind": breakdown.kinds.iter()
                .map(|kind| (kind.kind.as_str().to_string(), json!(kind.tokens)))
                .collect::<serde_json::Map<_, _>>(),
        },
        "usage": info.last_usage.map(usage),
        "tools": breakdown.tools.iter().map(|tool| json!({
            "name": tool.name,
            "calls": tool.calls,
            "failures": tool.failures,
            "argument_tokens": tool.arguments,
            "output_tokens": tool.output,
        })).collect::<Vec<_>>(),
        "files": breakdown.files.iter().map(|file| json!({
            "path": file.path,
            "calls": file.calls,
            "tokens": file.tokens,
        })).collect::<Vec<_>>(),
        "heaviest": breakdown.heaviest.iter().map(|message| json!({
            "message": mark(message.ordinal, &message.message),
            "id": message.message.as_str(),
            "role": message.role.as_str(),
            "at": message.at.map(|at| at.to_string()),
            "kind": message.kind.as_str(),
            "text": message.preview,
            "tokens": message.tokens,
        })).collect::<Vec<_>>(),
        "growth": breakdown.growth,
        "rules": tracked::rules(&work.rules),
        "requests": tracked::requests(&work.requests),
        "ledger": tracked::ledger(&work.ledger),
        "compactions": info.compactions,
        "side_chains": { "chains": side.chains.len(), "messages": side.messages },
        "faults": breakdown.faults.iter().map(|fault| json!({
            "kind": fault.kind.as_str(),
            "message": mark(fault.ordinal, &fault.message),
            "id": fault.message.as_str(),
            "call": fault.call.as_ref().map(|call| call.as_str()),
            "refused_in": fault.kind.refused_in().iter().map(|form| form.as_str()).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "skipped": info.skipped.iter()
            .map(|(kind, count)| (kind.to_string(), json!(count)))
            .collect::<serde_json::Map<_, _>>(),
        "warnings": warnings.iter().map(|warning| json!({
            "line": warning.line,
            "reason": warning.reason,
        })).collect::<Vec<_>>(),
        "warning_count": info.warnings,
    })
}

fn mark(ordinal: Option<Ordinal>, id: &MessageId) -> String {
    ordinal.map_or_else(|| id.to_string(), |ordinal| ordinal.to_string())
}

fn usage(usage: Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "thoughts": usage.thoughts,
        "tool": usage.tool,
        "total": usage.total,
    })
}
