//! Approvals: the questions that the user is asked while a turn runs, and the answers to them.

use std::sync::Arc;

use longhaul_conversation::ToolCall;
use longhaul_policy::{AlwaysAllow, Reach};
use longhaul_tools::{BoxFuture, Preview, Proposal};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;

/// Asks the user: a person at a terminal, or a script in tests.
pub trait Approver: Send + Sync {
    /// Asks whether this call may run.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval>;

    /// Asks a question of the model's; `None` if the user would rather not answer.
    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>>;
}

/// A call about which the user is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// The call.
    pub call: ToolCall,
    /// Exactly what it would do.
    pub preview: Preview,
    /// The reason to ask, where there is more to say than that it changes something.
    pub reason: Option<String>,
    /// The "always" that the user may choose, if a safe rule for it would take effect.
    pub always: Option<AlwaysOffer>,
    /// The file that the call would write, which the user may edit first.
    pub proposal: Option<Proposal>,
}

/// An "always" that the user may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlwaysOffer {
    /// The calls that would run without asking.
    pub allow: AlwaysAllow,
    /// The reaches with which it can be allowed, the narrowest first; never empty.
    pub reaches: Vec<Reach>,
}

/// The answer of the user about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// Yes, this once.
    Once,
    /// Always, for calls like this one, within this reach.
    Always(Reach),
    /// With these arguments instead.
    Edited(Value),
    /// With this text of the file that the call would write instead of the proposed one.
    Rewritten(String),
    /// No, and the model reads why.
    Denied {
        /// The reason, in words for the model.
        reason: Option<String>,
    },
    /// No, and the turn is over.
    Stop,
}

/// A question of the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question itself.
    pub text: String,
    /// Answers to choose from, if it proposes some.
    pub options: Vec<String>,
}

/// The approval lock: only its holder may prompt the user. An agent and the sub-agents that it started share one, so that
/// they ask one after the other.
pub(crate) type ApprovalLock = Arc<AsyncMutex<()>>;

/// An approver where no user is present: denies every call and leaves every question open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DenyAll;

impl Approver for DenyAll {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async {
            Approval::Denied { reason: Some("Not approved: running without a terminal.".to_string()) }
        })
    }

    fn answer<'a>(&'a self, _: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
