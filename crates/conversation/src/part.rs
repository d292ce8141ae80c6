//! One piece of a message.

use serde_json::{Map, Value};

use crate::{Origin, ToolCall, ToolResult};

/// One piece of a message: its content, who produced it, and what its vendor said besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Who produced it.
    pub origin: Origin,
    /// What it is.
    pub body: Body,
    /// Fields of the vendor's part that we do not model, to be written back.
    pub extra: Option<Box<Extra>>,
}

/// What a part holds. There may be millions in memory, so that the larger ones lie elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Plain text.
    Text(String),
    /// The model's reasoning.
    Thought(Box<Thought>),
    /// The model asks for a tool to run.
    Call(Box<ToolCall>),
    /// A tool has answered.
    Result(Box<ToolResult>),
    /// An image, a document or a sound, carried along.
    Media(Box<Media>),
    /// A file that the provider holds or fetches.
    File(Box<FileReference>),
    /// Something a vendor sends that we do not model.
    Opaque(Box<Opaque>),
}

/// The model's reasoning, with what proves it to its vendor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thought {
    /// The reasoning, or its summary; may be empty where only the signature is given.
    pub text: String,
    /// The vendor's proof; a signed thought is only worth something to the vendor that signed it.
    pub signature: Option<Signature>,
    /// The vendor's id of this reasoning item, which calls may refer to.
    pub item: Option<String>,
}

/// Opaque bytes with which a vendor recognises its own reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Who signed.
    pub vendor: Vendor,
    /// The signature, exactly as it came.
    pub value: String,
}

/// Media carried inside the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The media type, such as `image/png`.
    pub mime: String,
    /// The content.
    pub data: MediaData,
}

/// The content of a [`Media`] part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaData {
    /// Base64 text.
    Base64(String),
    /// The source left the content out and told its size.
    Omitted {
        /// How many bytes were left out.
        bytes: u64,
    },
}

/// A file named by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReference {
    /// The media type, where the source gives one.
    pub mime: Option<String>,
    /// Where the file is.
    pub uri: String,
}

/// A vendor's item that we carry without understanding it.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    /// Whose item it is.
    pub vendor: Vendor,
    /// The item, key order included.
    pub value: Value,
}

/// Fields beside the ones we model, in the order they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// Whose fields they are: another vendor would refuse them.
    pub vendor: Vendor,
    /// The fields.
    pub fields: Map<String, Value>,
}

/// Whose wire format something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Gemini `contents`.
    Gemini,
    /// OpenAI chat completions and the many servers that speak it.
    OpenAiChat,
    /// OpenAI Responses items, also in Codex rollouts.
    OpenAiResponses,
    /// Anthropic messages, also in Claude Code sessions.
    Anthropic,
    /// An agent's own record, of no provider.
    Agent,
}

impl Part {
    /// A part without extra fields.
    pub fn new(origin: Origin, body: Body) -> Self {
        Self { origin, body, extra: None }
    }

    /// Text from `origin`.
    pub fn text(origin: Origin, text: impl Into<String>) -> Self {
        Self::new(origin, Body::Text(text.into()))
    }

    /// Text that a person typed.
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::text(Origin::User, text)
    }

    /// Text that the model wrote.
    pub fn model_text(text: impl Into<String>) -> Self {
        Self::text(Origin::Model, text)
    }

    /// A thought of the model's.
    pub fn thought(thought: Thought) -> Self {
        Self::new(Origin::Model, Body::Thought(Box::new(thought)))
    }

    /// A tool call.
    pub fn call(call: ToolCall) -> Self {
        Self::new(Origin::Model, Body::Call(Box::new(call)))
    }

    /// A tool result.
    pub fn result(result: ToolResult) -> Self {
        Self::new(Origin::Tool, Body::Result(Box::new(result)))
    }

    /// Something of a vendor's that we carry without understanding it.
    pub fn opaque(origin: Origin, vendor: Vendor, value: Value) -> Self {
        Self::new(origin, Body::Opaque(Box::new(Opaque { vendor, value })))
    }

    /// The same part with a vendor's further fields; none are kept if there are none.
    #[must_use]
    pub fn with_extra(mut self, vendor: Vendor, fields: Map<String, Value>) -> Self {
        self.extra = Extra::boxed(vendor, fields);
        self
    }

    /// The text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The call, if this is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        match &self.body {
            Body::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The result, if this is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        match &self.body {
            Body::Result(result) => Some(result),
            _ => None,
        }
    }

    /// Whether the part says nothing: empty text, or a thought with neither text nor signature.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Text(text) => text.is_empty(),
            Body::Thought(thought) => thought.text.is_empty() && thought.signature.is_none(),
            _ => false,
        }
    }
}

impl Extra {
    /// Keeps `fields` if there are any.
    pub fn boxed(vendor: Vendor, fields: Map<String, Value>) -> Option<Box<Self>> {
        (!fields.is_empty()).then(|| Box::new(Self { vendor, fields }))
    }

    /// The fields, if they are `vendor`'s.
    pub fn for_vendor(extra: &Option<Box<Self>>, vendor: Vendor) -> Option<&Map<String, Value>> {
        extra.as_deref().filter(|extra| extra.vendor == vendor).map(|extra| &extra.fields)
    }
}
