//! The events of a turn as JSON; docs/json.md describes them.

use std::path::PathBuf;

use longhaul_agent::{
    Event as AgentEvent, Instruction, InstructionSource, MemoryNews, Overflow, SideCalls, Spending,
    Statistics, ToolEnd, TurnEnd,
};
use longhaul_conversation::{Consumption, FinishReason, ToolCall, ToolStatus, Usage};
use longhaul_engine::Event;
use serde_json::{Value, json};

/// An object with its type in front.
pub(super) fn typed(kind: &str, fields: Value) -> Value {
    let mut object = serde_json::Map::from_iter([("type".to_string(), Value::from(kind))]);
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

/// A request that would not fit.
pub(super) fn overflow(overflow: &Overflow) -> Value {
    json!({
        "request_tokens": overflow.request,
        "remaining_tokens": overflow.remaining,
        "window": overflow.window,
        "fixed": {
            "system": overflow.fixed.system,
            "tools": overflow.fixed.tools,
            "memory": overflow.fixed.memory,
        },
    })
}

/// The reason why the model stopped, where it did.
pub(super) fn finish_reason(end: &TurnEnd) -> Value {
    let TurnEnd::Finished(reason) = end else { return Value::Null };
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::Filtered => "filtered",
        FinishReason::Other(word) => word,
    }
    .into()
}

/// A call that runs from now on.
pub(super) fn tool_call(call: &ToolCall) -> Value {
    json!({"type": "tool_call", "id": call.id, "name": call.name, "args": call.args})
}

/// A call that was answered.
pub(super) fn tool_result(end: &ToolEnd) -> Value {
    let status = match end.status {
        ToolStatus::Succeeded | ToolStatus::Unstated => "succeeded",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
    };
    json!({
        "type": "tool_result",
        "id": end.call.id,
        "name": end.call.name,
        "args": end.call.args,
        "status": status,
        "output": end.text,
        "saved_as": end.saved_as,
        "left_out_bytes": end.left_out,
        "milliseconds": end.took.as_millis() as u64,
    })
}

/// The statistics of a turn.
pub(super) fn statistics(statistics: &Statistics) -> Value {
    let tools = statistics.tools.iter().map(|(name, tool)| {
        let counts = json!({
            "calls": tool.calls,
            "failures": tool.failures,
            "refusals": tool.refusals,
            "milliseconds": tool.took.as_millis() as u64,
        });
        (name.clone(), counts)
    });
    let tools: serde_json::Map<String, Value> = tools.collect();
    json!({
        "reads": statistics.reads,
        "rereads": statistics.rereads,
        "reread_tokens": statistics.reread_tokens.0,
        "unchanged_reads": statistics.unchanged_reads,
        "unchanged_tokens": statistics.unchanged_tokens.0,
        "tools": tools,
    })
}

/// Small questions to models beside the conversation, and what they cost, if every price is known.
pub(super) fn asides(asides: &SideCalls, cost_of: impl Fn(&str, &Usage) -> Option<f64>) -> Value {
    let cost = |(model, consumed): (&str, &Consumption)| cost_of(model, &consumed.usage_with_estimates()?);
    let cost: Option<f64> = asides.iter().map(cost).sum();
    let consumed = asides.total();
    json!({
        "requests": consumed.requests,
        "usage": consumed.usage,
        "estimated": estimated(&consumed),
        "cost": cost,
    })
}

/// The tokens of requests of which the provider reported nothing.
pub(super) fn estimated(consumed: &Consumption) -> Value {
    json!({"input": consumed.estimated_input, "output": consumed.estimated_output})
}

/// The tokens of a call, every request that was sent for it included.
pub(super) fn spent(consumed: &Consumption) -> Value {
    json!({
        "type": "spent",
        "requests": consumed.requests,
        "usage": consumed.usage,
        "estimated": estimated(consumed),
    })
}

