//! The wire formats that models are spoken to in.

use longhaul_conversation::Vendor;

/// A format in which a provider takes requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// Gemini's `generateContent`.
    Gemini,
    /// OpenAI's chat completions, which most other servers speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl WireFormat {
    /// Every format, in the order they are listed to people.
    pub const ALL: [Self; 3] = [Self::Gemini, Self::OpenAi, Self::Anthropic];

    /// The word for the format in settings and data files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The format that [`WireFormat::as_str`] writes as `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }

    /// The vendor whose fields and items go back in this format.
    pub fn vendor(self) -> Vendor {
        match self {
            Self::Gemini => Vendor::Gemini,
            Self::OpenAi => Vendor::OpenAiChat,
            Self::Anthropic => Vendor::Anthropic,
        }
    }
}
