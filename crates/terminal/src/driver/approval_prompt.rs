//! The approver of a turn: shows requests to the user and waits for the reply.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use longhaul_agent::{Approval, ApprovalRequest, Approver, UserQuestion};
use longhaul_tools::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::protocol::{DriverMessage, PromptId, UserReply};

/// The open approval requests and questions.
#[derive(Debug)]
pub(super) struct ApprovalPrompt {
    messages: UnboundedSender<DriverMessage>,
    open: Mutex<HashMap<PromptId, oneshot::Sender<UserReply>>>,
    asked: AtomicU64,
}

impl ApprovalPrompt {
    pub(super) fn new(messages: UnboundedSender<DriverMessage>) -> Self {
        Self { messages, open: Mutex::default(), asked: AtomicU64::new(0) }
    }

    /// Delivers the user's reply.
    pub(super) fn answer(&self, id: PromptId, reply: UserReply) {
        if let Some(asker) = self.open().remove(&id) {
            // A caller that has stopped waiting has dropped its receiver.
            asker.send(reply).ok();
        }
    }

    /// Cancels all open requests.
    pub(super) fn close(&self) {
        self.open().clear();
    }

    /// Sends a request to the screen and waits for the reply; none if it was cancelled.
    async fn ask(&self, message: impl FnOnce(PromptId) -> DriverMessage) -> Option<UserReply> {
        let id = PromptId(self.asked.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        self.open().insert(id, sender);
        self.messages.send(message(id)).ok()?;
        receiver.await.ok()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<PromptId, oneshot::Sender<UserReply>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for ApprovalPrompt {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(async {
            match self.ask(|id| DriverMessage::ApprovalRequested(id, request.clone())).await {
                Some(UserReply::Approval(approval)) => approval,
                Some(UserReply::Answer(_)) | None => Approval::Stop,
            }
        })
    }

    fn answer<'a>(&'a self, question: &'a UserQuestion) -> BoxFuture<'a, Option<String>> {
        Box::pin(async {
            match self.ask(|id| DriverMessage::QuestionAsked(id, question.clone())).await {
                Some(UserReply::Answer(answer)) => answer,
                Some(UserReply::Approval(_)) | None => None,
            }
        })
    }
}
