//! Writes OpenAI chat-completions requests.
//!
//! Each result is a message of its own and stands before what else the user's side says; a model's message has its
//! reasoning first, then its text, then its calls.

use longhaul_conversation::{
    Body, Extra, FileReference, Media, MediaData, Message, Output, Part, Request, Role, Thought, ToolCall,
    ToolDeclaration, ToolResult, ToolStatus, Vendor,
};
use serde_json::{Map, Value};

use super::fit::{
    fields_of, fit_call, fit_ids, fit_opaque, fit_thought, is_on_the_web, keep_fields, lose_fields,
    lose_media, lose_misplaced, output_text, rebuilt, refitted,
};
use super::loss::{LossKind, Losses};
use super::{Target, add_missing, object, restore_rest, with_told_origins};

const OWN: Vendor = Vendor::OpenAiChat;

/// Longer ids of calls are refused.
const LONGEST_ID: usize = 40;

pub(super) fn fit(request: &Request, losses: &mut Losses) -> Request {
    let mut system: Vec<Part> =
        request.system.iter().filter_map(|part| fit_block(part, Role::User, losses)).collect();
    let mut messages = Vec::new();
    for message in &request.messages {
        let message = &with_told_origins(Target::OpenAiChat, message);
        losses.at(message);
        let mut sorted = Sorted::default();
        message.parts.iter().for_each(|part| sorted.add(part, message.role, losses));
        if sorted.is_reordered {
            losses.add(LossKind::Order, "");
        }
        let mut extra = keep_fields(&message.extra, OWN, losses);
        let results =
            sorted.results.into_iter().filter_map(|part| rebuilt(message, Role::User, vec![part], None));
        let mut parts: Vec<Part> = join_thoughts(&sorted.thoughts).into_iter().collect();
        parts.append(&mut sorted.content);
        parts.append(&mut sorted.calls);
        if message.role == Role::Model {
            messages.extend(rebuilt(message, Role::Model, parts, extra));
            messages.extend(results);
            continue;
        }
        let before = messages.len();
        messages.extend(results);
        if parts.is_empty() && messages.len() > before {
            lose_fields(&extra.take(), losses);
        }
        if messages.is_empty() && role_of(&extra).is_some() {
            // An instruction at the head of the conversation is one with the system instruction.
            system.append(&mut parts);
            if let Some(extra) = extra.as_mut() {
                extra.fields.shift_remove("role");
            }
            lose_fields(&extra.take().filter(|extra| !extra.fields.is_empty()), losses);
        }
        messages.extend(rebuilt(message, Role::User, parts, extra));
    }
    fit_ids(&mut messages, |id| (1..=LONGEST_ID).contains(&id.len()), losses);
    refitted(request, system, messages)
}

/// The role of a message of the user's side, where it is not `user`.
fn role_of(extra: &Option<Box<Extra>>) -> Option<&str> {
    Extra::for_vendor(extra, OWN)?.get("role")?.as_str()
}

/// The parts of a message by where they are written.
#[derive(Default)]
struct Sorted {
    results: Vec<Part>,
    thoughts: Vec<String>,
    content: Vec<Part>,
    calls: Vec<Part>,
    last_place: usize,
    is_reordered: bool,
}

impl Sorted {
    fn add(&mut self, part: &Part, role: Role, losses: &mut Losses) {
        match (&part.body, role) {
            (Body::Result(result), _) => {
                self.step_to(if role == Role::User { 0 } else { 4 });
                let extra = keep_fields(&part.extra, OWN, losses);
                let body = Body::Result(Box::new(fit_result(result, losses)));
                self.results.push(Part { origin: part.origin, body, extra });
            }
            (Body::Thought(thought), Role::Model) => {
                lose_fields(&part.extra, losses);
                let thought = fit_thought(thought, OWN, losses);
                // Nobody signs here; what another vendor signed is kept as text.
                if !thought.text.is_empty() {
                    self.step_to(1);
                    self.thoughts.push(thought.text);
                }
            }
            (Body::Call(call), Role::Model) => {
                self.step_to(3);
                let extra = keep_fields(&part.extra, OWN, losses);
                self.calls.push(Part {
                    origin: part.origin,
                    body: Body::Call(Box::new(fit_call(call, losses))),
                    extra,
                });
            }
            (Body::Thought(_) | Body::Call(_), Role::User) => lose_misplaced(part, losses),
            _ => {
                if let Some(part) = fit_block(part, role, losses) {
                    self.step_to(2);
                    self.content.push(part);
                }
            }
        }
    }