/// The event of a sub-agent: what it does and what it consumes, not what it says.
pub(super) fn in_subagent(event: &AgentEvent) -> Option<Value> {
    Some(match event {
        AgentEvent::ToolBegan { call, .. } => tool_call(call),
        AgentEvent::ToolEnded(end) => tool_result(end),
        AgentEvent::Usage(usage) => typed("usage", json!(usage)),
        AgentEvent::Spent { on: Spending::Answer, consumed } => spent(consumed),
        AgentEvent::Compaction(event) => typed("compaction", compaction(event)),
        AgentEvent::Looping { detail } => json!({"type": "loop", "detail": detail}),
        _ => return None,
    })
}

/// Memory files that are news.
pub(super) fn memory(files: &[PathBuf], why: MemoryNews) -> Value {
    let why = match why {
        MemoryNews::CameIn => "came_in",
        MemoryNews::Changed => "changed",
    };
    json!({"type": "memory", "why": why, "files": files})
}

/// The state of instructions after a compaction.
pub(super) fn instructions(sources: &[InstructionSource]) -> Value {
    let source = |InstructionSource { what, state }: &InstructionSource| {
        let state = state.as_str();
        match what {
            Instruction::Memory(file) => json!({"file": file, "state": state}),
            Instruction::Skill(name) => json!({"skill": name, "state": state}),
            Instruction::Plan(file) => json!({"plan": file, "state": state}),
        }
    };
    sources.iter().map(source).collect()
}

/// One thing that happened during a compaction.
pub(super) fn compaction(event: &Event) -> Value {
    let ms = |duration: &std::time::Duration| duration.as_millis() as u64;
    match event {
        Event::Started { trigger, before, messages } => {
            json!({"phase": "started", "trigger": trigger, "before_tokens": before, "messages": messages})
        }
        Event::Planned { rung, reason, files } => {
            json!({"phase": "planned", "rung": rung, "reason": reason, "files": files})
        }
        Event::Summarising { by } => json!({"phase": "summarising", "by": by.as_str()}),
        Event::DraftWritten { messages, duration, spend } => {
            json!({"phase": "prepared", "messages": messages, "milliseconds": ms(duration), "spend": spend})
        }
        Event::DraftDropped { reason, spend } => {
            json!({"phase": "preparation_dropped", "reason": reason, "spend": spend})
        }
        Event::Reviewed { is_improved } => json!({"phase": "reviewed", "improved": is_improved}),
        Event::Summarised { by, tokens, duration, spend } => json!({
            "phase": "summarised", "by": by.as_str(), "tokens": tokens, "milliseconds": ms(duration), "spend": spend,
        }),
        Event::Verified { names, unsupported, cut } => {
            json!({"phase": "verified", "names": names, "unsupported": unsupported, "cut": cut})
        }
        Event::FellBack { reason, spend } => {
            json!({"phase": "fell_back", "reason": reason, "spend": spend})
        }
        Event::NotSaved { file, reason } => json!({"phase": "not_saved", "file": file, "reason": reason}),
        Event::Masked { outputs, before, after, duration } => json!({
            "phase": "masked", "outputs": outputs, "before_tokens": before, "after_tokens": after,
            "milliseconds": ms(duration),
        }),
        Event::Applied { status, before, after, messages, duration, spend, report: _ } => json!({
            "phase": "applied", "status": status, "before_tokens": before, "after_tokens": after,
            "messages": messages, "milliseconds": ms(duration), "spend": spend,
        }),
        Event::Refused { status, reason, duration, spend } => json!({
            "phase": "refused", "status": status, "reason": reason, "milliseconds": ms(duration), "spend": spend,
        }),
        Event::Cancelled { duration, spend } => {
            json!({"phase": "cancelled", "milliseconds": ms(duration), "spend": spend})
        }
        Event::Undone { compaction, messages } => {
            json!({"phase": "undone", "compaction": compaction, "messages": messages})
        }
    }
}
