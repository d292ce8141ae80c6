//! What can be wrong with a conversation, and the check that finds it.

use std::fmt;

use super::analysis::Analysis;
use super::shape::Shape;
use super::sound::is_sound;
use crate::{CallId, Message, MessageId, Ordinal};

/// One place where a provider would refuse the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The message it is wrong in.
    pub message: MessageId,
    /// That message's mark.
    pub ordinal: Option<Ordinal>,
    /// The call concerned.
    pub call: Option<CallId>,
}

/// What can be wrong with a conversation.
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
    /// A result that stands before its call.
    ResultBeforeCall,
    /// A result that does not directly follow its call.
    ResultNotAdjacent,
    /// Results in another order than their calls.
    ResultsOutOfOrder,
    /// Calls made together whose results are scattered over several turns.
    TornBatch,
    /// A call on the user's side.
    CallFromUser,
    /// A result on the model's side.
    ResultFromModel,
    /// A reasoning item that nothing follows.
    ReasoningWithoutCall,
    /// A call whose reasoning item is missing.
    CallWithoutReasoning,
    /// A message that says nothing.
    EmptyTurn,
    /// The conversation does not start with the user.
    WrongFirstRole,
}

impl FaultKind {
    /// A stable word for machines.
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

    /// What is wrong, in words for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::UnansweredCall => "call without a result",
            Self::OrphanResult => "result without a call",
            Self::DuplicateCall => "call id used twice",
            Self::DuplicateResult => "second result for one call",
            Self::ResultBeforeCall => "result before its call",
            Self::ResultNotAdjacent => "result not directly behind its call",
            Self::ResultsOutOfOrder => "results in another order than their calls",
            Self::TornBatch => "results of parallel calls torn apart",
            Self::CallFromUser => "call on the user's side",
            Self::ResultFromModel => "result on the model's side",
            Self::ReasoningWithoutCall => "reasoning that nothing follows",
            Self::CallWithoutReasoning => "call without its reasoning",
            Self::EmptyTurn => "empty message",
            Self::WrongFirstRole => "does not start with the user",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.describe())?;
        match self.ordinal {
            Some(ordinal) => write!(f, " in {ordinal}")?,
            None => write!(f, " in {}", self.message)?,
        }
        self.call.as_ref().map_or(Ok(()), |call| write!(f, " (call {call})"))
    }
}

/// Checks messages against every provider's rules; an empty list means that each would accept them.
pub fn find_faults(messages: &[Message]) -> Vec<Fault> {
    if is_sound(messages) {
        return Vec::new();
    }
    let shapes: Vec<Shape> = messages.iter().map(Shape::of).collect();
    find_faults_in(&shapes)
}

/// As [`find_faults`], for messages of which only the shapes were kept.
pub fn find_faults_in<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Vec<Fault> {
    let shapes: Vec<&Shape> = shapes.into_iter().collect();
    Analysis::of(&shapes).into_faults()
}
