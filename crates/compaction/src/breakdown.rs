//! Breakdown of a conversation's tokens, as a value that every front end shows alike.

use crate::CountedSize;
use longhaul_conversation::{MessageId, Ordinal, PairingFault, Role, Timestamp, TokenCount};

/// Breakdown of a conversation's tokens.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// All tokens, system instruction and tools included.
    pub total: TokenCount,
    /// What the provider counted, if that is what the figures follow; otherwise they are estimates.
    pub counted: Option<CountedSize>,
    /// Tokens by kind, in the order of [`Kind::ALL`]; kinds without any are left out.
    pub kinds: Vec<KindTokens>,
    /// Tokens by tool, heaviest first.
    pub tools: Vec<ToolTokens>,
    /// Tokens by file, heaviest first.
    pub files: Vec<FileTokens>,
    /// Tokens by turn, in order.
    pub turns: Vec<TurnTokens>,
    /// The heaviest messages, heaviest first.
    pub heaviest: Vec<MessageTokens>,
    /// Number of messages.
    pub messages: usize,
    /// Number of tool calls.
    pub calls: usize,
    /// Number of results that came back.
    pub results: usize,
    /// The size of the conversation after each step of its life, evenly thinned out.
    pub growth: Vec<TokenCount>,
    /// Tokens of messages that are no longer part of the conversation: compacted away or taken back.
    pub dropped: TokenCount,
    /// Faults for which a provider would refuse the conversation.
    pub faults: Vec<PairingFault>,
}

/// The kind of content that a token is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What the provider counted and the record does not hold.
    Unrecorded,
    /// The system instruction and the declared tools.
    System,
    /// Text that people typed.
    User,
    /// Text that the model wrote.
    ModelText,
    /// Thoughts of the model.
    Thoughts,
    /// The arguments of tool calls.
    CallArguments,
    /// Answers of tools.
    ToolOutput,
    /// Images, documents, sound.
    Media,
    /// Memory files and skills.
    Memory,
    /// Summaries of what came before.
    Summary,
    /// Text that the program around the model added.
    Added,
    /// Items of a vendor's that we carry without understanding them.
    Other,
}

/// The tokens of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindTokens {
    /// The kind.
    pub kind: Kind,
    /// Its tokens.
    pub tokens: TokenCount,
}

/// The tokens that one tool took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolTokens {
    /// The tool's name.
    pub name: String,
    /// Number of calls.
    pub calls: usize,
    /// Number of results that say that it failed.
    pub failures: usize,
    /// Tokens of the arguments.
    pub arguments: TokenCount,
    /// Tokens of the results, media included.
    pub output: TokenCount,
}

/// The tokens that one file took, in calls that name it and their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTokens {
    /// The path as the calls wrote it.
    pub path: String,
    /// Number of calls that named it.
    pub calls: usize,
    /// Tokens of these calls and their results.
    pub tokens: TokenCount,
}

/// The tokens from one message that a person typed to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnTokens {
    /// The message that opened it.
    pub message: MessageId,
    /// Its mark.
    pub ordinal: Option<Ordinal>,
    /// Beginning of what was typed; empty for what came before anybody typed.
    pub preview: String,
    /// Number of its messages.
    pub messages: usize,
    /// Number of its tool calls.
    pub calls: usize,
    /// Its tokens.
    pub tokens: TokenCount,
}

/// The tokens of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTokens {
    /// The message.
    pub message: MessageId,
    /// Its mark.
    pub ordinal: Option<Ordinal>,
    /// Whose it is.
    pub role: Role,
    /// Time at which it was said.
    pub at: Option<Timestamp>,
    /// Kind of most of it.
    pub kind: Kind,
    /// Its beginning, or the tool that it concerns.
    pub preview: String,
    /// Its tokens.
    pub tokens: TokenCount,
}

impl Breakdown {
    /// The same figures so many times as large.
    pub(crate) fn scaled(mut self, scale: f64) -> Self {
        let grow = |tokens: &mut TokenCount| tokens.0 = (tokens.0 as f64 * scale).round() as u64;
        grow(&mut self.total);
        grow(&mut self.dropped);
        self.growth.iter_mut().for_each(grow);
        self.kinds.iter_mut().for_each(|kind| grow(&mut kind.tokens));
        self.tools.iter_mut().flat_map(|tool| [&mut tool.arguments, &mut tool.output]).for_each(grow);
        self.files.iter_mut().for_each(|file| grow(&mut file.tokens));
        self.turns.iter_mut().for_each(|turn| grow(&mut turn.tokens));
        self.heaviest.iter_mut().for_each(|message| grow(&mut message.tokens));
        self
    }

    /// The figures with what the provider counted beside them. They have its scale already.
    pub(crate) fn following(mut self, counted: CountedSize) -> Self {
        if counted.unrecorded > TokenCount::ZERO {
            self.kinds.insert(0, KindTokens { kind: Kind::Unrecorded, tokens: counted.unrecorded });
        }
        // What stands beside the messages was there from the beginning.
        let beside = counted.total - self.growth.last().copied().unwrap_or_default();
        self.growth.iter_mut().filter(|size| **size > TokenCount::ZERO).for_each(|size| *size += beside);
        Self { total: counted.total, counted: Some(counted), ..self }
    }
}

impl Kind {
    /// Every kind, in the order they are shown.
    pub const ALL: [Self; 12] = [
        Self::Unrecorded,
        Self::System,
        Self::User,
        Self::ModelText,
        Self::Thoughts,
        Self::CallArguments,
        Self::ToolOutput,
        Self::Media,
        Self::Memory,
        Self::Summary,
        Self::Added,
        Self::Other,
    ];

    /// A stable word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unrecorded => "unrecorded",
            Self::System => "system",
            Self::User => "user",
            Self::ModelText => "model_text",
            Self::Thoughts => "thoughts",
            Self::CallArguments => "call_arguments",
            Self::ToolOutput => "tool_output",
            Self::Media => "media",
            Self::Memory => "memory",
            Self::Summary => "summary",
            Self::Added => "added",
            Self::Other => "other",
        }
    }

    /// The name people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unrecorded => "not in the file",
            Self::System => "system",
            Self::User => "user",
            Self::ModelText => "model text",
            Self::Thoughts => "thoughts",
            Self::CallArguments => "call arguments",
            Self::ToolOutput => "tool output",
            Self::Media => "media",
            Self::Memory => "memory",
            Self::Summary => "summary",
            Self::Added => "added by host",
            Self::Other => "other",
        }
    }
}

impl ToolTokens {
    /// Arguments and output together.
    pub fn tokens(&self) -> TokenCount {
        self.arguments + self.output
    }
}
