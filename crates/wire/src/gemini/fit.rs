//! Fits a request to what Gemini takes.

use std::collections::HashMap;

use longhaul_conversation::{Body, CallId, Output, Part, Request, ToolResult, ToolStatus, Vendor};
use serde_json::Value;

use crate::fields::{Fields, object};
use crate::fit::{
    call_names, fit_call_with_object, fit_opaque, fit_thought, keep_fields, lose_fields, lose_misplaced,
    output_text, rebuilt, refitted,
};
use crate::format::WireFormat;
use crate::loss::{LossKind, Losses};
use crate::told::with_told_origins;

const OWN: Vendor = Vendor::Gemini;

pub(crate) fn fit(request: &Request, losses: &mut Losses) -> Request {
    let system = request.system.iter().filter_map(|part| fit_system(part, losses)).collect();
    let names = call_names(&request.messages);
    let messages = request.messages.iter().filter_map(|message| {
        let message = &with_told_origins(WireFormat::Gemini, message);
        losses.at(message);
        let parts = message.parts.iter().filter_map(|part| fit_part(part, &names, losses)).collect();
        let extra = keep_fields(&message.extra, OWN, losses);
        rebuilt(message, message.role, parts, extra)
    });
    let messages = messages.collect();
    refitted(request, system, messages, OWN, losses)
}

/// The instruction is made of plain texts.
pub fn fit_system(part: &Part, losses: &mut Losses) -> Option<Part> {
    if !matches!(part.body, Body::Text(_)) {
        lose_misplaced(part, losses);
        return None;
    }
    lose_fields(&part.extra, losses);
    Some(Part { extra: None, ..part.clone() })
}

/// The part as Gemini takes it.
pub fn fit_part(part: &Part, names: &HashMap<&CallId, &str>, losses: &mut Losses) -> Option<Part> {
    let body = match &part.body {
        Body::Thought(thought) => {
            let thought = fit_thought(thought, OWN, losses);
            if thought.text.is_empty() && thought.signature.is_none() {
                lose_fields(&part.extra, losses);
                return None;
            }
            Body::Thought(Box::new(thought))
        }
        Body::Call(call) => Body::Call(Box::new(fit_call_with_object(call, losses))),
        Body::Result(result) => Body::Result(Box::new(fit_result(result, names, losses))),
        Body::Opaque(_) => return fit_opaque(part, OWN, losses),
        Body::Text(_) | Body::Media(_) | Body::File(_) => part.body.clone(),
    };
    Some(Part { origin: part.origin, body, extra: keep_fields(&part.extra, OWN, losses) })
}

/// A response is an object whose `error` says that the call failed; beside it stand media, but no text.
pub fn fit_result(result: &ToolResult, names: &HashMap<&CallId, &str>, losses: &mut Losses) -> ToolResult {
    let mut nested = Vec::new();
    let mut texts = false;
    for part in &result.nested {
        match &part.body {
            Body::Text(_) => {
                texts = true;
                lose_fields(&part.extra, losses);
            }
            Body::Media(_) | Body::File(_) => {
                nested.push(Part { extra: keep_fields(&part.extra, OWN, losses), ..part.clone() });
            }
            Body::Opaque(_) => nested.extend(fit_opaque(part, OWN, losses)),
            Body::Thought(_) | Body::Call(_) | Body::Result(_) => lose_misplaced(part, losses),
        }
    }
    if result.status == ToolStatus::Cancelled {
        losses.add(LossKind::Status, result.call.as_str());
    }
    let failed = matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled);
    let response = match &result.output {
        Output::Structured(Value::Object(fields)) if !texts && says_failed(fields) == failed => {
            fields.clone()
        }
        Output::Structured(value) if !texts && !value.is_null() => object([(key_of(failed), value.clone())]),
        _ if texts => object([(key_of(failed), result.readable().into())]),
        _ => object([(key_of(failed), output_text(result).into())]),
    };
    ToolResult {
        call: result.call.clone(),
        name: result.name.clone().or_else(|| names.get(&result.call).map(|name| name.to_string())),
        status: if failed { ToolStatus::Failed } else { ToolStatus::Unstated },
        output: Output::Structured(Value::Object(response)),
        nested,
    }
}

fn key_of(failed: bool) -> &'static str {
    if failed { "error" } else { "output" }
}

fn says_failed(response: &Fields) -> bool {
    response.get("error").is_some_and(|error| !error.is_null())
}
