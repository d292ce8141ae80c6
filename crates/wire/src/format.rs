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

    /// The vendor whose fields and items go back in this format.
    pub fn vendor(self) -> Vendor {
        match self {
            Self::Gemini => Vendor::Gemini,
            Self::OpenAi => Vendor::OpenAiChat,
            Self::Anthropic => Vendor::Anthropic,
        }
    }
}
