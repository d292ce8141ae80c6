//! Asks the user on behalf of a sub-agent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_tools::BoxFuture;
use tokio::time::Instant;

use crate::approval::{Approval, ApprovalLock, ApprovalRequest, Approver, UserQuestion};

/// Asks the user on behalf of a sub-agent: says who wants to know, waits until others are through, and tells how long the
/// user took.
pub(super) struct SubagentApprover<'a> {
    name: String,
    user: &'a dyn Approver,
    lock: ApprovalLock,
    waited: Mutex<Waited>,
}

#[derive(Debug, Default)]
struct Waited {
    before: Duration,
    /// The start of the question that is open.
    since: Option<Instant>,
}

impl<'a> SubagentApprover<'a> {
    pub(super) fn new(name: &str, user: &'a dyn Approver, lock: ApprovalLock) -> Self {
        Self { name: name.to_string(), user, lock, waited: Mutex::default() }
    }

    /// The time that the sub-agent has waited for the user so far.
    pub(super) fn waited(&self) -> Duration {
        let waited = self.waiting();
        waited.before + waited.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    async fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        self.waiting().since = Some(Instant::now());
        // Also where nobody waits for the answer any more.
        let _asked = WaitTimer(&self.waited);
        let _lock = self.lock.lock().await;
        question.await
    }

    fn waiting(&self) -> MutexGuard<'_, Waited> {
        lock(&self.waited)
    }
}

/// Ends the time that the user took.
struct WaitTimer<'a>(&'a Mutex<Waited>);

impl Drop for WaitTimer<'_> {
    fn drop(&mut self) {
        let mut waited = lock(self.0);
        let took = waited.since.take().map(|since| since.elapsed());
        waited.before += took.unwrap_or_default();
    }
}

fn lock(waited: &Mutex<Waited>) -> MutexGuard<'_, Waited> {
    waited.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Approver for SubagentApprover<'_> {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        let who = format!("requested by sub-agent {:?}", self.name);
        let reason = match &request.reason {
            Some(reason) => format!("{who}; {reason}"),
            None => who,
        };
        let request = ApprovalRequest { reason: Some(reason), ..request.clone() };
        Box::pin(async move { self.ask(self.user.approve(&request)).await })
    }

    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        let text = format!("{} (asked by sub-agent {:?})", question.text, self.name);
        let question = UserQuestion { text, ..question.clone() };
        Box::pin(async move { self.ask(self.user.answer(&question)).await })
    }
}
