//! Pairing faults.

use std::fmt;

use crate::{CallId, MessageId, Ordinal};

/// A place at which a provider would refuse the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingFault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The message with the fault.
    pub message: MessageId,
    /// That message's number.
    pub ordinal: Option<Ordinal>,
    /// The call concerned.
    pub call: Option<CallId>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// A call without any result.
    UnansweredCall,
    /// A result without any call.
    OrphanResult,
    /// A call with the id of an earlier call.
    DuplicateCall,
    /// A further result for a call that has one.
    DuplicateResult,
    /// A result before its call.
    ResultBeforeCall,
    /// A result that does not directly follow its call.
    ResultNotAdjacent,
    /// Results in another order than their calls.
    ResultsOutOfOrder,
    /// Calls made together whose results are scattered over several turns.
    TornBatch,
    /// A call in a user message.
    CallFromUser,
    /// A result in a model message.
    ResultFromModel,
    /// A reasoning item that nothing follows.
    ReasoningWithoutCall,
    /// A call whose reasoning item is missing.
    CallWithoutReasoning,
    /// An empty message.
    EmptyTurn,
    /// The conversation does not start with a user message.
    WrongFirstRole,
}

/// The forms in which a conversation is sent to providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestForm {
    /// Anthropic messages.
    Anthropic,
    /// Gemini contents.
    Gemini,
    /// OpenAI chat completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
}

impl RequestForm {
    /// Every form.
    pub const ALL: &[Self] = &[Self::Anthropic, Self::Gemini, Self::OpenAiChat, Self::OpenAiResponses];

    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
            Self::OpenAiChat => "OpenAI chat completions",
            Self::OpenAiResponses => "OpenAI Responses",
        }
    }

    /// A stable word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
        }
    }
}

impl FaultKind {
    /// The stable name for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnansweredCall => "unanswered_call",
            Self::OrphanResult => "orphan_result",
            Self::DuplicateCall => "duplicate_call",
            Self::DuplicateResult => "duplicate_result",
            Self::ResultBeforeCall => "result_before_call",
            Self::ResultNotAdjacent => "result_not_adjacent",
            Self::ResultsOutOfOrder => "results_out_of_order",
            Self::TornBatch => "torn_batch",
            Self::CallFromUser => "call_from_user",
            Self::ResultFromModel => "result_from_model",
            Self::ReasoningWithoutCall => "reasoning_without_call",
            Self::CallWithoutReasoning => "call_without_reasoning",
            Self::EmptyTurn => "empty_turn",
            Self::WrongFirstRole => "wrong_first_role",
        }
    }

    /// The forms of a request in which a provider refuses this; the others take it as it is.
    pub fn refused_in(self) -> &'static [RequestForm] {
        use RequestForm::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
        match self {
            // Responses finds a result by its id, wherever it stands behind its call.
            Self::ResultNotAdjacent | Self::TornBatch => &[Anthropic, Gemini, OpenAiChat],
            Self::ResultsOutOfOrder => &[Gemini],
            Self::ReasoningWithoutCall | Self::CallWithoutReasoning => &[OpenAiResponses],
            Self::EmptyTurn | Self::WrongFirstRole => &[Anthropic, Gemini],
            Self::UnansweredCall
            | Self::OrphanResult
            | Self::DuplicateCall
            | Self::DuplicateResult
            | Self::ResultBeforeCall
            | Self::CallFromUser
            | Self::ResultFromModel => RequestForm::ALL,
        }
    }

    /// A description for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::UnansweredCall => "call without a result",
            Self::OrphanResult => "result without a call",
            Self::DuplicateCall => "call id used twice",
            Self::DuplicateResult => "second result for one call",
            Self::ResultBeforeCall => "result before its call",
            Self::ResultNotAdjacent => "result not directly after its call",
            Self::ResultsOutOfOrder => "results out of order",
            Self::TornBatch => "results of parallel calls separated",
            Self::CallFromUser => "call in a user message",
            Self::ResultFromModel => "result in a model message",
            Self::ReasoningWithoutCall => "reasoning with nothing after it",
            Self::CallWithoutReasoning => "call without its reasoning",
            Self::EmptyTurn => "empty message",
            Self::WrongFirstRole => "does not start with a user message",
        }
    }
}

impl fmt::Display for PairingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.describe())?;
        match self.ordinal {
            Some(ordinal) => write!(f, " in {ordinal}")?,
            None => write!(f, " in {}", self.message)?,
        }
        self.call.as_ref().map_or(Ok(()), |call| write!(f, " (call {call})"))
    }
}
