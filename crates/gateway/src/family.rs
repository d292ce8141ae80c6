//! The families of APIs that the gateway speaks, and where their requests keep the history.

use std::fmt;

use longhaul_wire::{RequestFormat, WireFormat};

/// A family of APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and all that follow them.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Chat, Self::Gemini];

    /// The stable word for it in settings, metrics and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
        }
    }

    /// The field with the history.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Chat => "messages",
            Self::Responses => "input",
            Self::Gemini => "contents",
        }
    }

    /// Fields that name a history which is kept elsewhere: a request that has one passes as it is.
    pub(crate) fn handles(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["thread"],
            Self::Chat => &[],
            Self::Responses => &["previous_response_id", "conversation"],
            Self::Gemini => &["cachedContent", "cached_content"],
        }
    }

    pub(crate) fn request_format(self) -> RequestFormat {
        match self {
            Self::Anthropic => RequestFormat::Anthropic,
            Self::Chat => RequestFormat::OpenAiChat,
            Self::Responses => RequestFormat::OpenAiResponses,
            Self::Gemini => RequestFormat::Gemini,
        }
    }

    /// The form of answers, where a decoder for them exists.
    pub(crate) fn answer_format(self) -> Option<WireFormat> {
        match self {
            Self::Anthropic => Some(WireFormat::Anthropic),
            Self::Chat => Some(WireFormat::OpenAi),
            Self::Gemini => Some(WireFormat::Gemini),
            Self::Responses => None,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
