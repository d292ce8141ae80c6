//! The wire formats that models are spoken to in.

/// How a provider wants to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// Gemini's `generateContent`.
    Gemini,
    /// OpenAI's chat completions, which most other servers speak too.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}
