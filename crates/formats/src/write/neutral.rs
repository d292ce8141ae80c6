//! Writes the neutral form: Gemini contents with what no request carries beside them.
//!
//! Contents have an id, a time, a model and token figures; a part states its origin, and a result its status, where a
//! reader would find another. What a tool answered is written as it is, also where no provider would take it. Items of
//! other vendors stand under `opaque`, with the vendor's name.

use std::collections::HashMap;

use longhaul_conversation::{Body, Message, Opaque, Output, Part, Role, ToolResult, Vendor};
use longhaul_wire::{
    Losses, PLAIN, add_missing, call_names, fields_of, fit_call, keep_fields, lose_fields, lose_misplaced,
    object, says_something, split_user_text,
};
use serde_json::{Map, Value};

use super::gemini_cli::{encode_tokens, origin_when_read};
use longhaul_wire::gemini::{MadeUpIds, encode_part, encode_tool, fit_part, fit_system, status_when_read};

use super::shared::{lose_request_fields, lose_side_chains};
use crate::Session;
use crate::records::encode_opaque;
use crate::records::{OPAQUE, status_word};

/// The session as one document.
pub(super) fn document(session: &Session, losses: &mut Losses) -> Value {
    let mut document = head(session, losses);
    let messages = session.transcript.messages();
    let names = call_names(messages);
    let contents = messages.iter().filter_map(|message| {
        losses.at(message);
        let mut content = head_of(message);
        let mut parts = Vec::new();
        for part in message.parts.iter().filter(|part| says_something(part)) {
            let fitted = match &part.body {
                Body::Call(call) => fit_own(part, Body::Call(Box::new(fit_call(call, losses))), losses),
                Body::Result(result) => {
                    fit_own(part, Body::Result(Box::new(fit_result(result, losses))), losses)
                }
                Body::Opaque(opaque) => fit_item(part, opaque, losses),
                _ => match fit_part(part, &names, losses).filter(says_something) {
                    Some(part) => part,
                    None => continue,
                },
            };
            let mut encoded = encode_part(&fitted, MadeUpIds::Written);
            state(&mut encoded, part, message.role);
            parts.push(encoded);
        }
        let fields = fields_of(&keep_fields(&message.extra, Vendor::Gemini, losses));
        if parts.is_empty() && fields.is_empty() {
            return None;
        }
        content.insert("parts".into(), Value::Array(parts));
        add_missing(&mut content, fields);
        Some(Value::Object(content))
    });
    document.insert("contents".into(), contents.collect());
    lose_request_fields(session, losses);
    lose_side_chains(session, losses);
    Value::Object(document)
}

fn head(session: &Session, losses: &mut Losses) -> Map<String, Value> {
    let info = &session.info;
    let mut source = Map::new();
    for (key, value) in [("session", &info.session_id), ("directory", &info.directory)] {
        if let Some(value) = value {
            source.insert(key.into(), value.as_str().into());
        }
    }
    let mut head = object([("source", Value::Object(source)), ("format", info.format.as_str().into())]);
    for (key, value) in [("description", info.title.as_deref()), ("model", info.model())] {
        if let Some(value) = value {
            head.insert(key.into(), value.into());
        }
    }
    let system: Vec<Part> =
        session.transcript.system.iter().filter_map(|part| fit_system(part, losses)).collect();
    let system = match system.as_slice() {
        [] => Value::Null,
        [only] => only.as_text().into(),
        parts => {
            let parts = parts.iter().map(|part| encode_part(part, MadeUpIds::Written)).collect();
            Value::Object(object([("parts", parts)]))
        }
    };
    head.insert("system".into(), system);
    if !session.transcript.tools.is_empty() {
        let declared = session.transcript.tools.iter().map(encode_tool).collect();
        let tool = Value::Object(object([("functionDeclarations", declared)]));
        head.insert("tools".into(), Value::Array(vec![tool]));
    }
    if !info.questions.is_empty() {
        let questions = info.questions.iter().map(|question| {
            let expected = question.expected.as_str().into();
            Value::Object(object([
                ("prompt", question.prompt.as_str().into()),
                ("expectedSubstring", expected),
            ]))
        });
        head.insert("questions".into(), questions.collect());
    }
    head
}

fn fit_own(part: &Part, body: Body, losses: &mut Losses) -> Part {
    Part { origin: part.origin, body, extra: keep_fields(&part.extra, Vendor::Gemini, losses) }
}

/// The result as it is, but for what came with it that has no place.
fn fit_result(result: &ToolResult, losses: &mut Losses) -> ToolResult {
    let nested = result.nested.iter().filter(|part| says_something(part));
    let nested = nested.filter_map(|part| match &part.body {
        Body::Thought(_) | Body::Call(_) | Body::Result(_) => {
            lose_misplaced(part, losses);
            None
        }
        Body::Opaque(opaque) => Some(fit_item(part, opaque, losses)),
        _ => fit_part(part, &HashMap::new(), losses).filter(says_something),
    });
    let nested = nested.collect();
    let output = match &result.output {
        Output::Structured(Value::Null) => Output::Empty,
        // A structure that is a text cannot be told from a text.
        Output::Structured(Value::String(text)) => Output::Text(text.clone()),
        output => output.clone(),
    };
    ToolResult { output, nested, ..result.clone() }
}

/// A vendor's item: Gemini's stand as they are, all others with their vendor's name.
fn fit_item(part: &Part, opaque: &Opaque, losses: &mut Losses) -> Part {
    // The item itself has all its fields.
    lose_fields(&part.extra, losses);
    let value = match is_named(opaque) {
        true => Value::Object(object([(OPAQUE, encode_opaque(opaque))])),
        false => opaque.value.clone(),
    };
    Part::opaque(part.origin, Vendor::Gemini, value)
}

/// True if an item is written with its vendor's name: it is another's, or an origin cannot be stated beside it.
fn is_named(opaque: &Opaque) -> bool {
    opaque.vendor != Vendor::Gemini
        || !opaque.value.is_object()
        || [OPAQUE, "origin", "status"].iter().any(|key| opaque.value.get(key).is_some())
}

/// Says beside a part what its reader would not find by itself.
fn state(encoded: &mut Value, part: &Part, role: Role) {
    let Some(fields) = encoded.as_object_mut() else { return };
    if !reads_back(part, role) {
        fields.insert("origin".into(), part.origin.as_str().into());
    }
    if let Some(result) = part.as_result()
        && result.status != status_when_read(&result.output)
    {
        fields.insert("status".into(), status_word(result.status).into());
    }
}

/// The fields of a message beside its parts.
fn head_of(message: &Message) -> Map<String, Value> {
    let mut content = object([("id", message.id.as_str().into()), ("role", message.role.as_str().into())]);
    if let Some(at) = message.at {
        content.insert("timestamp".into(), at.to_string().into());
    }
    if let Some(model) = &message.model {
        content.insert("model".into(), model.as_str().into());
    }
    if let Some(usage) = &message.usage {
        content.insert("tokens".into(), Value::Object(encode_tokens(usage)));
    }
    content
}

/// True if a reader would find the part's origin by itself.
fn reads_back(part: &Part, role: Role) -> bool {
    match (part.as_text(), role) {
        (Some(text), Role::User) => {
            let read = split_user_text(text.to_string(), &PLAIN);
            matches!(read.as_slice(), [only] if only.origin == part.origin)
        }
        _ if matches!(&part.body, Body::Opaque(opaque) if is_named(opaque)) => false,
        _ => origin_when_read(part, role) == part.origin,
    }
}
