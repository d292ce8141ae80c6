//! Fits a request to what chat completions take.
//!
//! Each result is a message of its own and stands before what else the user's side says; a model's message has its
//! reasoning first, then its text, then its calls.

use longhaul_conversation::{
    Body, Extra, FileReference, MediaData, Origin, Output, Part, Request, Role, Thought, ToolResult,
    ToolStatus, Vendor,
};

use crate::fit::{
    fit_call, fit_ids, fit_opaque, fit_thought, is_on_the_web, keep_fields, lose_fields, lose_media,
    lose_misplaced, output_text, rebuilt, refitted,
};
use crate::format::WireFormat;
use crate::loss::{LossKind, Losses};
use crate::told::with_told_origins;

const OWN: Vendor = Vendor::OpenAiChat;

/// Longer ids of calls are refused.
const LONGEST_ID: usize = 40;

pub(crate) fn fit(request: &Request, losses: &mut Losses) -> Request {
    let mut system: Vec<Part> =
        request.system.iter().filter_map(|part| fit_block(part, Role::User, losses)).collect();
    let mut messages = Vec::new();
    for message in &request.messages {
        let message = &with_told_origins(WireFormat::OpenAi, message);
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
    refitted(request, system, messages, OWN, losses)
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
        Output::Text(text.into_owned())
    } else {
        if !text.is_empty() {
            nested.insert(0, Part::text(Origin::Tool, text));
        }
        Output::Empty
    };
    ToolResult { status: ToolStatus::Unstated, output, nested, ..result.clone() }
}
