//! Parts of messages.

use serde_json::{Map, Value};

use crate::{Origin, ToolCall, ToolResult};

/// A part of a message: content, origin and additional vendor fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its origin.
    pub origin: Origin,
    /// Its content.
    pub body: Body,
    /// Vendor fields that are not modelled, to be written back.
    pub extra: Option<Box<Extra>>,
}

/// The content of a part. Larger variants are boxed, as there may be millions in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Plain text.
    Text(String),
    /// The model's reasoning.
    Thought(Box<Thought>),
    /// A tool call.
    Call(Box<ToolCall>),
    /// A tool result.
    Result(Box<ToolResult>),
    /// An image, a document or audio, carried inline.
    Media(Box<Media>),
    /// A file that the provider holds or fetches.
    File(Box<FileReference>),
    /// A vendor's item that is not modelled.
    Opaque(Box<Opaque>),
}

/// The model's reasoning, with the vendor's proof of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thought {
    /// The reasoning or its summary; may be empty if only the signature is given.
    pub text: String,
    /// The vendor's proof, which is worthless to other vendors.
    pub signature: Option<Signature>,
    /// The vendor's id of this reasoning item, which calls may refer to.
    pub item: Option<String>,
}

/// Opaque bytes by which a vendor recognises its own reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The signing vendor.
    pub vendor: Vendor,
    /// The signature, verbatim.
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
    /// Left out by the source, which states the size.
    Omitted {
        /// The number of bytes left out.
        bytes: u64,
    },
}

/// A file named by URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReference {
    /// The media type, if the source gives one.
    pub mime: Option<String>,
    /// The file's URI.
    pub uri: String,
}

/// A vendor's item, carried along without interpretation.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    /// The vendor.
    pub vendor: Vendor,
    /// The item, key order included.
    pub value: Value,
}

/// Unmodelled fields, in their original order.
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// The vendor; another one would refuse them.
    pub vendor: Vendor,
    /// The fields.
    pub fields: Map<String, Value>,
}

/// The vendor of a wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Gemini `contents`.
    Gemini,
    /// OpenAI chat completions and compatible servers.
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

    /// Text typed by a person.
    pub fn user_text(text: impl Into<String>) -> Self {
        Self::text(Origin::User, text)
    }

    /// Text written by the model.
    pub fn model_text(text: impl Into<String>) -> Self {
        Self::text(Origin::Model, text)
    }

    /// A thought of the model.
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

    /// A vendor's item, carried along without interpretation.
    pub fn opaque(origin: Origin, vendor: Vendor, value: Value) -> Self {
        Self::new(origin, Body::Opaque(Box::new(Opaque { vendor, value })))
    }

    /// Adds vendor fields, unless they are empty.
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

    /// True for an empty text, or a thought with neither text nor signature.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Text(text) => text.is_empty(),
            Body::Thought(thought) => thought.text.is_empty() && thought.signature.is_none(),
            _ => false,
        }
    }
}

impl Extra {
    /// Boxes the fields, unless they are empty.
    pub fn boxed(vendor: Vendor, fields: Map<String, Value>) -> Option<Box<Self>> {
        (!fields.is_empty()).then(|| Box::new(Self { vendor, fields }))
    }

    /// The fields, if they belong to `vendor`.
    pub fn for_vendor(extra: &Option<Box<Self>>, vendor: Vendor) -> Option<&Map<String, Value>> {
        extra.as_deref().filter(|extra| extra.vendor == vendor).map(|extra| &extra.fields)
    }
}
