//! Reads the bodies of requests, whole or piece by piece.

use std::collections::HashMap;

use longhaul_conversation::{
    Change, Extra, Message, MessageId, Part, Request, Role, Timestamp, ToolDeclaration, Transcript, Usage,
};

use crate::call_ids::CallIds;
use crate::intake::Intake;
use crate::json::{Json, Object};
use crate::openai::ChatDecoder;
use crate::responses::Items;
use crate::shared::{each_object, text_parts};
use crate::{anthropic, gemini, openai, responses};

/// A format in which requests can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestFormat {
    /// Gemini's `generateContent`.
    Gemini,
    /// OpenAI's chat completions.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
}

/// Reads one request, and hands what it finds to an [`Intake`].
#[derive(Debug)]
pub struct RequestDecoder(Messages);

#[derive(Debug)]
enum Messages {
    Gemini(CallIds),
    OpenAiChat(ChatDecoder),
    OpenAiResponses(Items),
    Anthropic,
}

impl RequestDecoder {
    /// A decoder for one request.
    pub fn new(format: RequestFormat) -> Self {
        Self(match format {
            RequestFormat::Gemini => Messages::Gemini(CallIds::default()),
            RequestFormat::OpenAiChat => Messages::OpenAiChat(ChatDecoder::default()),
            RequestFormat::OpenAiResponses => Messages::OpenAiResponses(Items::default()),
            RequestFormat::Anthropic => Messages::Anthropic,
        })
    }

    /// Reads the body of the request.
    pub fn body(&mut self, mut body: Object<'_>, out: &mut dyn Intake) {
        self.head(&mut body, out);
        let list = match &self.0 {
            Messages::Gemini(_) => "contents",
            Messages::OpenAiResponses(_) => "input",
            Messages::OpenAiChat(_) | Messages::Anthropic => "messages",
        };
        if let Messages::OpenAiResponses(_) = self.0
            && let Some(text) = body.take_string(list)
        {
            out.put(Message::new(out.unused_id(None), Role::User, text_parts(text, Role::User)));
        }
        let messages = body.take_list(list).unwrap_or_default();
        out.keep_fields(match &self.0 {
            Messages::Gemini(_) => gemini::read_rest(body),
            Messages::OpenAiChat(_) => openai::read_rest(body),
            Messages::OpenAiResponses(_) => responses::read_rest(body),
            Messages::Anthropic => anthropic::read_rest(body),
        });
        each_object(messages, list, out, |message, index, out| self.message(message, index, out));
    }

    /// Reads what the body says beside its messages, and takes it out of it.
    fn head(&mut self, body: &mut Object<'_>, out: &mut dyn Intake) {
        match &mut self.0 {
            Messages::Gemini(_) => gemini::read_head(body, out),
            Messages::OpenAiChat(_) => openai::read_head(body, out),
            Messages::OpenAiResponses(items) => {
                items.model = body.str("model").map(str::to_string);
                responses::read_head(body, out);
            }
            Messages::Anthropic => anthropic::read_head(body, out),
        }
    }

    /// Reads the message that stands at `index`.
    pub fn message(&mut self, message: Object<'_>, index: usize, out: &mut dyn Intake) {
        match &mut self.0 {
            Messages::Gemini(ids) => {
                let read = |part: Json<'_>, role| gemini::read_part(part, role, ids);
                let message = gemini::read_content(message, index, out, read);
                out.put(message);
            }
            Messages::OpenAiChat(chat) => chat.message(message, out),
            Messages::OpenAiResponses(items) => items.item(message, None, out),
            Messages::Anthropic => anthropic::read_message(message, out),
        }
    }
}

/// A request that was read.
#[derive(Clone, Debug, Default)]
pub struct DecodedRequest {
    /// The request itself.
    pub request: Request,
    /// Items skipped on purpose, such as tools that a vendor runs itself, with their number.
    pub skipped: HashMap<String, usize>,
    /// Warnings about what could not be read.
    pub warnings: Vec<String>,
}

/// Reads the body of a request.
///
/// # Errors
/// If the body is no JSON. A body that is no request becomes an empty one, with a warning.
pub fn decode_request(format: RequestFormat, body: &str) -> serde_json::Result<DecodedRequest> {
    let mut found = Collected::default();
    match Json::parse(body)? {
        Json::Object(body) => RequestDecoder::new(format).body(body, &mut found),
        other => found.decoded.warnings.push(format!("expected a request, found {}", other.kind())),
    }
    found.decoded.request.messages = found.messages.into_messages();
    Ok(found.decoded)
}

/// Collects a request.
#[derive(Default)]
struct Collected {
    decoded: DecodedRequest,
    messages: Transcript,
}

impl Intake for Collected {
    fn put(&mut self, message: Message) {
        self.messages.apply(Change::Put(message));
    }

    fn extend(&mut self, id: MessageId, parts: Vec<Part>) {
        self.messages.apply(Change::Extend { id, parts });
    }

    fn add_system(&mut self, parts: Vec<Part>) {
        self.decoded.request.system.extend(parts);
    }

    fn add_tool(&mut self, tool: ToolDeclaration) {
        self.decoded.request.tools.push(tool);
    }

    fn keep_fields(&mut self, fields: Option<Box<Extra>>) {
        self.decoded.request.fields = fields;
    }

    fn note(&mut self, _at: Option<Timestamp>, model: Option<&str>, _usage: Option<&Usage>) {
        if let Some(model) = model {
            self.decoded.request.model = model.to_string();
        }
    }

    fn skip(&mut self, kind: &str) {
        *self.decoded.skipped.entry(kind.to_string()).or_default() += 1;
    }

    fn warn(&mut self, reason: String) {
        self.decoded.warnings.push(reason);
    }

    fn has_messages(&self) -> bool {
        !self.messages.messages().is_empty()
    }

    fn unused_id(&self, own: Option<MessageId>) -> MessageId {
        let is_free = |id: &MessageId| self.messages.position(id).is_none();
        let numbers = self.messages.messages().len() + 1..;
        own.filter(is_free).unwrap_or_else(|| {
            let mut ids = numbers.map(|number| MessageId::made_up(format_args!("m{number}")));
            ids.find(is_free).expect("there is always another number")
        })
    }
}