    fn step_to(&mut self, place: usize) {
        self.is_reordered |= place < self.last_place;
        self.last_place = place;
    }
}

/// There is one place for reasoning.
fn join_thoughts(thoughts: &[String]) -> Option<Part> {
    let text = thoughts.join("\n\n");
    (!text.is_empty()).then(|| Part::thought(Thought { text, ..Thought::default() }))
}

/// A block of content; the model's own are texts only.
fn fit_block(part: &Part, role: Role, losses: &mut Losses) -> Option<Part> {
    let body = match &part.body {
        Body::Text(text) => {
            let extra = keep_fields(&part.extra, OWN, losses);
            let says_something = !text.is_empty() || extra.is_some();
            return says_something.then(|| Part { extra, ..part.clone() });
        }
        Body::Opaque(_) => return fit_opaque(part, OWN, losses),
        Body::Media(media) if role == Role::User => match (&media.data, media.mime.split('/').next()) {
            (MediaData::Base64(_), Some("image" | "audio" | "application" | "text")) => part.body.clone(),
            _ => {
                lose_media(media, losses);
                return None;
            }
        },
        Body::File(file) if role == Role::User && is_image(file) => {
            if let Some(mime) = &file.mime {
                losses.add(LossKind::MediaType, mime);
            }
            Body::File(Box::new(FileReference { mime: None, uri: file.uri.clone() }))
        }
        _ => {
            lose_misplaced(part, losses);
            return None;
        }
    };
    Some(Part { origin: part.origin, body, extra: keep_fields(&part.extra, OWN, losses) })
}

fn is_image(file: &FileReference) -> bool {
    is_on_the_web(file) && file.mime.as_ref().is_none_or(|mime| mime.starts_with("image/"))
}

/// An answer is text, or several texts.
fn fit_result(result: &ToolResult, losses: &mut Losses) -> ToolResult {
    if matches!(result.status, ToolStatus::Failed | ToolStatus::Cancelled) {
        losses.add(LossKind::Status, result.call.as_str());
    }
    let mut nested: Vec<Part> =
        result.nested.iter().filter_map(|part| fit_block(part, Role::Model, losses)).collect();
    let text = output_text(result);
    let output = if nested.is_empty() {
        Output::Text(text)
    } else {
        if !text.is_empty() {
            nested.insert(0, Part::text(longhaul_conversation::Origin::Tool, text));
        }
        Output::Empty
    };
    ToolResult { status: ToolStatus::Unstated, output, nested, ..result.clone() }
}

pub(super) fn encode(request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    if !request.model.is_empty() {
        body.insert("model".into(), request.model.as_str().into());
    }
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        let content = encode_content(request.system.iter());
        messages.push(Value::Object(object([("role", "system".into()), ("content", content)])));
    }
    messages.extend(request.messages.iter().map(encode_message));
    body.insert("messages".into(), Value::Array(messages));
    if !request.tools.is_empty() {
        body.insert("tools".into(), Value::Array(request.tools.iter().map(encode_tool).collect()));
    }
    body
}

fn encode_tool(tool: &ToolDeclaration) -> Value {
    let mut function = object([("name", tool.name.as_str().into())]);
    if !tool.description.is_empty() {
        function.insert("description".into(), tool.description.as_str().into());
    }
    if !tool.parameters.is_null() {
        function.insert("parameters".into(), tool.parameters.clone());
    }
    Value::Object(object([("type", "function".into()), ("function", Value::Object(function))]))
}

