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
