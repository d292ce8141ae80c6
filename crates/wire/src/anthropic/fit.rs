//! Fits a request to what Anthropic takes.
//!
//! The two sides take turns, so neighbours of one side become one message; in a message of the user's side results come
//! first. Thoughts are only taken with Anthropic's own signature.

use std::collections::HashMap;

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, MediaData, Message, Origin, Output, Part, Request, Role,
    ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::Value;

use super::read::kind_of_source;
use crate::fields::object;
use crate::fit::{
    call_names, fields_of, fit_call_with_object, fit_ids, fit_opaque, fit_thought, is_on_the_web,
    keep_fields, lose_fields, lose_misplaced, output_text, rebuilt, refitted,
};
use crate::format::WireFormat;
use crate::loss::{LossKind, Losses};
use crate::told::with_told_origins;

const OWN: Vendor = Vendor::Anthropic;

pub(crate) fn fit(request: &Request, losses: &mut Losses) -> Request {
    let system = request.system.iter().filter_map(|part| fit_system(part, losses)).collect();
    let names = call_names(&request.messages);
    let mut messages: Vec<Message> = Vec::new();
    for message in &request.messages {
        let message = &with_told_origins(WireFormat::Anthropic, message);
        losses.at(message);
        let mut parts = Vec::new();
        let mut results = Vec::new();
        for part in &message.parts {
            let fitted = fit_part(part, message.role, &names, losses);
            match fitted {
                // A result on the model's side is moved to the other one.
                Some(part) if part.as_result().is_some() && message.role == Role::Model => results.push(part),
                fitted => parts.extend(fitted),
            }
        }
        if !results.is_empty() {
            losses.add(LossKind::Order, "");
        }
        let extra = keep_fields(&message.extra, OWN, losses);
        let own = rebuilt(message, message.role, parts, extra);
        let moved = rebuilt(message, Role::User, results, None);
        own.into_iter().chain(moved).for_each(|message| join(message, &mut messages, losses));
    }
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        let is_result = |part: &Part| part.as_result().is_some();
        if !message.parts.is_sorted_by_key(|part| !is_result(part)) {
            losses.at(message);
            losses.add(LossKind::Order, "");
            message.parts.sort_by_key(|part| !is_result(part));
        }
    }
    fit_ids(&mut messages, is_id, losses);
    let mut fitted = refitted(request, system, messages, OWN, losses);
    require_schemas(&mut fitted.tools);
    fitted
}

/// Gives every tool a schema, which is required also for one without arguments.
pub(super) fn require_schemas(tools: &mut [ToolDeclaration]) {
    for tool in tools.iter_mut().filter(|tool| tool.parameters.is_null()) {
        tool.parameters = Value::Object(object([("type", "object".into())]));
    }
}

/// True if Anthropic takes this for the id of a call.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Adds a message, to the last one if that is of the same side.
fn join(mut message: Message, messages: &mut Vec<Message>, losses: &mut Losses) {
    let Some(last) = messages.last_mut().filter(|last| last.role == message.role) else {
        return messages.push(message);
    };
    last.parts.append(&mut message.parts);
    let Some(added) = message.extra else { return };
    let mut fields = fields_of(&last.extra);
    for (key, value) in added.fields {
        match fields.get(&key) {
            Some(known) if *known != value => losses.add(LossKind::Fields, key),
            _ => {
                fields.insert(key, value);
            }
        }
    }
    last.extra = Extra::boxed(OWN, fields);
}

/// The instruction is made of texts.
fn fit_system(part: &Part, losses: &mut Losses) -> Option<Part> {
    if matches!(part.body, Body::Text(_)) {
        return fit_block(part, losses);
    }
    lose_misplaced(part, losses);
    None
}

