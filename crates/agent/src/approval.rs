//! What the user is asked while a turn runs, and what they may answer.

use longhaul_conversation::ToolCall;
use longhaul_policy::{AlwaysAllow, Reach};
use longhaul_tools::{BoxFuture, Preview};
use serde_json::Value;

/// Whoever can be asked: a person at a terminal, or a script in tests.
pub trait Approver: Send + Sync {
    /// Whether this call may run.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval>;

    /// What the user answers to a question of the model's; nothing if they would rather not.
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>>;
}

/// A call about which the user is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// The call.
    pub call: ToolCall,
    /// Exactly what it would do.
    pub preview: Preview,
    /// Why the user is asked, where there is more to say than that it changes something.
    pub reason: Option<String>,
    /// What "always" would allow from now on, if there is a safe rule for it that would count.
    pub always: Option<AlwaysOffer>,
}

/// An "always" that the user may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlwaysOffer {
    /// The calls that would run without asking.
    pub allow: AlwaysAllow,
    /// Where that can be made to hold, the narrowest first; never empty.
    pub reaches: Vec<Reach>,
}

/// What the user answers about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// This once.
    Once,
    /// From now on without asking, for calls like this one, as far as this.
    Always(Reach),
    /// With these arguments instead.
    Edited(Value),
    /// No, with what the model is told.
    Denied {
        /// Why not.
        reason: Option<String>,
    },
    /// No, and the turn is over.
    Stop,
}

/// A question of the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What it wants to know.
    pub text: String,
    /// Answers to choose from, if it proposes some.
    pub options: Vec<String>,
}

/// Nobody is there to be asked: every call is refused, every question left open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async { Approval::Denied { reason: Some("Nobody is there to allow it.".to_string()) } })
    }

    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
