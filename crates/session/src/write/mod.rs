//! Writes conversations: as requests in the providers' wire formats, and as whole sessions.
//!
//! Writing a request takes two steps. First a request is fitted to its target: what the target has no place for is left out and
//! reported, what it wants in another form takes that form. Then the fitted request is encoded, which loses nothing more:
//! read back, it is equal but for message ids, times and usage, which no wire format carries. Who produced a text on the user's
//! side is told by tags around it, where its reader would not find that out by itself.

mod anthropic;
mod claude;
mod fit;
mod gemini;
pub(crate) mod gemini_cli;
#[cfg(test)]
pub(crate) mod laws;
mod loss;
mod neutral;
mod openai;
mod pieces;
pub(crate) mod session;
#[cfg(test)]
mod session_laws;

use longhaul_conversation::{Extra, Message, Part, Request, Role, Vendor};
use serde_json::{Map, Value};

use crate::Format;
use crate::origins::PLAIN;

pub use gemini_cli::response_id;
use loss::Losses;
pub use loss::{Loss, LossKind};
use pieces::{Piece, pieces};
pub use session::{WrittenSession, write_session, write_session_taking};

/// A wire format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Gemini `contents`.
    Gemini,
    /// OpenAI chat completions.
    OpenAiChat,
    /// Anthropic messages.
    Anthropic,
}

impl Target {
    /// Every target, in the order they are listed to people.
    pub const ALL: [Self; 3] = [Self::Gemini, Self::OpenAiChat, Self::Anthropic];

    /// The format that reads what is written for this target.
    pub fn format(self) -> Format {
        match self {
            Self::Gemini => Format::GeminiContents,
            Self::OpenAiChat => Format::OpenAiChat,
            Self::Anthropic => Format::Anthropic,
        }
    }
}

/// A request as its target wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The body of the request.
    pub value: Value,
    /// What the target has no place for, in the order of the conversation. Empty text, which says nothing and which some
    /// providers refuse, is left out without a word.
    pub lost: Vec<Loss>,
}

/// Writes a request in the target's wire format.
///
/// Calls and results are written as they stand: whether they pair up is for `find_faults` to say.
pub fn write(target: Target, request: &Request) -> Written {
    let mut losses = Losses::default();
    let fitted = fit(target, request, &mut losses);
    Written { value: encode(target, &fitted), lost: losses.into_list() }
}

/// As [`write`], but gives each form of the request up as soon as the next one is made of it.
fn write_owned(target: Target, request: Request) -> Written {
    let mut losses = Losses::default();
    let fitted = fit(target, &request, &mut losses);
    drop(request);
    Written { value: encode(target, &fitted), lost: losses.into_list() }
}

/// Reduces a request to what the target can hold.
fn fit(target: Target, request: &Request, losses: &mut Losses) -> Request {
    match target {
        Target::Gemini => gemini::fit(request, losses),
        Target::OpenAiChat => openai::fit(request, losses),
        Target::Anthropic => anthropic::fit(request, losses),
    }
}

/// The message with texts that tell by themselves who produced them, for no wire format has a place for that.
fn with_told_origins(target: Target, message: &Message) -> Message {
    let has_role =
        || Extra::for_vendor(&message.extra, Vendor::OpenAiChat).is_some_and(|f| f.contains_key("role"));
    if message.role == Role::Model || target == Target::OpenAiChat && has_role() {
        return message.clone();
    }
    let parts = pieces(&message.parts, &PLAIN).into_iter().map(|piece| match piece {
        Piece::Other(part) => part.clone(),
        piece @ Piece::Text { origin, extra, .. } => {
            Part { extra: extra.clone(), ..Part::text(origin, piece.told_text()) }
        }
    });
    Message { parts: parts.collect(), ..message.clone() }
}

/// Encodes a request that was fitted to the target.
fn encode(target: Target, request: &Request) -> Value {
    let mut body = match target {
        Target::Gemini => gemini::encode(request),
        Target::OpenAiChat => openai::encode(request),
        Target::Anthropic => anthropic::encode(request),
    };
    add_missing(&mut body, request.extra.clone());
    Value::Object(body)
}

/// Adds the fields that `object` does not have yet.
fn add_missing(object: &mut Map<String, Value>, fields: Map<String, Value>) {
    for (key, value) in fields {
        object.entry(key).or_insert(value);
    }
}

/// Takes the object under `key` out of `fields` and adds it to `inner`: the way back for what a reader found beside the
/// fields it knew.
fn restore_rest(inner: &mut Map<String, Value>, fields: &mut Map<String, Value>, key: &str) {
    if let Some(Value::Object(rest)) = fields.shift_remove(key) {
        add_missing(inner, rest);
    }
}

/// An object of these fields, in this order.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
