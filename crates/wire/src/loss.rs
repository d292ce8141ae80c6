//! Losses: content that a target has no place for.

use std::fmt;

use longhaul_conversation::{Message, MessageId, Ordinal};

/// Something that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The message it belongs to; none where it belongs to the session as a whole, as the system instruction does.
    pub message: Option<MessageId>,
    /// That message's mark.
    pub ordinal: Option<Ordinal>,
    /// The kind.
    pub kind: LossKind,
    /// Details, in a few words.
    pub detail: String,
}

/// The kinds of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossKind {
    /// A thought's signature of another vendor's; its text was written.
    Signature,
    /// A whole thought, which the target takes only with its own signature.
    Thought,
    /// The id of the reasoning item that a thought is or a call goes with.
    ReasoningItem,
    /// An item of another vendor's that we carry without understanding it.
    Opaque,
    /// Media of a kind, or in a place, that the target does not take, or whose content the source left out.
    Media,
    /// A file by an address that the target cannot follow.
    File,
    /// The media type of a file that was written.
    MediaType,
    /// That a call failed or was cancelled; what the tool answered was written.
    Status,
    /// The name of a tool in a result whose call does not tell it.
    ToolName,
    /// The id of a call that the target would refuse; call and result were given another one.
    CallId,
    /// That a call's arguments are no object; they were written inside one.
    Arguments,
    /// Fields of another vendor's, or ones that have no place.
    Fields,
    /// The order of parts that the target wants in another one.
    Order,
    /// A part that the target does not take from this side.
    Misplaced,
    /// The author of a part; its content was written.
    Origin,
    /// That a text was a thought, which the target takes only with its own signature; it was written as text.
    ThoughtAsText,
    /// A result for a call id that another message has answered.
    SecondResult,
    /// Token figures that the target does not tell apart.
    Usage,
    /// The system instruction.
    System,
    /// The declared tools.
    Tools,
    /// The conversation of a sub-agent.
    SideChain,
}

impl LossKind {
    /// A stable word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Thought => "thought",
            Self::ReasoningItem => "reasoning_item",
            Self::Opaque => "opaque",
            Self::Media => "media",
            Self::File => "file",
            Self::MediaType => "media_type",
            Self::Status => "status",
            Self::ToolName => "tool_name",
            Self::Arguments => "arguments",
            Self::Fields => "fields",
            Self::Order => "order",
            Self::Misplaced => "misplaced",
            Self::Origin => "origin",
            Self::ThoughtAsText => "thought_as_text",
            Self::SecondResult => "second_result",
            Self::Usage => "usage",
            Self::System => "system",
            Self::Tools => "tools",
            Self::SideChain => "side_chain",
            Self::CallId => "call_id",
        }
    }

    /// The kind in words for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Signature => "signature from another vendor",
            Self::Thought => "thought without the target's signature",
            Self::ReasoningItem => "reasoning item id",
            Self::Opaque => "item from another vendor",
            Self::Media => "media",
            Self::File => "file",
            Self::MediaType => "file media type",
            Self::Status => "call outcome",
            Self::ToolName => "tool name",
            Self::CallId => "call id",
            Self::Arguments => "argument format",
            Self::Fields => "fields",
            Self::Order => "part order",
            Self::Misplaced => "part in the wrong role",
            Self::Origin => "author of a part",
            Self::ThoughtAsText => "thought marker on a text",
            Self::SecondResult => "second result for one call",
            Self::Usage => "token usage",
            Self::System => "system instruction",
            Self::Tools => "declared tools",
            Self::SideChain => "sub-agent conversation",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ordinal, &self.message) {
            (Some(ordinal), _) => write!(f, "{ordinal}: ")?,
            (None, Some(message)) => write!(f, "{message}: ")?,
            (None, None) => {}
        }
        f.write_str(self.kind.describe())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// Collects losses, message by message.
#[derive(Debug, Default)]
pub struct Losses {
    message: Option<MessageId>,
    ordinal: Option<Ordinal>,
    list: Vec<Loss>,
}

impl Losses {
    /// From now on losses concern this message.
    pub fn at(&mut self, message: &Message) {
        self.message = Some(message.id.clone());
        self.ordinal = message.ordinal;
    }

    /// From now on losses concern the session as a whole.
    pub fn at_session(&mut self) {
        self.message = None;
        self.ordinal = None;
    }

    /// Reports a loss.
    pub fn add(&mut self, kind: LossKind, detail: impl Into<String>) {
        let (message, ordinal) = (self.message.clone(), self.ordinal);
        self.list.push(Loss { message, ordinal, kind, detail: detail.into() });
    }

    /// The losses, in the order they were reported.
    pub fn into_list(self) -> Vec<Loss> {
        self.list
    }
}