/// The part as Anthropic takes it from this side.
pub fn fit_part(
    part: &Part,
    role: Role,
    names: &HashMap<&CallId, &str>,
    losses: &mut Losses,
) -> Option<Part> {
    let body = match (&part.body, role) {
        (Body::Thought(thought), Role::Model) => {
            let signed_here = thought.signature.as_ref().is_some_and(|signature| signature.vendor == OWN);
            if !signed_here {
                if part.is_empty() {
                    fit_thought(thought, OWN, losses);
                    lose_fields(&part.extra, losses);
                } else {
                    losses.add(LossKind::Thought, format!("{} characters", thought.text.chars().count()));
                }
                return None;
            }
            Body::Thought(Box::new(fit_thought(thought, OWN, losses)))
        }
        (Body::Call(call), Role::Model) => Body::Call(Box::new(fit_call_with_object(call, losses))),
        (Body::Result(result), _) => Body::Result(Box::new(fit_result(result, names, losses))),
        (Body::Thought(_) | Body::Call(_), Role::User) | (Body::Media(_) | Body::File(_), Role::Model) => {
            lose_misplaced(part, losses);
            return None;
        }
        (Body::Text(_) | Body::Media(_) | Body::File(_) | Body::Opaque(_), _) => {
            return fit_block(part, losses);
        }
    };
    Some(Part { origin: part.origin, body, extra: keep_fields(&part.extra, OWN, losses) })
}

/// A block that may also stand in a result.
fn fit_block(part: &Part, losses: &mut Losses) -> Option<Part> {
    match &part.body {
        // Blank text is refused.
        Body::Text(text) if text.trim().is_empty() => {
            lose_fields(&part.extra, losses);
            None
        }
        Body::Text(_) => Some(Part { extra: keep_fields(&part.extra, OWN, losses), ..part.clone() }),
        Body::Media(media)
            if matches!(media.data, MediaData::Base64(_))
                && ["image/", "application/"].iter().any(|kind| media.mime.starts_with(kind)) =>
        {
            Some(Part { extra: keep_fields(&part.extra, OWN, losses), ..part.clone() })
        }
        Body::File(file) if is_on_the_web(file) => Some(fit_file(part, file, losses)),
        Body::Opaque(_) => fit_opaque(part, OWN, losses),
        _ => {
            lose_misplaced(part, losses);
            None
        }
    }
}

/// An address goes without a media type; whether it is an image or a document is said by the block.
fn fit_file(part: &Part, file: &FileReference, losses: &mut Losses) -> Part {
    let mut fields = fields_of(&keep_fields(&part.extra, OWN, losses));
    let kind = kind_of_source(&part.body);
    let bare = Body::File(Box::new(FileReference { mime: None, uri: file.uri.clone() }));
    if kind != kind_of_source(&bare) && !fields.contains_key("type") {
        fields.shift_insert(0, "type".into(), kind.into());
    }
    if let Some(mime) = &file.mime {
        losses.add(LossKind::MediaType, mime);
    }
    Part::new(part.origin, bare).with_extra(OWN, fields)
}

fn fit_result(result: &ToolResult, names: &HashMap<&CallId, &str>, losses: &mut Losses) -> ToolResult {
    if let Some(name) = result.name.as_deref().filter(|name| names.get(&result.call) != Some(name)) {
        losses.add(LossKind::ToolName, name);
    }
    if result.status == ToolStatus::Cancelled {
        losses.add(LossKind::Status, result.call.as_str());
    }
    let mut nested: Vec<Part> = result.nested.iter().filter_map(|part| fit_block(part, losses)).collect();
    let text = output_text(result);
    let output = match result.output {
        Output::Empty => Output::Empty,
        _ if nested.is_empty() => Output::Text(text.into_owned()),
        _ => {
            if !text.trim().is_empty() {
                nested.insert(0, Part::text(Origin::Tool, text));
            }
            Output::Empty
        }
    };
    let status = if result.status == ToolStatus::Cancelled { ToolStatus::Failed } else { result.status };
    ToolResult { call: result.call.clone(), name: None, status, output, nested }
}