fn encode_message(message: &Message) -> Value {
    let mut fields = fields_of(&message.extra);
    let mut encoded = match (message.role, message.parts.as_slice()) {
        (Role::User, [Part { body: Body::Result(result), extra, .. }]) => {
            add_missing(&mut fields, fields_of(extra));
            encode_result(result)
        }
        (Role::User, parts) => {
            let role = match fields.shift_remove("role") {
                Some(Value::String(role)) => role,
                _ => "user".to_string(),
            };
            object([("role", role.into()), ("content", encode_content(parts.iter()))])
        }
        (Role::Model, parts) => encode_answer(parts),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_result(result: &ToolResult) -> Map<String, Value> {
    let mut encoded = object([("role", "tool".into()), ("tool_call_id", result.call.as_str().into())]);
    if let Some(name) = &result.name {
        encoded.insert("name".into(), name.as_str().into());
    }
    let content = match &result.output {
        Output::Empty => Value::Array(result.nested.iter().map(encode_block).collect()),
        Output::Text(text) => text.as_str().into(),
        Output::Structured(value) => value.clone(),
    };
    encoded.insert("content".into(), content);
    encoded
}

fn encode_answer(parts: &[Part]) -> Map<String, Value> {
    let mut encoded = object([("role", "assistant".into())]);
    let thought = parts.iter().find_map(|part| match &part.body {
        Body::Thought(thought) => Some(thought.text.as_str()),
        _ => None,
    });
    if let Some(thought) = thought {
        encoded.insert("reasoning_content".into(), thought.into());
    }
    let calls: Vec<Value> =
        parts.iter().filter_map(|part| Some(encode_call(part.as_call()?, fields_of(&part.extra)))).collect();
    let content: Vec<&Part> =
        parts.iter().filter(|part| !matches!(part.body, Body::Thought(_) | Body::Call(_))).collect();
    let says_nothing = content.is_empty() && !calls.is_empty();
    let content = if says_nothing { Value::Null } else { encode_content(content.into_iter()) };
    encoded.insert("content".into(), content);
    if !calls.is_empty() {
        encoded.insert("tool_calls".into(), Value::Array(calls));
    }
    encoded
}

fn encode_call(call: &ToolCall, mut fields: Map<String, Value>) -> Value {
    let is_custom = fields.get("type").and_then(Value::as_str) == Some("custom");
    let name = ("name", call.name.as_str().into());
    let (kind, mut inner) = if is_custom {
        ("custom", object([name, ("input", call.args.clone())]))
    } else {
        ("function", object([name, ("arguments", encode_arguments(&call.args).into())]))
    };
    restore_rest(&mut inner, &mut fields, kind);
    let mut encoded =
        object([("id", call.id.as_str().into()), ("type", kind.into()), (kind, Value::Object(inner))]);
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

/// Arguments travel as text; a text that a model wrote and that is no JSON goes back as it was.
fn encode_arguments(args: &Value) -> String {
    match args {
        Value::String(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() => text.clone(),
        _ => args.to_string(),
    }
}

/// One plain text is written as such, anything else as blocks.
fn encode_content<'a>(parts: impl ExactSizeIterator<Item = &'a Part> + Clone) -> Value {
    let mut rest = parts.clone();
    match (rest.next(), rest.next()) {
        (None, _) => "".into(),
        (Some(Part { body: Body::Text(text), extra: None, .. }), None) => text.as_str().into(),
        _ => Value::Array(parts.map(encode_block).collect()),
    }
}

fn encode_block(part: &Part) -> Value {
    let mut fields = fields_of(&part.extra);
    let mut encoded = match &part.body {
        Body::Text(text) => {
            // A refusal is text under another name.
            let kind = match fields.get("type").and_then(Value::as_str) {
                Some("refusal") => "refusal",
                _ => "text",
            };
            object([("type", kind.into()), (kind, text.as_str().into())])
        }
        Body::Media(media) => encode_media(media, &mut fields),
        Body::File(file) => wrap("image_url", object([("url", file.uri.as_str().into())]), &mut fields),
        Body::Opaque(opaque) => return opaque.value.clone(),
        Body::Thought(_) | Body::Call(_) | Body::Result(_) => Map::new(),
    };
    add_missing(&mut encoded, fields);
    Value::Object(encoded)
}

fn encode_media(media: &Media, fields: &mut Map<String, Value>) -> Map<String, Value> {
    let MediaData::Base64(data) = &media.data else { return Map::new() };
    let url = || Value::String(format!("data:{};base64,{data}", media.mime));
    match media.mime.split_once('/') {
        Some(("image", _)) => wrap("image_url", object([("url", url())]), fields),
        Some(("audio", format)) => {
            wrap("input_audio", object([("data", data.as_str().into()), ("format", format.into())]), fields)
        }
        _ => wrap("file", object([("file_data", url())]), fields),
    }
}

fn wrap(key: &str, mut inner: Map<String, Value>, fields: &mut Map<String, Value>) -> Map<String, Value> {
    restore_rest(&mut inner, fields, key);
    object([("type", key.into()), (key, Value::Object(inner))])
}
