//! The session formats that are known.

use std::fmt;

/// A kind of session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Gemini CLI, one record a line.
    GeminiJsonl,
    /// Gemini CLI, the older single object.
    GeminiJson,
    /// Claude Code.
    ClaudeCode,
    /// Codex rollouts, of August 2025 and since.
    Codex,
    /// An OpenAI chat-completions request, or its messages.
    OpenAiChat,
    /// The input of an OpenAI Responses request.
    OpenAiResponses,
    /// An Anthropic messages request, or its messages.
    Anthropic,
    /// A Gemini request, or its contents.
    GeminiContents,
    /// The neutral form: contents with their source.
    Neutral,
    /// pi.
    Pi,
    /// Cline.
    Cline,
    /// OpenHands.
    OpenHands,
    /// SWE-agent trajectories.
    SweAgent,
    /// mini-swe-agent trajectories.
    MiniSweAgent,
    /// Aider chat histories.
    Aider,
    /// opencode, as `opencode export` prints it and as its database holds it.
    OpenCode,
    /// Qwen Code.
    QwenCode,
    /// Cursor: transcripts of its agent, conversations of its editor.
    Cursor,
    /// Copilot CLI.
    CopilotCli,
    /// VS Code's chat.
    VsCodeChat,
    /// Kimi.
    Kimi,
    /// Antigravity CLI.
    Antigravity,
    /// Factory Droid.
    Droid,
    /// goose, as `goose session export` prints it and as its database holds it.
    Goose,
    /// Recorded model responses: a test aid of Gemini CLI, not a conversation.
    RecordedResponses,
}

impl Format {
    /// Every format, in the order they are listed to people.
    pub const ALL: [Self; 25] = [
        Self::GeminiJsonl,
        Self::GeminiJson,
        Self::ClaudeCode,
        Self::Codex,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::GeminiContents,
        Self::Neutral,
        Self::Pi,
        Self::Cline,
        Self::OpenHands,
        Self::SweAgent,
        Self::MiniSweAgent,
        Self::Aider,
        Self::OpenCode,
        Self::QwenCode,
        Self::Cursor,
        Self::CopilotCli,
        Self::VsCodeChat,
        Self::Kimi,
        Self::Antigravity,
        Self::Droid,
        Self::Goose,
        Self::RecordedResponses,
    ];

    /// A stable word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GeminiJsonl => "gemini-jsonl",
            Self::GeminiJson => "gemini-json",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::GeminiContents => "gemini-contents",
            Self::Neutral => "neutral",
            Self::Pi => "pi",
            Self::Cline => "cline",
            Self::OpenHands => "openhands",
            Self::SweAgent => "swe-agent",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::Aider => "aider",
            Self::OpenCode => "opencode",
            Self::QwenCode => "qwen-code",
            Self::Cursor => "cursor",
            Self::CopilotCli => "copilot-cli",
            Self::VsCodeChat => "vscode-chat",
            Self::Kimi => "kimi",
            Self::Antigravity => "antigravity",
            Self::Droid => "droid",
            Self::Goose => "goose",
            Self::RecordedResponses => "recorded-responses",
        }
    }

    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::GeminiJsonl => "Gemini CLI session",
            Self::GeminiJson => "Gemini CLI session (older JSON)",
            Self::ClaudeCode => "Claude Code session",
            Self::Codex => "Codex rollout",
            Self::OpenAiChat => "OpenAI chat messages",
            Self::OpenAiResponses => "OpenAI Responses input",
            Self::Anthropic => "Anthropic messages",
            Self::GeminiContents => "Gemini contents",
            Self::Neutral => "neutral session",
            Self::Pi => "pi session",
            Self::Cline => "Cline session",
            Self::OpenHands => "OpenHands trajectory",
            Self::SweAgent => "SWE-agent trajectory",
            Self::MiniSweAgent => "mini-swe-agent trajectory",
            Self::Aider => "Aider chat history",
            Self::OpenCode => "opencode session",
            Self::QwenCode => "Qwen Code session",
            Self::Cursor => "Cursor session",
            Self::CopilotCli => "Copilot CLI session",
            Self::VsCodeChat => "VS Code chat",
            Self::Kimi => "Kimi session",
            Self::Antigravity => "Antigravity transcript",
            Self::Droid => "Droid session",
            Self::Goose => "goose session",
            Self::RecordedResponses => "recorded model responses",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
