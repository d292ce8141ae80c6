//! Fits parts and messages to what a vendor takes, and reports what is lost; shared by all vendors.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use longhaul_conversation::{
    Body, CallId, Extra, FileReference, Media, MediaData, Message, Output, Part, Request, Role, Thought,
    ToolCall, ToolResult, Vendor,
};
use serde_json::Value;

use crate::fields::{Fields, object};
use crate::loss::{LossKind, Losses};

/// The request with other messages and system parts.
pub(crate) fn refitted(
    request: &Request,
    system: Vec<Part>,
    messages: Vec<Message>,
    vendor: Vendor,
    losses: &mut Losses,
) -> Request {
    losses.at_session();
    Request {
        fields: keep_fields(&request.fields, vendor, losses),
        system,
        messages,
        model: request.model.clone(),
        tools: request.tools.clone(),
        tool_choice: request.tool_choice,
        sampling: request.sampling.clone(),
        extra: request.extra.clone(),
        ..Request::default()
    }
}

/// The message with these parts and fields instead of its own; `None` if it would say nothing.
pub(crate) fn rebuilt(
    message: &Message,
    role: Role,
    parts: Vec<Part>,
    extra: Option<Box<Extra>>,
) -> Option<Message> {
    if parts.is_empty() && extra.is_none() {
        return None;
    }
    let mut rebuilt = Message::new(message.id.clone(), role, parts);
    rebuilt.ordinal = message.ordinal;
    rebuilt.extra = extra;
    Some(rebuilt)
}

/// The fields, if they are `vendor`'s; others are lost.
pub fn keep_fields(extra: &Option<Box<Extra>>, vendor: Vendor, losses: &mut Losses) -> Option<Box<Extra>> {
    match extra {
        Some(extra) if extra.vendor == vendor => Some(extra.clone()),
        _ => {
            lose_fields(extra, losses);
            None
        }
    }
}

/// Reports fields that have no place in the target.
pub fn lose_fields(extra: &Option<Box<Extra>>, losses: &mut Losses) {
    if let Some(extra) = extra {
        let names: Vec<&str> = extra.fields.keys().map(String::as_str).collect();
        losses.add(LossKind::Fields, names.join(", "));
    }
}

/// The thought without another vendor's signature.
pub(crate) fn fit_thought(thought: &Thought, vendor: Vendor, losses: &mut Losses) -> Thought {
    if let Some(item) = &thought.item {
        losses.add(LossKind::ReasoningItem, item);
    }
    let signature = thought.signature.clone().filter(|signature| signature.vendor == vendor);
    if signature != thought.signature {
        losses.add(LossKind::Signature, "");
    }
    Thought { text: thought.text.clone(), signature, item: None }
}

/// The call without the vendor's ties.
pub fn fit_call(call: &ToolCall, losses: &mut Losses) -> ToolCall {
    if let Some(item) = &call.reasoning {
        losses.add(LossKind::ReasoningItem, item);
    }
    ToolCall { reasoning: None, ..call.clone() }
}

/// The call with an object for its arguments.
pub(crate) fn fit_call_with_object(call: &ToolCall, losses: &mut Losses) -> ToolCall {
    let mut call = fit_call(call, losses);
    if !call.args.is_object() {
        losses.add(LossKind::Arguments, &call.name);
        call.args = Value::Object(object([("input", call.args)]));
    }
    call
}

/// A vendor's own item; another vendor's is lost.
pub(crate) fn fit_opaque(part: &Part, vendor: Vendor, losses: &mut Losses) -> Option<Part> {
    let Body::Opaque(opaque) = &part.body else { return None };
    if opaque.vendor != vendor {
        let kind = opaque.value.get("type").and_then(Value::as_str).unwrap_or_default();
        losses.add(LossKind::Opaque, kind);
        return None;
    }
    // The item itself has all its fields.
    lose_fields(&part.extra, losses);
    Some(Part { extra: None, ..part.clone() })
}

/// Reports media that has no place in the target.
pub(crate) fn lose_media(media: &Media, losses: &mut Losses) {
    let detail = match media.data {
        MediaData::Base64(_) => media.mime.clone(),
        MediaData::Omitted { bytes } => format!("{}, {bytes} bytes omitted by the source", media.mime),
    };
    losses.add(LossKind::Media, detail);
}

/// Reports a part that the target does not take where it stands.
pub fn lose_misplaced(part: &Part, losses: &mut Losses) {
    let (kind, what) = match &part.body {
        Body::Text(_) => (LossKind::Misplaced, "text"),
        Body::Thought(_) => (LossKind::Thought, ""),
        Body::Call(call) => (LossKind::Misplaced, call.name.as_str()),
        Body::Result(result) => (LossKind::Misplaced, result.call.as_str()),
        Body::Media(media) => return lose_media(media, losses),
        Body::File(file) => (LossKind::File, file.uri.as_str()),
        Body::Opaque(_) => (LossKind::Opaque, ""),
    };
    losses.add(kind, what);
}

/// True if a provider can fetch the file itself.
pub(crate) fn is_on_the_web(file: &FileReference) -> bool {
    ["https://", "http://"].iter().any(|scheme| file.uri.starts_with(scheme))
}

/// The main answer of a tool as text, without what came with it.
pub(crate) fn output_text(result: &ToolResult) -> Cow<'_, str> {
    match &result.output {
        Output::Text(text) => Cow::Borrowed(text),
        Output::Empty => Cow::Borrowed(""),
        Output::Structured(_) => {
            let output = result.output.clone();
            let alone = ToolResult { output, ..ToolResult::text(result.call.clone(), "") };
            Cow::Owned(alone.readable().into_owned())
        }
    }
}

/// The names of the tools, by call.
pub fn call_names(messages: &[Message]) -> HashMap<&CallId, &str> {
    messages.iter().flat_map(Message::calls).map(|call| (&call.id, call.name.as_str())).collect()
}

/// Gives calls whose id the target would refuse another one, and their results with them.
pub(crate) fn fit_ids(messages: &mut [Message], is_fine: fn(&str) -> bool, losses: &mut Losses) {
    let ids = messages.iter().flat_map(|message| &message.parts).filter_map(call_id);
    let mut taken: HashSet<CallId> = ids.filter(|id| is_fine(id.as_str())).cloned().collect();
    let mut renamed: HashMap<CallId, CallId> = HashMap::new();
    for message in messages {
        losses.at(message);
        for part in &mut message.parts {
            let id = match &mut part.body {
                Body::Call(call) => &mut call.id,
                Body::Result(result) => &mut result.call,
                _ => continue,
            };
            if is_fine(id.as_str()) {
                continue;
            }
            let new = renamed.entry(id.clone()).or_insert_with(|| {
                losses.add(LossKind::CallId, id.as_str());
                let mut free = (1..).map(CallId::made_up).filter(|id| !taken.contains(id));
                let new = free.next().expect("there is always another number");
                taken.insert(new.clone());
                new
            });
            *id = new.clone();
        }
    }
}

fn call_id(part: &Part) -> Option<&CallId> {
    match &part.body {
        Body::Call(call) => Some(&call.id),
        Body::Result(result) => Some(&result.call),
        _ => None,
    }
}

/// The fields to write with a part or a message.
pub fn fields_of(extra: &Option<Box<Extra>>) -> Fields {
    extra.as_ref().map(|extra| extra.fields.clone()).unwrap_or_default()
}
